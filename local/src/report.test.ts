import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, describe, expect, it } from '@jest/globals';
import { readLocalConfig } from './config';
import { readyText } from './report';

const box = mkdtempSync(path.join(tmpdir(), 'keystead-report-'));
afterAll(() => rmSync(box, { recursive: true, force: true }));

function tried(env: Record<string, string> = {}): string[] {
  const config = readLocalConfig({ KEYSTEAD_DATA: box, ...env });
  const text = readyText({ config, database: 'embedded', newKeys: [], seconds: '1.0' });
  return text.split('Try:\n')[1]!.split('\n\n')[0]!.split('\n');
}

describe('the commands that a start suggests', () => {
  it('begin with a login if the file of the first start is missing', () => {
    const lines = tried();
    expect(lines).toEqual(['  export SERVICE_ADDR=http://127.0.0.1:8200', '  ./keystead status', '  ./keystead login']);
  });

  it('name the file of the certificate, not its contents', () => {
    const file = path.join(box, 'service.pem');
    writeFileSync(file, 'a certificate');
    expect(tried({ SECRETS_TLS_CERT_FILE: file })).toContain(`  export SERVICE_CACERT=${file}`);
  });

  it('read the tokens of the first start from its file', () => {
    writeFileSync(path.join(box, 'first-run.json'), '{}');
    const [first, ...others] = tried();
    expect(first).toContain(`require('${path.join(box, 'first-run.json')}').secrets.root_token`);
    expect(others.join('\n')).toContain('workspaces.token');
  });
});
