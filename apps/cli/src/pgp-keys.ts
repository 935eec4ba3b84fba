import { readFileSync } from 'node:fs';
import { Problem } from './problem';

/** Public keys in the form for the service: base64 of the binary key, from a binary, armoured or base64 file. */
export function readPgpKeys(files: readonly string[]): string[] {
  return files.map((file) => {
    let bytes: Buffer;
    try {
      bytes = readFileSync(file);
    } catch {
      throw new Problem(`${file} cannot be read`);
    }
    const text = bytes.toString('latin1').trim();
    const armoured =
      /^-----BEGIN PGP PUBLIC KEY BLOCK-----\r?\n(?:.+: .*\r?\n)*\r?\n([^-]+?)(?:\r?\n=[\w+/]{4})?\r?\n-----END/.exec(
        text,
      );
    if (armoured) return (armoured[1] ?? '').replace(/\s/g, '');
    return /^[A-Za-z0-9+/\s]+=*$/.test(text) ? text.replace(/\s/g, '') : bytes.toString('base64');
  });
}
