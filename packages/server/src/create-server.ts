import { constants } from 'node:crypto';
import http from 'node:http';
import https from 'node:https';
import type { Socket } from 'node:net';
import type { Tls } from '@keystead/settings';
import type express from 'express';
import { messageClasses } from './app';
import { readCertificates } from './client-certificates';
import { takeProxySecret } from './proxy-secret';

/** Limits of a server; every one has a default. */
export interface Limits {
  /** Request line and headers together; default 16 KiB. A longer request is refused with 431. */
  headerBytes?: number;
  /**
   * The time a client may take to send a whole request, body included; default 300 s. A slower request is refused with
   * 408.
   */
  requestSeconds?: number;
  /** How long an idle connection is kept; default 75 s. */
  keepAliveSeconds?: number;
}

/** Returns content type and body of a refusal with this status that is sent before Express gets the request. */
export type ConnectionRefusal = (status: number, message: string) => { type: string; body: string };

/** Options of `createServer`. */
export interface ServerOptions {
  limits?: Limits;
  tls?: Tls;
  refusal?: ConnectionRefusal;
}

type Handler = (req: http.IncomingMessage, res: http.ServerResponse) => void;

/**
 * An HTTP or HTTPS server for an application made by `createApp`, with its request classes and limits. It does not
 * listen yet; `serve` and supertest make it listen. If `handler` is set, it is called instead of the application, and
 * calls the application itself.
 */
export function createServer(app: express.Express, options: ServerOptions = {}, handler: Handler = app): http.Server {
  const { headerBytes = 16 * 1024, requestSeconds = 300, keepAliveSeconds = 75 } = options.limits ?? {};
  const settings: http.ServerOptions = {
    ...(messageClasses(app) as object),
    maxHeaderSize: headerBytes,
    requestTimeout: requestSeconds * 1000,
    headersTimeout: Math.min(requestSeconds, 30) * 1000,
    keepAliveTimeout: keepAliveSeconds * 1000,
    connectionsCheckingInterval: Math.min(requestSeconds * 500, 5000),
    noDelay: true,
    // Keep headers that are sent twice: Node would silently drop the second Host, Authorization or Content-Type.
    joinDuplicateHeaders: true,
  };
  const refusal = options.refusal ?? plainText;
  const listener: Handler = (req, res) => {
    takeProxySecret(req);
    if (hasOneTarget(req)) handler(req, res);
    else refuseTarget(res, refusal);
  };
  const server =
    options.tls === undefined
      ? http.createServer(settings, listener)
      : https.createServer({ ...settings, ...tlsSettings(options.tls) }, listener);
  if (options.tls?.clientCertificates) server.on('secureConnection', readCertificates);
  server.on('clientError', (error: NodeJS.ErrnoException, socket: Socket) => refuse(socket, error.code, refusal));
  server.on('connect', (_req, socket: Socket) => end(socket, 405, 'method not allowed', refusal));
  return server;
}

const absoluteForm = /^https?:\/\/([^/?#@]+)([/?].*)?$/i;

/**
 * Whether a request names exactly one host. A target in absolute form (RFC 9112, 3.2.2) is turned into a path; its host
 * is used instead of the Host header.
 */
function hasOneTarget(req: http.IncomingMessage): boolean {
  const { url = '', headers } = req;
  if (url.charCodeAt(0) !== SLASH && url !== '*') {
    const [, host, target = '/'] = absoluteForm.exec(url) ?? [];
    if (host === undefined) return false;
    headers.host = host;
    req.url = target.startsWith('/') ? target : `/${target}`;
  }
  return headers.host?.includes(',') !== true;
}

const SLASH = 47;

function refuseTarget(res: http.ServerResponse, refusal: ConnectionRefusal): void {
  const { type, body } = refusal(400, 'the request has no host, or more than one');
  res
    .writeHead(400, { 'content-type': type, 'content-length': Buffer.byteLength(body), connection: 'close' })
    .end(body);
}

/**
 * Resumption is off, because a resumed connection has the client's certificate without its chain. Renegotiation is off,
 * so that a client's identity lasts as long as the connection.
 */
function tlsSettings({ key, cert, clientCertificates = false }: Tls): https.ServerOptions {
  const secureOptions = constants.SSL_OP_NO_TICKET | constants.SSL_OP_NO_RENEGOTIATION;
  const tlsOptions = { requestCert: true, rejectUnauthorized: false, secureOptions };
  return { key, cert, minVersion: 'TLSv1.2', ...(clientCertificates ? tlsOptions : {}) };
}

const reasons: ReadonlyMap<string, readonly [number, string]> = new Map(
  Object.entries({
    HPE_HEADER_OVERFLOW: [431, 'request header fields too large'],
    HPE_CHUNK_EXTENSIONS_OVERFLOW: [413, 'chunk extensions too large'],
    ERR_HTTP_REQUEST_TIMEOUT: [408, 'request timeout'],
    HPE_INVALID_METHOD: [400, 'unknown method'],
    HPE_INVALID_URL: [400, 'invalid request target'],
    HPE_INVALID_VERSION: [400, 'invalid HTTP version'],
  }),
);

function refuse(socket: Socket, code: string | undefined, refusal: ConnectionRefusal): void {
  if (code === 'ECONNRESET' || code === 'EPIPE' || !socket.writable || isAnswered(socket)) {
    socket.destroy();
    return;
  }
  const [status, message] = reasons.get(code ?? '') ?? [400, 'malformed request'];
  end(socket, status, message, refusal);
}

interface ServerSocket extends Socket {
  readonly _httpMessage?: { readonly headersSent: boolean } | null;
  readonly parser?: { readonly incoming?: (http.IncomingMessage & { readonly res?: http.ServerResponse }) | null };
}

/**
 * Whether the unreadable request already has a response, complete or in progress. This happens if a request is answered
 * before its body has arrived. A second response would be written into the first, or the client would treat it as the
 * response to its next request.
 */
function isAnswered({ _httpMessage, parser }: ServerSocket): boolean {
  if (_httpMessage?.headersSent === true) return true;
  const incoming = parser?.incoming;
  return incoming?.complete === false && incoming.res?.headersSent === true;
}

function end(socket: Socket, status: number, message: string, refusal: ConnectionRefusal): void {
  const { type, body } = refusal(status, message);
  socket.end(
    `HTTP/1.1 ${status} ${http.STATUS_CODES[status]}\r\nConnection: close\r\nContent-Type: ${type}\r\n` +
      `Content-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`,
    () => socket.destroy(),
  );
  socket.on('error', () => socket.destroy());
}

const plainText: ConnectionRefusal = (_status, message) => ({
  type: 'text/plain; charset=utf-8',
  body: `${message}\n`,
});
