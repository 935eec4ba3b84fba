import { createPublicKey, type KeyObject } from 'node:crypto';
import { Attributes, CertificationRequest } from '@peculiar/asn1-csr';
import { AsnConvert } from '@peculiar/asn1-schema';
import { Attribute, type Extension, Extensions, type Name } from '@peculiar/asn1-x509';
import { publicDer } from '../../sdk/asn1';
import { refuse } from '../../sdk/refuse';
import { type AlternativeNames, namesIn } from './alternative-names';
import { type KeyType, kindOfKey } from './key-pair';
import { pemBlocks } from './pem';
import { isSignedWith } from './signed-by';

/** A parsed CSR with a verified signature. */
export interface ReadRequest {
  readonly subject: Name;
  readonly extensions: readonly Extension[];
  readonly names: AlternativeNames;
  /** The public key as SPKI. */
  readonly publicKey: Buffer;
  readonly keyType: KeyType;
  readonly keyBits: number;
}

const extensionRequest = '1.2.840.113549.1.9.14';

/** Parses a PEM CSR. Throws `invalid` if it is malformed or not signed with its own key. */
export function readRequest(text: string): ReadRequest {
  if (text === '') refuse('"csr" is empty');
  const [block] = pemBlocks(text);
  if (!block) refuse('csr contains no data');
  const { request, key } = parsed(block.der);
  const { type, bits } = kindOfKey(key);
  const { certificationRequestInfo: info, certificationRequestInfoRaw: signed } = request;
  const { signatureAlgorithm: algorithm, signature } = request;
  if (!isSignedWith({ content: Buffer.from(signed!), algorithm, signature: Buffer.from(signature) }, key)) {
    refuse('request signature invalid');
  }
  const extensions = info.attributes?.find(({ type: id }) => id === extensionRequest)?.values[0];
  try {
    const list = extensions ? [...AsnConvert.parse(extensions, Extensions)] : [];
    if (new Set(list.map(({ extnID }) => extnID)).size !== list.length) refuse('csr contains the same extension twice');
    const { subject } = info;
    return { subject, extensions: list, names: namesIn(list), publicKey: publicDer(key), keyType: type, keyBits: bits };
  } catch (error) {
    return unparsable(error);
  }
}

function parsed(der: Buffer): { request: CertificationRequest; key: KeyObject } {
  try {
    const request = AsnConvert.parse(der, CertificationRequest);
    const spki = Buffer.from(AsnConvert.serialize(request.certificationRequestInfo.subjectPKInfo));
    return { request, key: createPublicKey({ key: spki, format: 'der', type: 'spki' }) };
  } catch (error) {
    return unparsable(error);
  }
}

function unparsable(error: unknown): never {
  const reason = error instanceof Error ? error.message : String(error);
  return refuse(`certificate request could not be parsed: ${reason.slice(0, 200)}`);
}

/** The CSR attributes that request these extensions. */
export const attributesOf = (extensions: readonly Extension[]): Attributes =>
  new Attributes(
    extensions.length === 0
      ? []
      : [new Attribute({ type: extensionRequest, values: [AsnConvert.serialize(new Extensions([...extensions]))] })],
  );
