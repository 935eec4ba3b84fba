import http from 'node:http';
import type { AddressInfo } from 'node:net';
import {
  BasicOCSPResponse,
  CertStatus,
  id_pkix_ocsp_basic,
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
import {
  AuthorityKeyIdentifier,
  Certificate,
  CertificateList,
  type Extension,
  KeyIdentifier,
  RevokedCertificate,
  TBSCertList,
  Time,
  Version,
} from '@peculiar/asn1-x509';
import { bytes, extension, type Issued, pemOf } from './authority';

/** Content of a list that differs from the default. */
export interface WantedList {
  readonly fromMs?: number;
  readonly toMs?: number | null;
  readonly extensions?: readonly Extension[];
  readonly entryExtensions?: readonly Extension[];
  /** The signer, in the name of the authority. */
  readonly signer?: Issued;
  readonly bare?: boolean;
}

/** A list of revoked certificates, in DER. */
export function listOf(authority: Issued, serials: readonly bigint[], wanted: WantedList = {}): Buffer {
  const signer = wanted.signer ?? authority;
  const { algorithm } = signer.sign(Buffer.alloc(0));
  const now = Date.now();
  const keyId = new AuthorityKeyIdentifier({ keyIdentifier: new KeyIdentifier(bytes(authority.keyId)) });
  const { toMs = now + 86_400_000 } = wanted;
  const content = new TBSCertList({
    version: Version.v2,
    signature: algorithm,
    issuer: authority.subject,
    thisUpdate: new Time(new Date(wanted.fromMs ?? now - 60_000)),
    ...(toMs === null ? {} : { nextUpdate: new Time(new Date(toMs)) }),
    ...(serials.length === 0
      ? {}
      : {
          revokedCertificates: serials.map(
            (serial) =>
              new RevokedCertificate({
                userCertificate: bytes(Buffer.from(evenHex(serial), 'hex')),
                revocationDate: new Time(new Date(now - 60_000)),
                ...(wanted.entryExtensions ? { crlEntryExtensions: [...wanted.entryExtensions] } : {}),
              }),
          ),
        }),
    ...(wanted.bare ? {} : { crlExtensions: [extension('2.5.29.35', keyId), ...(wanted.extensions ?? [])] }),
  });
  const { signature } = signer.sign(Buffer.from(AsnConvert.serialize(content)));
  const list = new CertificateList({
    tbsCertList: content,
    signatureAlgorithm: algorithm,
    signature: bytes(signature),
  });
  return Buffer.from(AsnConvert.serialize(list));
}

export const listPem = (der: Buffer): string => pemOf('X509 CRL', der);

const evenHex = (value: bigint): string => {
  const hex = value.toString(16);
  return hex.length % 2 === 0 ? hex : `0${hex}`;
};

/** A host for revocation lists and OCSP, which answers at any path. */
export class RevocationStandIn {
  /** The answer to a GET. */
  list: Buffer = Buffer.alloc(0);
  status = 200;
  /** Delay of every answer. */
  delayMs = 0;
  asked = 0;
  /** Answers an OCSP request; see `answerOf`. */
  answer: (question: OCSPRequest) => Buffer = () => Buffer.from('x');
  private readonly server = http.createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk) => chunks.push(chunk));
    request.on('end', () => {
      this.asked++;
      const body =
        request.method === 'GET' ? this.list : this.answer(AsnConvert.parse(Buffer.concat(chunks), OCSPRequest));
      setTimeout(() => response.writeHead(this.status).end(body), this.delayMs).unref();
    });
  });

  async start(): Promise<void> {
    await new Promise<void>((resolve) => this.server.listen(0, '127.0.0.1', resolve));
  }

  async stop(): Promise<void> {
    this.server.closeAllConnections();
    await new Promise((resolve) => this.server.close(resolve));
  }

  get address(): string {
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}/`;
  }
}

/** Content of an answer that differs from the default. */
export interface WantedAnswer {
  readonly standing?: 'good' | 'revoked' | 'unknown';
  readonly fromMs?: number;
  readonly toMs?: number | null;
  readonly nonce?: 'none' | 'other';
  /** The certificates in the answer. */
  readonly certificates?: readonly Issued[];
  readonly serial?: bigint;
  /** Replaces the signature. */
  readonly signature?: Buffer;
  readonly status?: OCSPResponseStatus;
}

/** An answer about a certificate, in DER. */
export function answerOf(signer: Issued, question: OCSPRequest, wanted: WantedAnswer = {}): Buffer {
  const { standing = 'good', status = OCSPResponseStatus.successful, toMs = Date.now() + 3_600_000 } = wanted;
  const now = Date.now();
  const { requestList, requestExtensions } = question.tbsRequest;
  const certID = requestList[0]!.reqCert;
  if (wanted.serial !== undefined) certID.serialNumber = bytes(Buffer.from(evenHex(wanted.serial), 'hex'));
  const nonce =
    wanted.nonce === 'other'
      ? [extension('1.3.6.1.5.5.7.48.1.2', new OctetString(Buffer.alloc(16)))]
      : requestExtensions;
  const certStatus = {
    good: () => new CertStatus({ good: null }),
    revoked: () => new CertStatus({ revoked: new RevokedInfo({ revocationTime: new Date(now - 60_000) }) }),
    unknown: () => new CertStatus({ unknown: null }),
  }[standing]();
  const content = new ResponseData({
    responderID: new ResponderID({ byKey: new OctetString(signer.keyId) }),
    producedAt: new Date(now),
    responses: [
      new SingleResponse({
        certID,
        certStatus,
        thisUpdate: new Date(wanted.fromMs ?? now - 10_000),
        ...(toMs === null ? {} : { nextUpdate: new Date(toMs) }),
      }),
    ],
    ...(wanted.nonce === 'none' ? {} : { responseExtensions: nonce }),
  });
  const { algorithm, signature } = signer.sign(Buffer.from(AsnConvert.serialize(content)));
  const basic = new BasicOCSPResponse({
    tbsResponseData: content,
    signatureAlgorithm: algorithm,
    signature: bytes(wanted.signature ?? signature),
    ...(wanted.certificates ? { certs: wanted.certificates.map(({ der }) => AsnConvert.parse(der, Certificate)) } : {}),
  });
  const response = new OctetString(AsnConvert.serialize(basic));
  return Buffer.from(
    AsnConvert.serialize(
      new OCSPResponse({
        responseStatus: status,
        ...(status === OCSPResponseStatus.successful
          ? { responseBytes: new ResponseBytes({ responseType: id_pkix_ocsp_basic, response }) }
          : {}),
      }),
    ),
  );
}
