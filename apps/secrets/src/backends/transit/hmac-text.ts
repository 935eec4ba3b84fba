import { createHmac, timingSafeEqual } from 'node:crypto';
import { refuse } from '../../sdk/refuse';
import { decodeBase64 } from './base64';
import type { Hash } from './hash-name';
import type { TransitKey } from './key';
import { materialOf } from './material';
import { checkVersion, parseVersionText, versionText } from './version-text';

/** The HMAC of an input under the version's key for that. */
export const makeHmac = (key: TransitKey, version: number, { digest }: Hash, input: Buffer): string =>
  versionText(version, createHmac(digest, materialOf(key, version).hmacKey).update(input).digest('base64'));

/** Whether any accepted version of the key made the HMAC. */
export function verifyHmac(key: TransitKey, { digest }: Hash, input: Buffer, text: string): boolean {
  if (!text.startsWith('vault:v')) refuse('invalid HMAC to verify: no prefix');
  const { version, payload } = parseVersionText(text, 'HMAC');
  const sent = readHmac(payload);
  checkVersion(key, version, 'HMAC', 'cannot verify HMAC: version is too old (disallowed by policy)');
  const made = createHmac(digest, materialOf(key, version).hmacKey).update(input).digest();
  return sent.length === made.length && timingSafeEqual(sent, made);
}

function readHmac(payload: string): Buffer {
  try {
    return decodeBase64(payload);
  } catch (error) {
    return refuse(`unable to decode verification HMAC as base64: ${(error as Error).message}`);
  }
}
