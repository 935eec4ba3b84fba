import { type Algorithm, codeFor, counterAt } from '@keystead/auth';
import jsqr from 'jsqr';
import { PNG } from 'pngjs';
import type { Secrets } from './start-secrets';

/** Where TOTP methods live. */
export const methods = 'identity/mfa/method/totp';

/** The URI that an authenticator app reads from the QR code. */
export function scan(barcode: string): { text: string; width: number; height: number } {
  const png = PNG.sync.read(Buffer.from(barcode, 'base64'));
  const found = jsqr(new Uint8ClampedArray(png.data), png.width, png.height);
  return { text: found?.data ?? '', width: png.width, height: png.height };
}

/** The bytes of a base32 text without padding. */
export function unbase32(text: string): Buffer {
  const bits = [...text]
    .map((c) => 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567'.indexOf(c).toString(2).padStart(5, '0'))
    .join('');
  return Buffer.from((bits.match(/.{8}/g) ?? []).map((byte) => Number.parseInt(byte, 2)));
}

/** An authenticator for this URI. */
export function authenticator(url: string) {
  const { searchParams: query } = new URL(url);
  const scheme = {
    key: unbase32(query.get('secret')!),
    algorithm: query.get('algorithm') as Algorithm,
    digits: Number(query.get('digits')) as 6 | 8,
    periodSeconds: Number(query.get('period')),
  };
  return {
    scheme,
    code: (atMs: number, offset = 0) => codeFor(scheme, counterAt(atMs, scheme.periodSeconds) + offset),
  };
}

/** Creates a TOTP method and returns its id. */
export const newMethod = async (secrets: Secrets, fields: object = {}): Promise<string> =>
  (await secrets.root.write(methods, { issuer: 'Acme', ...fields }).expect(200)).body.data.method_id;
