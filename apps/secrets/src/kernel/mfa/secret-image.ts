import { base32 } from '@keystead/auth';
import qrcode from 'qrcode';
import type { MfaMethod, SealedSecret } from './types';

/** The URI authenticator apps read. Spec: TOTP secret generation result. */
export function otpauthUrl(method: Pick<MfaMethod, 'issuer'>, entityId: string, secret: SealedSecret): string {
  const issuer = encodeURIComponent(method.issuer);
  const query = [
    `algorithm=${secret.algorithm}`,
    `digits=${secret.digits}`,
    `issuer=${issuer}`,
    `period=${secret.periodSeconds}`,
    `secret=${base32(Buffer.from(secret.key, 'base64'))}`,
  ];
  return `otpauth://totp/${issuer}:${entityId}?${query.join('&')}`;
}

/** A PNG of a QR code in base64, square, of the given edge; empty for an edge of 0. */
export async function barcodeOf(url: string, edgePixels: number): Promise<string> {
  if (edgePixels === 0) return '';
  const png = await qrcode.toBuffer(url, { type: 'png', width: edgePixels, margin: 2, errorCorrectionLevel: 'L' });
  return png.toString('base64');
}
