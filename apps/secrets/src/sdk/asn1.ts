import { createPublicKey, type KeyObject } from 'node:crypto';
import { AsnConvert } from '@peculiar/asn1-schema';

/** The DER of a value whose class has an ASN.1 schema. */
export const encoded = (value: unknown): Buffer => Buffer.from(AsnConvert.serialize(value));

/** The bytes in the form that the ASN.1 library takes. */
export const arrayBuffer = (bytes: Uint8Array): ArrayBuffer =>
  bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.byteLength) as ArrayBuffer;

/** The public half of a key as SPKI. */
export const publicDer = (key: KeyObject): Buffer =>
  (key.type === 'private' ? createPublicKey(key as never) : key).export({ format: 'der', type: 'spki' });
