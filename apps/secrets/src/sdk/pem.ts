/** DER as PEM, without a final line end. */
export function pemOf(der: Buffer, label: string): string {
  const lines = der.toString('base64').replace(/.{64}(?=.)/g, '$&\n');
  return `-----BEGIN ${label}-----\n${lines}\n-----END ${label}-----`;
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

/** The blocks of a text; other text is ignored. */
export const pemBlocks = (text: string): PemBlock[] =>
  [...text.matchAll(block)].map(([whole, label, body]) => ({
    label: label!,
    text: whole,
    der: Buffer.from(body!.replace(/\s+/g, ''), 'base64'),
  }));
