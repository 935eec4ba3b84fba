import { constants, type KeyObject, verify } from 'node:crypto';
import { RsaSaPssParams } from '@peculiar/asn1-rsa';
import { AsnConvert } from '@peculiar/asn1-schema';
import type { AlgorithmIdentifier } from '@peculiar/asn1-x509';

const pss = '1.2.840.113549.1.1.10';
/** Hashes by signature OID; SHA-1 and older are not accepted. */
const hashes: ReadonlyMap<string, string | null> = new Map([
  ['1.2.840.113549.1.1.11', 'sha256'],
  ['1.2.840.113549.1.1.12', 'sha384'],
  ['1.2.840.113549.1.1.13', 'sha512'],
  ['1.2.840.10045.4.3.1', 'sha224'],
  ['1.2.840.10045.4.3.2', 'sha256'],
  ['1.2.840.10045.4.3.3', 'sha384'],
  ['1.2.840.10045.4.3.4', 'sha512'],
  ['1.3.101.112', null],
]);
const pssHashes: ReadonlyMap<string, string> = new Map([
  ['2.16.840.1.101.3.4.2.1', 'sha256'],
  ['2.16.840.1.101.3.4.2.2', 'sha384'],
  ['2.16.840.1.101.3.4.2.3', 'sha512'],
]);

/** Signed content from outside. */
export interface SignedContent {
  readonly content: Buffer;
  readonly algorithm: AlgorithmIdentifier;
  readonly signature: Buffer;
}

/** Whether the key signed it with an accepted algorithm. */
export function isSignedWith({ content, algorithm, signature }: SignedContent, key: KeyObject): boolean {
  try {
    if (algorithm.algorithm !== pss) {
      const hash = hashes.get(algorithm.algorithm);
      return hash !== undefined && verify(hash, content, key, signature);
    }
    const { hashAlgorithm, saltLength } = AsnConvert.parse(algorithm.parameters!, RsaSaPssParams);
    const hash = pssHashes.get(hashAlgorithm.algorithm);
    const padding = constants.RSA_PKCS1_PSS_PADDING;
    return hash !== undefined && verify(hash, content, { key, padding, saltLength }, signature);
  } catch {
    return false;
  }
}
