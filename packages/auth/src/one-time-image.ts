import { base32, type CodeScheme } from './one-time-code';

/** The address that authenticator apps read a key from. Names must be well-formed Unicode. */
export function otpauthUrl(issuer: string, account: string, { key, algorithm, digits, periodSeconds }: CodeScheme) {
  const issuerText = encodeURIComponent(issuer);
  const query = [
    `algorithm=${algorithm}`,
    `digits=${digits}`,
    `issuer=${issuerText}`,
    `period=${periodSeconds}`,
    `secret=${base32(key)}`,
  ];
  return `otpauth://totp/${issuerText}:${encodeURIComponent(account)}?${query.join('&')}`;
}

/**
 * A square PNG of a QR code in base64, with sides of this many pixels; empty for 0. Throws for a string that is too long.
 */
export async function barcodeOf(text: string, edgePixels: number): Promise<string> {
  if (edgePixels === 0) return '';
  const { toBuffer } = await import('qrcode');
  const png = await toBuffer(text, { type: 'png', width: edgePixels, margin: 2, errorCorrectionLevel: 'L' });
  return png.toString('base64');
}
