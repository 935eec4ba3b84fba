import { randomBytes } from 'node:crypto';

/** A new serial number: 158 random bits. */
export function newSerial(): Buffer {
  const bytes = randomBytes(20);
  // Makes the number positive, and its length always the same.
  bytes[0] = (bytes[0]! & 0x7f) | 0x40;
  return bytes;
}

/** A serial number as lowercase hex pairs with colons. */
export function serialText(bytes: Uint8Array): string {
  const hex = Buffer.from(bytes)
    .toString('hex')
    .replace(/^(00)+(?=..)/, '');
  return hex.replace(/..(?=.)/g, '$&:');
}

/** Normalizes a serial number with colons or dashes, in either case; undefined if it is malformed. */
export function readSerial(text: string): string | undefined {
  const hex = text.trim().toLowerCase().replace(/[:-]/g, '');
  return /^([0-9a-f]{2}){1,40}$/.test(hex) ? serialText(Buffer.from(hex, 'hex')) : undefined;
}

/** The hexadecimal digits of a number as a positive ASN.1 integer. */
export const positive = (hex: string): string => (hex >= '8' ? `00${hex}` : hex);

/** A serial number as a positive ASN.1 integer. */
export const serialBytes = (text: string): Buffer => Buffer.from(positive(text.replaceAll(':', '')), 'hex');
