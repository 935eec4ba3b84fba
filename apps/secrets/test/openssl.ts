import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll } from '@jest/globals';

/** The `openssl` program of this machine, with files of a test. */
export interface OpenSsl {
  /** Runs it; throws an error with its output. */
  run(...args: string[]): string;
  /** A file with this content. */
  file(content: string | Buffer): string;
  /** A certificate in PEM, printed as text. */
  certificate(pem: string): string;
  /** A key and a request in PEM for a subject, with lines of an extension section. */
  request(options: { subject: string; extensions?: string; key?: readonly string[] }): { key: string; csr: string };
}

/** OpenSSL for the tests of a file; its files are removed after them. */
export function startOpenSsl(): OpenSsl {
  const folder = mkdtempSync(join(tmpdir(), 'keystead-openssl-'));
  afterAll(() => rmSync(folder, { recursive: true }));
  let count = 0;
  const file = (content: string | Buffer): string => {
    const name = join(folder, String(++count));
    writeFileSync(name, content);
    return name;
  };
  const run = (...args: string[]): string =>
    execFileSync('openssl', args, { encoding: 'utf8', stdio: 'pipe', maxBuffer: 2 ** 26 });
  return {
    run,
    file,
    certificate: (pem) => run('x509', '-in', file(pem), '-noout', '-text', '-nameopt', 'RFC2253'),
    request({ subject, extensions = '', key = ['ec', '-pkeyopt', 'ec_paramgen_curve:P-256'] }) {
      const own = run('genpkey', '-algorithm', ...key);
      const config = file(`[req]\ndistinguished_name=dn\nutf8=yes\nstring_mask=utf8only\n[dn]\n[ext]\n${extensions}\n`);
      const more = extensions === '' ? [] : ['-reqexts', 'ext'];
      const csr = run('req', '-new', '-key', file(own), '-utf8', '-subj', subject, '-config', config, ...more);
      return { key: own, csr };
    },
  };
}
