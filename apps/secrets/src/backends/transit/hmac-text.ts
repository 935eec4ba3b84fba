import { createHmac, timingSafeEqual } from 'node:crypto';
import { decodeField } from './base64';
import type { Hash } from './hash-name';
import type { TransitKey } from './key';
import { materialOf } from './material';
import { checkVersion, parseVersionText, versionText } from './version-text';

/** The HMAC of an input under the HMAC key of a version. */
export const makeHmac = (key: TransitKey, version: number, { digest }: Hash, input: Buffer): string =>
  versionText(version, createHmac(digest, materialOf(key, version).hmacKey).update(input).digest('base64'));

/** Whether any accepted version of the key made the HMAC. */
export function verifyHmac(key: TransitKey, { digest }: Hash, input: Buffer, text: string): boolean {
  const { version, payload } = parseVersionText(text, 'HMAC', 'HMAC to verify');
  const sent = decodeField(payload, (reason) => `unable to decode verification HMAC as base64: ${reason}`);
  checkVersion(key, version, 'HMAC', 'cannot verify HMAC: version is too old (disallowed by policy)');
  const expected = createHmac(digest, materialOf(key, version).hmacKey).update(input).digest();
  return sent.length === expected.length && timingSafeEqual(sent, expected);
}
