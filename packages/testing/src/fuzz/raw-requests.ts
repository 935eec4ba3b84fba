import type { Random } from './random';
import { encode, type FuzzRequest } from './requests';

/** Bytes for a separate connection, in pieces, and the permitted answers. */
export interface RawCase {
  readonly name: string;
  readonly pieces: readonly (string | Buffer)[];
  /** The allowed number of responses. */
  readonly atMost: number;
  /** The statuses that must come, in this order. */
  readonly exactly?: readonly number[];
}

/** The material of raw cases. */
export interface RawParts {
  readonly host: string;
  /** A path that answers 200 to any caller, and one that answers 404. */
  readonly found: string;
  readonly missing: string;
  /** A path that takes JSON. */
  readonly writes: string;
  /** The header with the caller's token. */
  readonly secret: string;
  /** A request generated from the document. */
  request(): FuzzRequest;
}

/** Generates a case of HTTP/1.1 that is odd, wrong, truncated or ambiguous. */
export function rawCase(random: Random, parts: RawParts): RawCase {
  const [name, make] = random.pick(cases);
  return { name, ...make(random, parts) };
}

type Made = Omit<RawCase, 'name'>;
type Make = (random: Random, parts: RawParts) => Made;

const close = 'Connection: close\r\n';
const get = ({ host, found, secret }: RawParts, more = close, target = found) =>
  `GET ${target} HTTP/1.1\r\nHost: ${host}\r\n${secret}\r\n${more}\r\n`;
const post = ({ host, writes, secret }: RawParts, more: string, body: string) =>
  `POST ${writes} HTTP/1.1\r\nHost: ${host}\r\n${secret}\r\nContent-Type: application/json\r\n${more}\r\n${body}`;
const inOnePiece = (bytes: string | Buffer, atMost = 1): Made => ({ pieces: [bytes], atMost });
const methods = [
  'LIST',
  'HEAD',
  'OPTIONS',
  'TRACE',
  'CONNECT',
  'PUT',
  'PATCH',
  'PURGE',
  'PROPFIND',
  'get',
  'G',
  'LISTS',
];
const oddMethods = [
  ...methods,
  'LI',
  'LINK',
  'UNLINK',
  'REPORT',
  'M-SEARCH',
  'X'.repeat(40),
  'GÉT',
  '',
  '\0',
  'SEARCH',
  'QUERY',
];
const targets = [
  '*',
  '/',
  '//',
  '',
  'http://other/',
  'x',
  '/%',
  '/%zz',
  '/\xff\xfe',
  '/a b',
  '/a\tb',
  '/#',
  '?',
  '/?&&=',
  '/..',
];

const cases: readonly (readonly [string, Make])[] = [
  ['a pipeline', (random, parts) => pipeline(random, parts)],
  ['a pipeline with LIST', (random, parts) => pipeline(random, parts, 'LIST')],
  ['two lengths', (_random, p) => inOnePiece(post(p, 'Content-Length: 2\r\nContent-Length: 30\r\n', `{}${get(p)}`))],
  ['a length and chunks', (random, p) => bothFramings(random, p)],
  ['an invalid length', (random, p) => oddLength(random, p)],
  ['a strange encoding', (random, p) => oddEncoding(random, p)],
  ['strange chunks', (random, p) => oddChunks(random, p)],
  ['a strange header', (random, p) => oddHeader(random, p)],
  ['a large head', (random, p) => largeHead(random, p)],
  ['a strange first line', (random, p) => oddFirstLine(random, p)],
  ['a strange version', (random, p) => oddVersion(random, p)],
  ['an expectation', (random, p) => expectation(random, p)],
  [
    'an upgrade',
    (random, p) =>
      inOnePiece(
        get(
          p,
          `Connection: ${random.pick(['Upgrade', 'close, Upgrade'])}\r\nUpgrade: ${random.pick(['websocket', 'h2c', 'x'])}\r\n${close}`,
        ),
      ),
  ],
  ['a request cut short', (random, { request, host }) => cutShort(random, encode(request(), host))],
  ['a request with bytes changed', (random, { request, host }) => changed(random, encode(closing(request()), host))],
  ['another verb', (random, parts) => otherVerb(random, parts)],
  [
    'lines before the request',
    (random, p) => inOnePiece(random.pick(['\r\n', '\r\n\r\n\r\n', '\n', ' ', '\0', '\r']) + get(p)),
  ],
  [
    'noise',
    (random) => inOnePiece(Buffer.from(Array.from({ length: 1 + random.below(400) }, () => random.below(256))), 3),
  ],
  ['TLS', () => inOnePiece(Buffer.from('16030100a5010000a10303', 'hex'))],
  ['nothing', () => inOnePiece('', 0)],
];

const closing = (request: FuzzRequest): FuzzRequest => ({
  ...request,
  headers: { ...request.headers, Connection: 'close' },
});

function pipeline(random: Random, parts: RawParts, verb = 'GET'): Made {
  const { host, found, missing, secret } = parts;
  const length = 2 + random.below(12);
  const exactly: number[] = [];
  let bytes = '';
  for (let i = 0; i < length; i++) {
    const good = random.chance(0.5);
    exactly.push(good ? 200 : 404);
    const list = verb !== 'GET' && !good && random.chance(0.5);
    const last = i === length - 1 ? close : '';
    bytes += `${list ? verb : 'GET'} ${good ? found : missing} HTTP/1.1\r\nHost: ${host}\r\n${secret}\r\n${last}\r\n`;
  }
  const pieces: string[] = [];
  for (let at = 0; at < bytes.length; ) {
    const size = random.chance(0.5) ? bytes.length : 1 + random.below(60);
    pieces.push(bytes.slice(at, at + size));
    at += size;
  }
  return verb === 'GET' ? { pieces, atMost: length, exactly } : { pieces, atMost: length };
}

function bothFramings(random: Random, parts: RawParts): Made {
  const headers = ['Content-Length: 4\r\n', 'Transfer-Encoding: chunked\r\n'];
  if (random.chance(0.5)) headers.reverse();
  return inOnePiece(post(parts, headers.join(''), `0\r\n\r\n${get(parts)}`));
}

function oddLength(random: Random, parts: RawParts): Made {
  const length = random.pick(['-1', '+2', '0x2', '2,2', '2 2', '', 'two', '99999999999999999999', '1e1', '2;', '\t2']);
  return inOnePiece(post(parts, `Content-Length: ${length}\r\n`, `{}${get(parts)}`), 2);
}

function oddEncoding(random: Random, parts: RawParts): Made {
  const coding = random.pick([
    'xchunked',
    'chunked, identity',
    'identity',
    'gzip',
    'chunked\0',
    '"chunked"',
    'chunked;a=b',
    '\x0bchunked',
    '',
  ]);
  const name = random.pick(['Transfer-Encoding', 'Transfer-Encoding ', 'transfer-encoding', 'Transfer_Encoding']);
  // A misspelled header does not announce the body, so the service reads the body as another request.
  return inOnePiece(post(parts, `${name}: ${coding}\r\n`, `2\r\n{}\r\n0\r\n\r\n${get(parts)}`), 2);
}

function oddChunks(random: Random, parts: RawParts): Made {
  const chunks = random.pick([
    ...[
      '-1\r\n{}\r\n0\r\n\r\n',
      '+2\r\n{}\r\n0\r\n\r\n',
      '0x2\r\n{}\r\n0\r\n\r\n',
      '2 \r\n{}\r\n0\r\n\r\n',
      'g\r\n',
      '\r\n',
      '2\r\n{}0\r\n\r\n',
    ],
    ...[
      'fffffffffffffffff\r\n{}',
      '2\r\n{}\r\n',
      '2\n{}\n0\n\n',
      '2;a="\r\n{}\r\n0\r\n\r\n',
      '0\r\nA: b\r\n\r\n',
      '0\r\nHost : x\r\n\r\n',
      '2\r\n{}X\r\n0\r\n\r\n',
    ],
    `2;${'x'.repeat(20_000)}\r\n{}\r\n0\r\n\r\n`,
    `0\r\n${'A: b\r\n'.repeat(2000)}\r\n`,
  ]);
  return inOnePiece(post(parts, `Transfer-Encoding: chunked\r\n${close}`, chunks), 2);
}

function oddHeader(random: Random, parts: RawParts): Made {
  const header = random.pick([
    ...[
      'A : b',
      ' A: b',
      'A: b\r\n c',
      'A: \0',
      'A: b\nC: d',
      'A: b\rC: d',
      ': b',
      'A',
      'A: \x01',
      'Ä: b',
      'A: \xff\xfe',
      'Host: other',
    ],
    ...[
      'Connection: \0',
      'Connection: close, keep-alive',
      'Content-Type:',
      'Content-Encoding: gzip',
      'Accept: \x7f',
      'Range: bytes=0-1',
      'Cookie: a=b; c',
    ],
    ...[
      'X-Forwarded-For: 1, 2, x',
      'Forwarded: for="',
      'If-None-Match: *',
      'If-Match: "',
      'Origin: null',
      'Authorization: Bearer',
      'Authorization: Basic !',
      'X-Request-Id: \t',
    ],
    ...Array.from({ length: 3 }, () => `X-${random.below(1000)}: ${'v'.repeat(random.below(3000))}`),
  ]);
  return inOnePiece(get(parts, `${header}\r\n${close}`));
}

function largeHead(random: Random, parts: RawParts): Made {
  const kind = random.below(4);
  if (kind === 0) return inOnePiece(get(parts, `A: ${'a'.repeat(10_000 + random.below(30_000))}\r\n${close}`));
  if (kind === 1) return inOnePiece(get(parts, `${'A: b\r\n'.repeat(100 + random.below(4000))}${close}`));
  if (kind === 2) return inOnePiece(get(parts, close, `${parts.found}?${'a'.repeat(random.below(30_000))}`));
  return inOnePiece(get(parts, close, `${parts.found}/${'a/'.repeat(random.below(9000))}`));
}

function oddFirstLine(random: Random, { host, found, secret }: RawParts): Made {
  const method = random.chance(0.5) ? 'GET' : random.pick(oddMethods);
  const target = random.chance(0.4) ? found : random.pick(targets);
  const line = random.pick([' ', ' ', ' ', '  ', '\t', '']);
  const bytes = Buffer.from(
    `${method}${line}${target} HTTP/1.1\r\nHost: ${host}\r\n${secret}\r\n${close}\r\n`,
    'latin1',
  );
  return { pieces: random.chance(0.5) ? [bytes] : [bytes.subarray(0, 2), bytes.subarray(2)], atMost: 1 };
}

function oddVersion(random: Random, { host, found }: RawParts): Made {
  const version = random.pick([
    'HTTP/1.0',
    'HTTP/0.9',
    'HTTP/2.0',
    'HTTP/1.9',
    'HTTP/1',
    'http/1.1',
    'HTTP/1.1 ',
    'HTTPS/1.1',
    'RTSP/1.0',
    'ICE/1.0',
    '',
  ]);
  const preface = random.chance(0.1) ? 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n' : '';
  return inOnePiece(`${preface}GET ${found} ${version}\r\nHost: ${host}\r\n${close}\r\n`, 1);
}

function expectation(random: Random, parts: RawParts): Made {
  const expect = random.pick(['100-continue', '100-Continue', 'x', '200-ok', '']);
  const body = random.pick(['{}', '', '{']);
  return inOnePiece(post(parts, `Expect: ${expect}\r\nContent-Length: 2\r\n${close}`, body));
}

function cutShort(random: Random, bytes: Buffer): Made {
  const end = 1 + random.below(bytes.length);
  const middle = random.below(end);
  return { pieces: [bytes.subarray(0, middle), bytes.subarray(middle, end)], atMost: 1 };
}

function changed(random: Random, bytes: Buffer): Made {
  const copy = Buffer.from(bytes);
  // Keeps the verb, so that a read does not become a write.
  for (let i = 1 + random.below(3); i > 0; i--) copy[8 + random.below(copy.length - 8)] = random.below(256);
  return inOnePiece(copy, 3);
}

function otherVerb(random: Random, { request, host }: RawParts): Made {
  const message = closing(request());
  return inOnePiece(encode({ ...message, method: random.pick(methods) }, host), 1);
}
