import { readdirSync, readFileSync } from 'node:fs';
import type { RequestOptions } from 'node:https';
import { join } from 'node:path';
import { rootCertificates } from 'node:tls';
import { Problem } from './problem';
import type { TlsSettings } from './settings';

/** How to make a TLS connection. Throws `Problem` naming a file that cannot be read. */
export function tlsOptions(tls: TlsSettings): RequestOptions {
  const { caFile, caFolder, certFile, keyFile, serverName, skipVerify } = tls;
  const own = caFile ? [readPem(caFile, '--ca-cert, SERVICE_CACERT')] : caFolder ? readFolder(caFolder) : undefined;
  if (keyFile && !certFile) throw new Problem('--client-key goes with --client-cert');
  return {
    ...(own ? { ca: caFile ? own : [...rootCertificates, ...own] } : {}),
    ...(certFile ? { cert: readPem(certFile, '--client-cert, SERVICE_CLIENT_CERT') } : {}),
    // A certificate and its key may be in one file.
    ...(certFile ? { key: readPem(keyFile ?? certFile, '--client-key, SERVICE_CLIENT_KEY') } : {}),
    ...(serverName ? { servername: serverName } : {}),
    ...(skipVerify ? { rejectUnauthorized: false } : {}),
  };
}

function readFolder(folder: string): string[] {
  let files: string[];
  try {
    files = readdirSync(folder).filter((name) => /\.(pem|crt|cer)$/.test(name));
  } catch (error) {
    throw new Problem(`${folder} cannot be read: ${(error as Error).message} (--ca-path, SERVICE_CAPATH)`);
  }
  return files.map((name) => readPem(join(folder, name), '--ca-path, SERVICE_CAPATH'));
}

function readPem(file: string, where: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    throw new Problem(`${file} cannot be read: ${(error as Error).message} (${where})`);
  }
}
