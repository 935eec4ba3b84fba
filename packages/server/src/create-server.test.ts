import type http from 'node:http';
import { connect as connectPlain, type Socket } from 'node:net';
import { connect } from 'node:tls';
import { describe, expect, it } from '@jest/globals';
import { testCertificate } from '../../testing/src/certificate';
import { createApp } from './app';
import { createServer, type Limits } from './create-server';
import { listenOn } from './listen';

/** A connection that records what is written to it, and whether it is open. */
function fakeSocket(more: object = {}) {
  const socket = {
    writable: true,
    written: '',
    destroyed: 0,
    listening: [] as string[],
    end(text: string, ended: () => void) {
      socket.written += text;
      ended();
    },
    destroy: () => void socket.destroyed++,
    on: (name: string) => void socket.listening.push(name),
    ...more,
  };
  return socket;
}

/** The answer of a server to an unreadable request. */
function answerTo(code: string | undefined, more: object = {}) {
  const socket = fakeSocket(more);
  const refusal = (status: number, message: string) => ({ type: 'own/type', body: `${status} ${message} é` });
  createServer(createApp(), { refusal }).emit(
    'clientError',
    Object.assign(new Error(), { code }),
    socket as never as Socket,
  );
  return socket;
}

describe('a server', () => {
  const timesOf = (limits?: Limits) => {
    const { requestTimeout, headersTimeout, keepAliveTimeout } = createServer(createApp(), { limits });
    return [requestTimeout, headersTimeout, keepAliveTimeout];
  };

  it('limits the time of requests and of idle connections', () => {
    expect(timesOf()).toEqual([300_000, 30_000, 75_000]);
    expect(timesOf({ requestSeconds: 10 })).toEqual([10_000, 10_000, 75_000]);
    expect(timesOf({ requestSeconds: 31, keepAliveSeconds: 5 })).toEqual([31_000, 30_000, 5_000]);
  });

  it.each([
    ['HPE_HEADER_OVERFLOW', '431 Request Header Fields Too Large', '431 request header fields too large é'],
    ['HPE_CHUNK_EXTENSIONS_OVERFLOW', '413 Payload Too Large', '413 chunk extensions too large é'],
    ['ERR_HTTP_REQUEST_TIMEOUT', '408 Request Timeout', '408 request timeout é'],
    ['HPE_INVALID_METHOD', '400 Bad Request', '400 unknown method é'],
    ['HPE_INVALID_URL', '400 Bad Request', '400 invalid request target é'],
    ['HPE_INVALID_VERSION', '400 Bad Request', '400 invalid HTTP version é'],
    ['HPE_OTHER', '400 Bad Request', '400 malformed request é'],
    [undefined, '400 Bad Request', '400 malformed request é'],
  ])('answers %s, and closes the connection', (code, status, body) => {
    const { written, destroyed, listening } = answerTo(code);
    const head = [`HTTP/1.1 ${status}`, 'Connection: close', 'Content-Type: own/type'];
    expect(written).toBe(`${[...head, `Content-Length: ${Buffer.byteLength(body)}`].join('\r\n')}\r\n\r\n${body}`);
    expect([destroyed, listening]).toEqual([1, ['error']]);
  });

  const request = { res: { headersSent: true } };
  it.each<[string, string, object]>([
    ['who has left', 'ECONNRESET', {}],
    ['whose connection is broken', 'EPIPE', {}],
    ['who no longer reads', 'HPE_OTHER', { writable: false }],
    ['whose answer is being sent', 'HPE_OTHER', { _httpMessage: { headersSent: true } }],
    [
      'who got an answer before sending everything',
      'HPE_OTHER',
      { parser: { incoming: { ...request, complete: false } } },
    ],
  ])('does not answer a client %s', (_who, code, more) => {
    const { written, destroyed } = answerTo(code, more);
    expect([written, destroyed]).toEqual(['', 1]);
  });

  it.each<[string, object]>([
    ['is being computed', { _httpMessage: { headersSent: false } }],
    ['belonged to another request', { _httpMessage: null, parser: { incoming: { ...request, complete: true } } }],
    ['has not started', { parser: { incoming: { res: { headersSent: false }, complete: false } } }],
    ['does not exist yet', { parser: { incoming: { complete: false } } }],
    ['has no request', { parser: { incoming: null } }],
  ])('answers an unreadable request if an answer %s', (_what, more) => {
    expect(answerTo('HPE_OTHER', more).written).toMatch(/^HTTP\/1\.1 400 /);
  });

  it.each<[boolean, boolean]>([
    [true, false],
    [false, true],
  ])('that asks for certificates (%p) resumes no connection, others do: %p', async (clientCertificates, resumes) => {
    const server = createServer(createApp(), { tls: { ...testCertificate, clientCertificates } });
    const port = await listenOn(server, { host: '127.0.0.1', port: 0 });
    const { cert: ca } = testCertificate;
    const meet = (session?: Buffer) =>
      new Promise<{ reused: boolean; session?: Buffer }>((resolve, reject) => {
        const socket = connect({ port, host: '127.0.0.1', ca, session, maxVersion: 'TLSv1.2' }, () => {
          resolve({ reused: socket.isSessionReused(), session: socket.getSession() });
          socket.end();
        });
        socket.on('error', reject);
      });
    try {
      const { session } = await meet();
      expect((await meet(session)).reused).toBe(resumes);
    } finally {
      server.close();
      (server as http.Server).closeAllConnections();
    }
  });

  it('speaks no TLS before 1.2', async () => {
    const server = createServer(createApp(), { tls: testCertificate });
    const port = await listenOn(server, { host: '127.0.0.1', port: 0 });
    const old = { minVersion: 'TLSv1', maxVersion: 'TLSv1.1', ciphers: 'DEFAULT@SECLEVEL=0' } as const;
    const upgraded = new Promise((resolve, reject) => {
      connect({ port, host: '127.0.0.1', ca: testCertificate.cert, ...old }, () => resolve('met')).on('error', reject);
    });
    await expect(upgraded).rejects.toMatchObject({
      code: expect.stringMatching(/PROTOCOL_VERSION|UNSUPPORTED_PROTOCOL/),
    });
    server.close();
  });

  it.each<[string, string[], string]>([
    ['takes a path', ['GET /a?b=c HTTP/1.1', 'Host: one'], '200 one /a?b=c'],
    ['takes an absolute target, whose host counts', ['GET http://two/a?b=c HTTP/1.1', 'Host: one'], '200 two /a?b=c'],
    ['takes an absolute target without a path', ['GET HTTP://two HTTP/1.1', 'Host: one'], '200 two /'],
    ['takes an absolute target with a query only', ['GET http://two?b=c HTTP/1.1', 'Host: one'], '200 two /?b=c'],
    ['refuses two hosts', ['GET /a HTTP/1.1', 'Host: one', 'Host: two'], '400'],
    ['refuses the same host twice', ['GET /a HTTP/1.1', 'Host: one', 'Host: one'], '400'],
    ['refuses two hosts in one header', ['GET /a HTTP/1.1', 'Host: one, two'], '400'],
    ['refuses a target of another scheme', ['GET ftp://two/a HTTP/1.1', 'Host: one'], '400'],
    ['refuses a target with a user', ['GET http://me@two/a HTTP/1.1', 'Host: one'], '400'],
  ])('%s', async (_what, lines, expected) => {
    const server = createServer(createApp(), {}, (req, res) => res.end(`${req.headers.host} ${req.url}`));
    const port = await listenOn(server, { host: '127.0.0.1', port: 0 });
    try {
      const answer = await new Promise<string>((resolve, reject) => {
        let text = '';
        const socket = connectPlain(port, '127.0.0.1', () =>
          socket.end(`${[...lines, 'Connection: close'].join('\r\n')}\r\n\r\n`),
        );
        socket.on('data', (chunk) => {
          text += chunk;
        });
        socket.on('end', () => resolve(text)).on('error', reject);
      });
      const [head = '', body = ''] = answer.split('\r\n\r\n');
      const status = head.slice(9, 12);
      expect(status === '200' ? `${status} ${body}` : status).toBe(expected);
    } finally {
      server.close();
    }
  });
});
