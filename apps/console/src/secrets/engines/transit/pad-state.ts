import { base64OfText, bytesOf } from '../bytes';
import type { TransitKey } from './key';

/** A file whose bytes are sent instead of the text of a field. */
export interface GivenFile {
  readonly name: string;
  readonly size: number;
  readonly base64: string;
}

/** The values typed into the forms of a key. */
export interface PadState {
  /** The input to encrypt, sign or hash. */
  readonly input: string;
  readonly file: GivenFile | undefined;
  readonly ciphertext: string;
  readonly context: string;
  readonly associated: string;
  readonly signature: string;
  readonly hmac: string;
  /** Whether the fields contain base64 instead of text. */
  readonly isBase64: boolean;
  /** The version of the key; empty for the newest. */
  readonly version: string;
  readonly hash: string;
  readonly padding: 'pss' | 'pkcs1v15';
  readonly marshaling: 'asn1' | 'jws';
  readonly prehashed: boolean;
}

export const emptyPad: PadState = {
  input: '',
  file: undefined,
  ciphertext: '',
  context: '',
  associated: '',
  signature: '',
  hmac: '',
  isBase64: false,
  version: '',
  hash: 'sha2-256',
  padding: 'pss',
  marshaling: 'asn1',
  prehashed: false,
};

export type TextName = 'input' | 'context' | 'associated';

/** A field of the pad in base64, as the API takes it. */
export function sentOf({ file, isBase64, ...texts }: PadState, name: TextName): string {
  if (name === 'input' && file !== undefined) return file.base64;
  return isBase64 ? texts[name].replace(/\s+/g, '') : base64OfText(texts[name]);
}

/** The error of a field before it is sent. */
export function problemOf({ isBase64, file, ...texts }: PadState, name: TextName): string | undefined {
  if (!isBase64 || (name === 'input' && file !== undefined) || bytesOf(texts[name]) !== undefined) return undefined;
  return 'This is not base64.';
}

/** The fields of a request that the key needs, and the optional fields that were filled in. */
export const boundFields = (state: PadState, { derived }: TransitKey): Readonly<Record<string, unknown>> => ({
  ...(derived ? { context: sentOf(state, 'context') } : {}),
  ...(state.associated === '' ? {} : { associated_data: sentOf(state, 'associated') }),
});

export const versionField = ({ version }: PadState): Readonly<Record<string, number>> =>
  version === '' ? {} : { key_version: Number(version) };

export const hashNames = [
  'sha2-256',
  'sha2-384',
  'sha2-512',
  'sha2-224',
  'sha3-256',
  'sha3-384',
  'sha3-512',
  'sha3-224',
  'sha1',
] as const;
