import { createHash } from 'node:crypto';
import {
  BasicOCSPResponse,
  type CertID,
  id_pkix_ocsp_basic,
  OCSPResponse,
  OCSPResponseStatus,
} from '@peculiar/asn1-ocsp';
import { AsnConvert } from '@peculiar/asn1-schema';
import { algorithmOf, type Certificate, readCertificate } from './certificate';
import { isIssuedBy } from './chain';
import { elementsOf } from './der';
import { isSignedBy, isStrongKey } from './signature';

export type Standing = 'good' | 'revoked' | 'unknown';

/** The status of a certificate according to a responder. */
export interface OcspAnswer {
  readonly status: Standing;
  /** How long it may be reused; undefined if it is only valid now. */
  readonly untilMs: number | undefined;
}

/** The question to a responder, and the certificates that may sign its answer. */
export interface OcspQuestion {
  readonly leaf: Certificate;
  readonly issuer: Certificate;
  /** Further certificates that may sign answers, or the certificates of responders. */
  readonly trusted: readonly Certificate[];
  /** The nonce, encoded as in an extension. */
  readonly nonce: Buffer;
  readonly nowMs: number;
  /** The maximum age of an answer; 0 means no further limit. */
  readonly maxAgeMs: number;
}

/** The response cannot be trusted; the message gives the reason. */
export class BadAnswer extends Error {
  override readonly name = 'BadAnswer';
}

export const nonceId = '1.3.6.1.5.5.7.48.1.2';
const ocspSigning = '1.3.6.1.5.5.7.3.9';
const skewMs = 60_000;
const mostSigners = 5;
const hashes: ReadonlyMap<string, string> = new Map([
  ['1.3.14.3.2.26', 'sha1'],
  ['2.16.840.1.101.3.4.2.1', 'sha256'],
  ['2.16.840.1.101.3.4.2.2', 'sha384'],
  ['2.16.840.1.101.3.4.2.3', 'sha512'],
]);

/**
 * Parses an answer. It is trusted only if the issuer or its delegate has signed it, it is about the certificate, and it
 * is current. Throws `BadAnswer`.
 */
export function readAnswer(bytes: Buffer, question: OcspQuestion): OcspAnswer {
  try {
    return read(bytes, question);
  } catch (error) {
    throw error instanceof BadAnswer ? error : new BadAnswer('it is not an OCSP answer', { cause: error });
  }
}

function read(bytes: Buffer, question: OcspQuestion): OcspAnswer {
  const { responseStatus: status, responseBytes: inner } = AsnConvert.parse(bytes, OCSPResponse);
  if (status !== OCSPResponseStatus.successful) throw new BadAnswer(`it says ${OCSPResponseStatus[status] ?? status}`);
  if (inner?.responseType !== id_pkix_ocsp_basic) throw new BadAnswer('it is of an unknown type');
  const der = Buffer.from(inner.response.buffer);
  const basic = AsnConvert.parse(der, BasicOCSPResponse);
  checkSignature(der, basic, question);
  const { tbsResponseData: responseData } = basic;
  const nonce = responseData.responseExtensions?.find(({ extnID }) => extnID === nonceId);
  if (nonce && !Buffer.from(nonce.extnValue.buffer).equals(question.nonce))
    throw new BadAnswer('it is for another question');
  const found = responseData.responses.find(({ certID }) => isAbout(certID, question));
  if (!found) throw new BadAnswer('it is about another certificate');
  const { certStatus, thisUpdate, nextUpdate } = found;
  const certificateStatus = certStatus.revoked ? 'revoked' : certStatus.good !== undefined ? 'good' : 'unknown';
  const { nowMs, maxAgeMs } = question;
  const saidMs = thisUpdate.getTime();
  if (!(saidMs <= nowMs + skewMs)) throw new BadAnswer('its time is in the future');
  // A response without `nextUpdate` is only valid now.
  const oldest = maxAgeMs > 0 ? maxAgeMs : nextUpdate ? Number.POSITIVE_INFINITY : 0;
  if (nowMs - saidMs > oldest + skewMs) throw new BadAnswer('it is too old');
  if (nextUpdate && !(nextUpdate.getTime() + skewMs >= nowMs)) throw new BadAnswer('it is too old');
  const untilMs = nextUpdate && Math.min(nextUpdate.getTime(), saidMs + oldest);
  return { status: certificateStatus, untilMs };
}

function checkSignature(der: Buffer, basic: BasicOCSPResponse, { issuer, trusted, nowMs }: OcspQuestion): void {
  const [outer] = elementsOf(der);
  const [content, , , tagged] = elementsOf(outer!.content);
  const [sequence] = tagged ? elementsOf(tagged.content) : [];
  const sent = sequence ? elementsOf(sequence.content).slice(0, mostSigners) : [];
  const signed = {
    content: content!.whole,
    algorithm: algorithmOf(basic.signatureAlgorithm),
    signature: Buffer.from(basic.signature),
  };
  const lives = ({ notBeforeMs, notAfterMs }: Certificate) => notBeforeMs <= nowMs && nowMs <= notAfterMs;
  const delegates = sent
    .map(({ whole }) => readCertificate(whole))
    .filter((one) => one.purposes?.includes(ocspSigning) && isStrongKey(one.key))
    .filter((one) => [issuer, ...trusted].some((above) => lives(above) && isIssuedBy(one, above)));
  const signers = [issuer, ...trusted, ...delegates].filter(lives);
  if (!signers.some(({ key }) => isSignedBy(signed, key))) throw new BadAnswer('it is not signed by the issuer');
}

/** The identification of a certificate in OCSP. */
export function nameOf({ leaf, issuer }: Pick<OcspQuestion, 'leaf' | 'issuer'>, hash: string) {
  const digest = (bytes: Buffer) => createHash(hash).update(bytes).digest();
  return { issuerName: digest(leaf.issuer), issuerKey: digest(issuer.keyBits) };
}

function isAbout(id: CertID, question: OcspQuestion): boolean {
  const hash = hashes.get(id.hashAlgorithm.algorithm);
  if (hash === undefined) return false;
  const { issuerName, issuerKey } = nameOf(question, hash);
  const same = (text: { buffer: ArrayBuffer }, bytes: Buffer) => Buffer.from(text.buffer).equals(bytes);
  const serial = BigInt(`0x${Buffer.from(id.serialNumber).toString('hex') || '0'}`).toString();
  return same(id.issuerNameHash, issuerName) && same(id.issuerKeyHash, issuerKey) && serial === question.leaf.serial;
}
