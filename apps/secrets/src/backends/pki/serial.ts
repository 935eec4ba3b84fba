import { randomBytes } from 'node:crypto';

/** A serial number that nothing else has: 158 random bits. */
export function newSerial(): Buffer {
  const bytes = randomBytes(20);
  // Positive, and of full length.
  bytes[0] = (bytes[0]! & 0x7f) | 0x40;
  return bytes;
}

/** A serial number as clients write it: pairs of lower-case digits. */
export function serialText(bytes: Uint8Array): string {
  const hex = Buffer.from(bytes)
    .toString('hex')
    .replace(/^(00)+(?=..)/, '');
  return hex.replace(/..(?=.)/g, '$&:');
}

/** The same of what clients send, with colons or dashes, in either case; undefined if it is not a serial number. */
export function readSerial(text: string): string | undefined {
  const hex = text.trim().toLowerCase().replace(/[:-]/g, '');
  return /^([0-9a-f]{2}){1,40}$/.test(hex) ? serialText(Buffer.from(hex, 'hex')) : undefined;
}

/** The bytes of a serial number as ASN.1 has them: positive. */
export function serialBytes(text: string): Buffer {
  const bytes = Buffer.from(text.replaceAll(':', ''), 'hex');
  return bytes[0]! >= 0x80 ? Buffer.concat([Buffer.of(0), bytes]) : bytes;
}
