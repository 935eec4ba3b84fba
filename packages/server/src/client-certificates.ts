import { X509Certificate } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import { TLSSocket } from 'node:tls';
import type { TrustedProxies } from '@keystead/settings';
import { isFromProxyAddress, isProven } from './client-address';

/** What a trusted proxy sent in place of a client's certificate is none. */
export class BadClientCertificate extends Error {
  override readonly name = 'BadClientCertificate';
}

/** From where the certificate of a client is known. */
export interface CertificateRules {
  readonly trustedProxies: TrustedProxies;
  /** Name, in lower case, of the header in which a trusted proxy sends the certificate that it was shown. */
  readonly certificateHeader?: string;
}

/** The most certificates of one client that are looked at, its own among them. */
const most = 10;

/**
 * The certificates that a client has shown, as DER: its own first, then those that it sent along. Nothing of them is
 * verified but that the client has the key of the first.
 *
 * They are those of the connection. Of a connection from a trusted proxy they would be the proxy's own, so there they are
 * those in the header of its choice: PEM with percent signs, or the form of RFC 9440 with further ones in `<header>-chain`;
 * none if it lacks the secret of the proxies. No header of another peer is looked at. Throws `BadClientCertificate`.
 */
export function clientCertificates(req: IncomingMessage, rules: CertificateRules): readonly Buffer[] {
  const { trustedProxies, certificateHeader } = rules;
  if (!isFromProxyAddress(req, trustedProxies)) return ofConnection(req);
  return certificateHeader === undefined || !isProven(req, trustedProxies) ? [] : ofHeader(req, certificateHeader);
}

const shown = Symbol('certificates of the client');

function ofConnection({ socket }: { readonly socket: Socket & { [shown]?: readonly Buffer[] } }): readonly Buffer[] {
  // Read once: to read them takes all but the first off the connection.
  const known = socket[shown];
  if (known !== undefined) return known;
  const read = socket instanceof TLSSocket ? readConnection(socket) : [];
  socket[shown] = read;
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
  // A proxy that appends to what a client has sent would put its header next to the client's.
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
    // OpenSSL looks for where one begins: a comma before it is where a proxy has joined its word to the client's.
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
    // Told below.
  }
  throw new BadClientCertificate(`${name} is not a certificate in the form of RFC 9440`);
}
