import type { LongBody } from './reply';

/** DER as PEM, without a final line end. */
export const pemOf = (der: Buffer, label: string): string => `${beginOf(label)}${linesOf(der)}${endOf(label)}`;

const beginOf = (label: string) => `-----BEGIN ${label}-----`;
const endOf = (label: string) => `\n-----END ${label}-----`;

/** The lines of base64, each with a line end before it. */
const linesOf = (der: Buffer): string => der.toString('base64').replace(/.{1,64}/g, '\n$&');

/** Bytes in parts as PEM. All parts except the last must be whole lines, that is, multiples of 48 bytes. */
export function pemParts({ bytes, parts }: LongBody, label: string): LongBody {
  const digits = Math.ceil(bytes / 3) * 4;
  return {
    bytes: beginOf(label).length + digits + Math.ceil(digits / 64) + endOf(label).length,
    async *parts() {
      yield Buffer.from(beginOf(label));
      for await (const part of parts()) yield Buffer.from(linesOf(part));
      yield Buffer.from(endOf(label));
    },
  };
}

/** A certificate as PEM. */
export const certificatePem = (der: Buffer): string => pemOf(der, 'CERTIFICATE');

/** A block of PEM. */
export interface PemBlock {
  readonly label: string;
  readonly text: string;
  readonly der: Buffer;
}

const block = /-----BEGIN ([A-Z0-9 ]+)-----([A-Za-z0-9+/=\s]*)-----END \1-----/g;

/** The blocks in a string; other text is ignored. */
export const pemBlocks = (text: string): PemBlock[] =>
  [...text.matchAll(block)].map(([whole, label, body]) => ({
    label: label!,
    text: whole,
    der: Buffer.from(body!.replace(/\s+/g, ''), 'base64'),
  }));
