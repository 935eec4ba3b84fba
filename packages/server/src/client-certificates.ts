import { X509Certificate } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import { TLSSocket } from 'node:tls';
import type { TrustedProxies } from '@keystead/settings';
import { isFromProxyAddress, isProven } from './client-address';

/** A trusted proxy sent something that is not a certificate. */
export class BadClientCertificate extends Error {
  override readonly name = 'BadClientCertificate';
}

/** Where the certificate of a client comes from. */
export interface CertificateRules {
  readonly trustedProxies: TrustedProxies;
  /** The header in which a trusted proxy sends the client's certificate, in lower case. */
  readonly certificateHeader?: string;
}

/** The maximum number of certificates of a client that are read, including its own. */
const most = 10;

/**
 * The certificates that a client sent, as DER: its own first, then its chain. Only one thing is verified: that the
 * client has the key of the first certificate. Usually they come from the connection. If the peer is a trusted proxy,
 * they come from the configured header: URL-encoded PEM, or the form of RFC 9440 with the chain in `<header>-chain`. If
 * the proxy did not send its secret, there are no certificates. Headers of other peers are ignored. Throws
 * `BadClientCertificate`.
 */
export function clientCertificates(req: IncomingMessage, rules: CertificateRules): readonly Buffer[] {
  const { trustedProxies, certificateHeader } = rules;
  if (!isFromProxyAddress(req, trustedProxies)) return ofConnection(req);
  return certificateHeader === undefined || !isProven(req, trustedProxies) ? [] : ofHeader(req, certificateHeader);
}

/**
 * Reads the certificates of a new connection. If OpenSSL cannot read one, Node leaves the error in place and then
 * mistakes it for a failure of the next read, so the connection would end. Reading the certificates removes the error.
 */
export function readCertificates(socket: TLSSocket): void {
  ofConnection({ socket });
}

const cache = Symbol('certificates of the client');

function ofConnection({ socket }: { readonly socket: Socket & { [cache]?: readonly Buffer[] } }): readonly Buffer[] {
  // Read only once, because reading removes all certificates except the first from the connection.
  const cached = socket[cache];
  if (cached !== undefined) return cached;
  const read = socket instanceof TLSSocket ? readConnection(socket) : [];
  socket[cache] = read;
  return read;
}

function readConnection(socket: TLSSocket): Buffer[] {
  const certificates: Buffer[] = [];
  let certificate = socket.getPeerX509Certificate();
  for (; certificate !== undefined && certificates.length < most; certificate = certificate.issuerCertificate) {
    certificates.push(certificate.raw);
  }
  return certificates;
}

function ofHeader({ headersDistinct }: IncomingMessage, name: string): Buffer[] {
  const [text = '', ...others] = headersDistinct[name] ?? [];
  // The header is there twice if a proxy does not replace the client's header but adds its own.
  if (others.length > 0) throw new BadClientCertificate(`${name} was sent more than once`);
  if (text === '') return [];
  if (!text.startsWith(':')) return fromPem(text, name);
  const chain = (headersDistinct[`${name}-chain`] ?? []).flatMap((list) => list.split(','));
  if (chain.length >= most) throw new BadClientCertificate(`${name}-chain has too many certificates`);
  return [fromBinary(text, name), ...chain.map((item) => fromBinary(item, `${name}-chain`))];
}

const begin = '-----BEGIN CERTIFICATE-----';
const end = '-----END CERTIFICATE-----';

function fromPem(escaped: string, name: string): Buffer[] {
  try {
    const pieces = decodeURIComponent(escaped).split(end, most + 2);
    const rest = pieces.pop()!;
    if (pieces.length === 0 || pieces.length > most || rest.trim() !== '') throw new Error('this is not a PEM');
    // OpenSSL skips text before a certificate. A comma in this text means that a proxy appended its own header to the
    // client's.
    if (!pieces.every((piece) => piece.trimStart().startsWith(begin))) throw new Error('this is more than PEM');
    return pieces.map((piece) => new X509Certificate(piece + end).raw);
  } catch {
    throw new BadClientCertificate(`${name} is not a certificate (PEM, URL-encoded)`);
  }
}

const binary = /^:([A-Za-z0-9+/]+={0,2}):$/;

function fromBinary(text: string, name: string): Buffer {
  const [, bytes] = binary.exec(text.trim()) ?? [];
  try {
    const der = Buffer.from(bytes ?? '', 'base64');
    const { raw } = new X509Certificate(der);
    if (raw.equals(der)) return raw;
  } catch {
    // The error below reports it.
  }
  throw new BadClientCertificate(`${name} is not a certificate in the form of RFC 9440`);
}
