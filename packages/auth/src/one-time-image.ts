import { base32, type CodeScheme } from './one-time-code';

/** The address that authenticator apps read a key from. Names are texts without halves of characters. */
export function otpauthUrl(issuer: string, account: string, { key, algorithm, digits, periodSeconds }: CodeScheme) {
  const named = encodeURIComponent(issuer);
  const query = [
    `algorithm=${algorithm}`,
    `digits=${digits}`,
    `issuer=${named}`,
    `period=${periodSeconds}`,
    `secret=${base32(key)}`,
  ];
  return `otpauth://totp/${named}:${encodeURIComponent(account)}?${query.join('&')}`;
}

/** A PNG of a QR code in base64, square, of the given edge; empty for an edge of 0. Throws for a text that is too long. */
export async function barcodeOf(text: string, edgePixels: number): Promise<string> {
  if (edgePixels === 0) return '';
  const { toBuffer } = await import('qrcode');
  const png = await toBuffer(text, { type: 'png', width: edgePixels, margin: 2, errorCorrectionLevel: 'L' });
  return png.toString('base64');
}
