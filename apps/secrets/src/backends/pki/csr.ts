import { createPublicKey, type KeyObject } from 'node:crypto';
import { Attributes, CertificationRequest, CertificationRequestInfo } from '@peculiar/asn1-csr';
import { AsnConvert } from '@peculiar/asn1-schema';
import { Attribute, type Extension, Extensions, type Name, SubjectPublicKeyInfo } from '@peculiar/asn1-x509';
import { refuse } from '../../sdk/refuse';
import { identifierOf, signWith } from './algorithm';
import { type AlternativeNames, namesIn } from './alternative-names';
import { arrayBuffer, encoded, type Signer } from './certificate';
import { type KeyType, kindOfKey, publicDer } from './key-pair';
import { pemBlocks } from './pem';
import { isSignedWith } from './signed-by';

/** A request for a certificate, whose signature was verified. */
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

/** Reads a request in PEM. Throws `invalid` for what is none, or is not signed with its key. */
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
    if (new Set(list.map(({ extnID }) => extnID)).size !== list.length) refuse('csr has an extension twice');
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

/** Makes a request for a certificate of this key; its DER. */
export async function makeRequest(
  subject: Name,
  extensions: readonly Extension[],
  { key, algorithm }: Signer,
): Promise<Buffer> {
  const attributes = new Attributes(
    extensions.length === 0
      ? []
      : [new Attribute({ type: extensionRequest, values: [AsnConvert.serialize(new Extensions([...extensions]))] })],
  );
  const certificationRequestInfo = new CertificationRequestInfo({
    subject,
    subjectPKInfo: AsnConvert.parse(publicDer(key), SubjectPublicKeyInfo),
    attributes,
  });
  const signature = await signWith(algorithm, key, encoded(certificationRequestInfo));
  return encoded(
    new CertificationRequest({
      certificationRequestInfo,
      signatureAlgorithm: identifierOf(algorithm),
      signature: arrayBuffer(signature),
    }),
  );
}
