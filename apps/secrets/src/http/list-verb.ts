import type http from 'node:http';
import https from 'node:https';
import type { Socket } from 'node:net';

/** The verb of a request; `LIST` or `SCAN` if `rescueList` accepted it. */
export function methodOf(req: http.IncomingMessage): string {
  return req.method as string;
}

/**
 * Teaches an HTTP or HTTPS server the verb LIST, which Node's parser refuses.
 *
 * The parser stops at the S of LIST, so it still decides where a request begins. When it refuses, the connection gets a
 * new parser, which gets the same bytes with a verb that it knows. Before a handler sees the request, that verb is
 * changed back to LIST. Connections that never send LIST are not touched. A LIST that is sent before the previous
 * request was answered is refused like any unknown verb. If the verb itself is split over packets, the letters of the
 * earlier packet are lost. So a misspelt verb that differs from LIST only in those letters is read as LIST.
 *
 * SCAN is handled in the same way if the whole word comes in one packet, as every client sends it; otherwise it is
 * refused.
 *
 * Takes over the server's `clientError` listeners and passes all other errors on to them; without any, it answers 400
 * itself. Spec: Cubbyhole.
 */
export function rescueList(server: http.Server): void {
  const refusals = server.listeners('clientError') as ((error: Error, socket: Socket) => void)[];
  server.removeAllListeners('clientError');
  const attach = server
    .listeners(server instanceof https.Server ? 'secureConnection' : 'connection')
    .find(({ name }) => name === 'connectionListener') as ((socket: Socket) => void) | undefined;
  server.on('clientError', (error: ParseError, socket: RescuedSocket) => {
    const found = attach && (wordOfList(error, socket) ?? wordOfScan(error, socket));
    if (found !== undefined && detach(socket)) {
      socket.setTimeout(server.timeout);
      attach?.call(server, socket);
      feed(socket, found);
    } else if (refusals.length === 0) refuse(socket);
    else for (const listener of refusals) listener.call(server, error, socket);
  });
}

interface ParseError extends Error {
  code?: string;
  bytesParsed?: number;
  rawPacket?: Buffer;
}

interface HttpParser {
  onIncoming(req: http.IncomingMessage, keepAlive: boolean): unknown;
}

interface RescuedSocket extends Socket {
  parser?: HttpParser | null;
  _httpMessage?: unknown;
  [rescued]?: boolean;
}

/** Set while a rescued request line is incomplete. A second refusal during this time does not mean another LIST. */
const rescued = Symbol('rescued');

/** A verb that the parser does not know, and the bytes for a new parser: they begin with a part of REPORT. */
interface RescuedVerb {
  readonly method: 'LIST' | 'SCAN';
  readonly bytes: Buffer;
}

/**
 * The bytes of a verb at which the parser stopped; undefined if it stopped elsewhere, or where LIST cannot be
 * supported.
 */
function stopped({ code, rawPacket, bytesParsed }: ParseError, socket: RescuedSocket, letter: string) {
  if (code !== 'HPE_INVALID_METHOD' || rawPacket === undefined || bytesParsed === undefined) return undefined;
  if (socket._httpMessage || socket[rescued] || !socket.writable) return undefined;
  return rawPacket[bytesParsed] === letter.charCodeAt(0) ? { rawPacket, bytesParsed } : undefined;
}

/** LIST, if the parser stopped at its S at the start of a request. The T follows, in this packet or the next. */
function wordOfList(error: ParseError, socket: RescuedSocket): RescuedVerb | undefined {
  const at = stopped(error, socket, 'S');
  if (at === undefined) return undefined;
  const { rawPacket, bytesParsed } = at;
  // At most two letters came in earlier packets. UNLINK is the one known verb with LI inside.
  const letters = rawPacket.toString('latin1', Math.max(0, bytesParsed - 3), bytesParsed);
  const fits = bytesParsed >= 2 ? letters.endsWith('LI') && letters !== 'NLI' : 'LI'.endsWith(letters);
  const bytes = () => Buffer.concat([Buffer.from('REPOR'), rawPacket.subarray(bytesParsed + 1)]);
  return fits ? { method: 'LIST', bytes: bytes() } : undefined;
}

/** SCAN, whole in one packet, if the parser stopped at its C at the start of a request. */
function wordOfScan(error: ParseError, socket: RescuedSocket): RescuedVerb | undefined {
  const at = stopped(error, socket, 'C');
  if (at === undefined) return undefined;
  const { rawPacket, bytesParsed } = at;
  const begin = bytesParsed - 1;
  const starts = begin === 0 || (begin > 0 && rawPacket[begin - 1] === '\n'.charCodeAt(0));
  if (!starts || rawPacket.toString('latin1', begin, begin + 5) !== 'SCAN ') return undefined;
  return { method: 'SCAN', bytes: Buffer.concat([Buffer.from('REPORT'), rawPacket.subarray(begin + 4)]) };
}

// Node's own listeners, by name. `socketOnClose` frees the parser, as it does when a connection ends.
const closing = 'bound socketOnClose';
const others: Record<string, string> = {
  data: 'bound socketOnData',
  end: 'bound socketOnEnd',
  drain: 'bound socketOnDrain',
  error: 'socketOnError',
  timeout: 'socketOnTimeout',
  resume: 'onSocketResume',
  pause: 'onSocketPause',
};

/**
 * Undoes the changes that the server made to the socket when it accepted the connection. In an unknown version of Node,
 * does nothing and returns false.
 */
function detach(socket: RescuedSocket): boolean {
  const release = listenerNamed(socket, 'close', closing);
  const data = listenerNamed(socket, 'data', others.data as string);
  if (release === undefined || data === undefined || typeof socket.parser?.onIncoming !== 'function') return false;
  for (const [event, name] of Object.entries(others)) {
    const listener = listenerNamed(socket, event, name);
    if (listener !== undefined) socket.removeListener(event, listener);
  }
  socket.removeListener('close', release);
  release.call(socket);
  return true;
}

function listenerNamed(socket: Socket, event: string, name: string): ((...args: unknown[]) => void) | undefined {
  return socket.rawListeners(event).find((listener) => listener.name === name) as never;
}

/** Starts the new parser on REPORT, which no endpoint uses and which ends in the letter that LIS still lacks. */
function feed(socket: RescuedSocket, { method, bytes }: RescuedVerb): void {
  const parser = socket.parser as HttpParser;
  const onIncoming = parser.onIncoming;
  socket[rescued] = true;
  parser.onIncoming = (req, keepAlive) => {
    parser.onIncoming = onIncoming;
    socket[rescued] = false;
    req.method = method;
    return onIncoming.call(parser, req, keepAlive);
  };
  socket.unshift(bytes);
}

function refuse(socket: Socket): void {
  if (socket.writable) socket.end('HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n');
  else socket.destroy();
}
