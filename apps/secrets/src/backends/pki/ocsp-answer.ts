import { createHash } from 'node:crypto';
import {
  BasicOCSPResponse,
  type CertID,
  CertStatus,
  id_pkix_ocsp_basic,
  KeyHash,
  OCSPRequest,
  OCSPResponse,
  OCSPResponseStatus,
  ResponderID,
  ResponseBytes,
  ResponseData,
  RevokedInfo,
  SingleResponse,
} from '@peculiar/asn1-ocsp';
import { AsnConvert, OctetString } from '@peculiar/asn1-schema';
import type { Extension } from '@peculiar/asn1-x509';
import { arrayBuffer, encoded, publicDer } from '../../sdk/asn1';
import { identifierOf, type Signer, signWith } from '../../sdk/signature-algorithm';
import { keyIdOf, type ReadCertificate, wholeSeconds } from './certificate';
import { extension } from './extension';
import { serialBytes, serialText } from './serial';

const nonceId = '1.3.6.1.5.5.7.48.1.2';
const longestNonce = 130;
const mostQuestions = 20;

/** A question about one certificate. */
export interface AskedStatus {
  readonly id: CertID;
  readonly serial: string;
}

/** A parsed OCSP request. */
export interface OcspQuestions {
  readonly questions: readonly AskedStatus[];
  /** Returned unchanged in the response. */
  readonly nonce: Extension | undefined;
}

/** Parses a DER OCSP request; undefined if it is malformed. */
export function readOcspRequest(der: Buffer): OcspQuestions | undefined {
  try {
    const { tbsRequest } = AsnConvert.parse(der, OCSPRequest);
    const questions = tbsRequest.requestList.map(({ reqCert: id }) => ({
      id,
      serial: serialText(Buffer.from(id.serialNumber)),
    }));
    if (questions.length === 0 || questions.length > mostQuestions) return undefined;
    const nonce = tbsRequest.requestExtensions?.find(({ extnID }) => extnID === nonceId);
    if (nonce && nonce.extnValue.buffer.byteLength > longestNonce) return undefined;
    return { questions, nonce: nonce && extension(nonceId, nonce.extnValue.buffer) };
  } catch {
    return undefined;
  }
}

const hashes: ReadonlyMap<string, string> = new Map([
  ['1.3.14.3.2.26', 'sha1'],
  ['2.16.840.1.101.3.4.2.1', 'sha256'],
  ['2.16.840.1.101.3.4.2.2', 'sha384'],
  ['2.16.840.1.101.3.4.2.3', 'sha512'],
]);

/**
 * Identifies the encoding of a request, if it is a usual one. Responses repeat the encoding and clients may compare
 * every byte, so a cached response only serves requests with the same encoding.
 */
export function usualForm({ id, serial }: AskedStatus): string | undefined {
  const { algorithm, parameters } = id.hashAlgorithm;
  const parameterHex = Buffer.from(parameters ?? new ArrayBuffer(0)).toString('hex');
  const isUsual = ['', '0500'].includes(parameterHex) && serialBytes(serial).equals(Buffer.from(id.serialNumber));
  return isUsual ? `${algorithm} ${parameterHex}` : undefined;
}

/** Whether the question is about a certificate of this CA. */
export function isOf(id: CertID, authority: ReadCertificate): boolean {
  const hash = hashes.get(id.hashAlgorithm.algorithm);
  if (hash === undefined) return false;
  const isDigest = (octets: OctetString, bytes: Buffer) =>
    createHash(hash).update(bytes).digest().equals(Buffer.from(octets.buffer));
  return isDigest(id.issuerKeyHash, authority.keyBits) && isDigest(id.issuerNameHash, authority.subject);
}

/** The status of a certificate. */
export interface CertificateStanding {
  readonly id: CertID;
  readonly status: 'good' | 'unknown' | { readonly revokedAtMs: number };
}

/** An OCSP response to sign. */
export interface OcspContent {
  readonly standings: readonly CertificateStanding[];
  readonly nonce: Extension | undefined;
  readonly nowMs: number;
  /** 0 means that the response is valid only for this moment. */
  readonly validSeconds: number;
}

function statusOf({ status }: CertificateStanding): CertStatus {
  if (status === 'good') return new CertStatus({ good: null });
  if (status === 'unknown') return new CertStatus({ unknown: null });
  return new CertStatus({ revoked: new RevokedInfo({ revocationTime: new Date(wholeSeconds(status.revokedAtMs)) }) });
}

/** Signs an OCSP response and returns its DER. */
export async function makeOcspAnswer(
  { standings, nonce, nowMs, validSeconds }: OcspContent,
  authority: ReadCertificate,
  { key, algorithm }: Signer,
): Promise<Buffer> {
  const now = new Date(wholeSeconds(nowMs));
  const nextUpdate = validSeconds > 0 ? new Date(now.getTime() + validSeconds * 1000) : undefined;
  const responseData = new ResponseData({
    responderID: new ResponderID({ byKey: new KeyHash(arrayBuffer(keyIdOf(publicDer(authority.publicKey)))) }),
    producedAt: now,
    responses: standings.map(
      (one) => new SingleResponse({ certID: one.id, certStatus: statusOf(one), thisUpdate: now, nextUpdate }),
    ),
    responseExtensions: nonce && [nonce],
  });
  const signature = await signWith(algorithm, key, encoded(responseData));
  const basic = new BasicOCSPResponse({
    tbsResponseData: responseData,
    signatureAlgorithm: identifierOf(algorithm),
    signature: arrayBuffer(signature),
  });
  const response = new OctetString(AsnConvert.serialize(basic));
  return encoded(
    new OCSPResponse({
      responseStatus: OCSPResponseStatus.successful,
      responseBytes: new ResponseBytes({ responseType: id_pkix_ocsp_basic, response }),
    }),
  );
}

/** An OCSP error response. */
export const ocspProblem = (why: 'malformedRequest' | 'unauthorized'): Buffer =>
  encoded(new OCSPResponse({ responseStatus: OCSPResponseStatus[why] }));
