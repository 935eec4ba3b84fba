import http from 'node:http';
import https from 'node:https';
import net, { type AddressInfo, type Socket } from 'node:net';
import tls from 'node:tls';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { createApp, createLogger, serve } from '@keystead/server';
import { propertySettings, testCertificate } from '@keystead/testing';
import fc from 'fast-check';
import { methodOf, rescueList } from './list-verb';

fc.configureGlobal(propertySettings);

interface Sent {
  method: string;
  path: string;
  body: string;
}

/**
 * A server that reports how it understood a request, and a client that sends exactly the given bytes and reads one
 * answer at a time.
 */
function setUp(secure: boolean) {
  const answer: http.RequestListener = (req, res) => {
    let body = '';
    req.setEncoding('latin1').on('data', (chunk) => {
      body += chunk;
    });
    const reply = () => res.end(JSON.stringify([methodOf(req), req.url, body]));
    req.on('end', () => (req.url === '/slow' ? setTimeout(reply, 20) : reply()));
  };
  const server = secure ? https.createServer(testCertificate, answer) : http.createServer(answer);
  rescueList(server);
  const accepted: Socket[] = [];
  server.on(secure ? 'secureConnection' : 'connection', (socket: Socket) => accepted.push(socket));
  const port = () => (server.address() as AddressInfo).port;

  async function connect() {
    const socket = secure
      ? tls.connect({ port: port(), host: '127.0.0.1', ca: testCertificate.cert, servername: 'localhost' })
      : net.connect(port(), '127.0.0.1');
    await new Promise((resolve, reject) => {
      socket.once(secure ? 'secureConnect' : 'connect', resolve);
      socket.once('error', reject);
    });
    socket.setNoDelay(true);
    let received = '';
    let closed = false;
    let wake: () => void = () => undefined;
    socket.on('data', (chunk) => {
      received += chunk.toString('latin1');
      wake();
    });
    socket.on('error', () => undefined);
    socket.on('close', () => {
      closed = true;
      wake();
    });
    return {
      socket,
      /** Sends each part as a separate packet. */
      async send(parts: string[]) {
        for (const part of parts) {
          socket.write(part, 'latin1');
          const sent = socket.bytesWritten;
          for (let i = 0; i < 20; i++) {
            await new Promise((resolve) => setImmediate(resolve));
            if (!secure && accepted.at(-1)?.bytesRead === sent) break;
          }
        }
      },
      /** Reads the next answer: its status and, if that is 200, how the server understood the request. */
      async answer(): Promise<{ status: number; understood?: unknown }> {
        for (;;) {
          const head = received.indexOf('\r\n\r\n');
          const length = Number(/content-length: (\d+)/i.exec(received)?.[1] ?? (head < 0 ? Number.NaN : 0));
          if (head >= 0 && received.length >= head + 4 + length) {
            const status = Number(received.slice(9, 12));
            const text = received.slice(head + 4, head + 4 + length);
            received = received.slice(head + 4 + length);
            return status === 200 ? { status, understood: JSON.parse(text) } : { status };
          }
          if (closed) return { status: 0 };
          await new Promise<void>((resolve) => {
            wake = resolve;
          });
        }
      },
    };
  }
  return { server, connect };
}

const bytes = ({ method, path, body }: Sent) =>
  `${method} ${path} HTTP/1.1\r\nHost: a\r\n${body === '' ? '' : `Content-Length: ${body.length}\r\n`}\r\n${body}`;

function splitAt(text: string, points: number[]): string[] {
  const at = [...new Set(points.map((p) => p % text.length))].sort((a, b) => a - b);
  return [0, ...at].map((from, i) => text.slice(from, at[i])).filter((part) => part !== '');
}

const requests = fc.record({
  method: fc.constantFrom('LIST', 'LIST', 'GET', 'POST', 'REPORT', 'DELETE'),
  path: fc.constantFrom('/v1/cubbyhole', '/v1/LIST ', '/LIST', '/?q=LIST').map((path) => path.trim()),
  body: fc.constantFrom('', '', 'LIST /v1/x HTTP/1.1\r\n\r\n', 'LIS', '\r\n\r\nLIST ', 'LIST '.repeat(4000)),
});

describe.each([
  ['plain', false],
  ['TLS', true],
])('the LIST verb over %s connections', (_name, secure) => {
  const { server, connect } = setUp(secure);
  beforeAll(() => new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve)));
  afterAll(() => {
    server.close();
    server.closeAllConnections();
  });

  it('arrives wherever its first packet is split', async () => {
    const text = bytes({ method: 'LIST', path: '/v1/a', body: 'LIST ' });
    for (let at = 1; at < text.length; at++) {
      const client = await connect();
      await client.send([text.slice(0, at), text.slice(at)]);
      expect([at, await client.answer()]).toEqual([at, { status: 200, understood: ['LIST', '/v1/a', 'LIST '] }]);
      client.socket.destroy();
    }
  });

  it('arrives when every byte is a separate packet, again and again on one connection', async () => {
    const client = await connect();
    for (const method of ['LIST', 'GET', 'LIST', 'LIST', 'REPORT']) {
      await client.send([...bytes({ method, path: '/v1/a', body: '' })]);
      expect(await client.answer()).toEqual({ status: 200, understood: [method, '/v1/a', ''] });
    }
    client.socket.destroy();
  });

  it('also supports SCAN, on kept connections and with bodies, and refuses it in pieces', async () => {
    const client = await connect();
    for (const method of ['SCAN', 'GET', 'SCAN', 'LIST', 'SCAN']) {
      await client.send([bytes({ method, path: '/v1/a', body: 'SCAN ' })]);
      expect(await client.answer()).toEqual({ status: 200, understood: [method, '/v1/a', 'SCAN '] });
    }
    client.socket.destroy();
    for (const word of ['SCA', 'SCANS', 'POSCAN', 'XSCAN']) {
      const other = await connect();
      await other.send([`${word} /v1/a HTTP/1.1\r\nHost: a\r\n\r\n`]);
      expect((await other.answer()).status).toBe(400);
      other.socket.destroy();
    }
  });

  it('understands every sequence of requests, bodies and packets', async () => {
    const property = fc.asyncProperty(
      fc.array(fc.tuple(requests, fc.array(fc.nat(60), { maxLength: 4 })), { minLength: 1, maxLength: 6 }),
      async (sequence) => {
        const client = await connect();
        for (const [sent, points] of sequence) {
          await client.send(splitAt(bytes(sent), points));
          expect(await client.answer()).toEqual({ status: 200, understood: [sent.method, sent.path, sent.body] });
        }
        client.socket.destroy();
      },
    );
    await fc.assert(property, { numRuns: 120 });
  });

  it('answers pipelined requests in order, or refuses a LIST behind an unfinished one and closes', async () => {
    const property = fc.asyncProperty(fc.array(requests, { minLength: 2, maxLength: 5 }), async (sequence) => {
      const client = await connect();
      await client.send([sequence.map(bytes).join('')]);
      for (const sent of sequence) {
        const { status, understood } = await client.answer();
        if (status !== 200) {
          expect([400, 0]).toContain(status);
          // Node itself refuses pipelined requests over TLS whose bodies fill more than a record (HPE_PAUSED).
          const excuse = ({ method, body }: Sent) => method === 'LIST' || (secure && body.length > 10_000);
          expect(sequence.some(excuse)).toBe(true);
          break;
        }
        expect(understood).toEqual([sent.method, sent.path, sent.body]);
      }
      client.socket.destroy();
    });
    await fc.assert(property, { numRuns: 60 });
  });

  it.each([
    'LISP',
    'LISTS',
    'LI',
    'LIS',
    'LISLIST',
    'UNLIST',
    'XLIST',
    'LAST',
    'list',
    'GETLIST',
    'LIST\t',
    'LIST\r\n',
  ])('does not change the unknown verb %j', async (verb) => {
    const client = await connect();
    await client.send([`${verb} /v1/a HTTP/1.1\r\nHost: a\r\n\r\n`]);
    expect((await client.answer()).status).toBe(400);
    client.socket.destroy();
  });

  it.each([
    ['LIS', 'ST '],
    ['LIS', 'LIST '],
    ['LIS', 'S'],
    ['U', 'NLIST '],
  ])('is not assembled from %j and %j', async (first, second) => {
    const client = await connect();
    await client.send([first, `${second} /v1/a HTTP/1.1\r\nHost: a\r\n\r\n`]);
    expect((await client.answer()).status).toBe(400);
    client.socket.destroy();
  });

  it('survives a client that leaves in the middle of the word', async () => {
    for (const part of ['L', 'LI', 'LIS', 'LIST', 'LIST /v1']) {
      const client = await connect();
      await client.send([part]);
      client.socket.destroy();
    }
    const client = await connect();
    await client.send([bytes({ method: 'LIST', path: '/v1/a', body: '' })]);
    expect((await client.answer()).status).toBe(200);
    client.socket.destroy();
  });

  it('carries a body of several megabytes that begins with its own name', async () => {
    const client = await connect();
    const body = 'LIST /v1/x HTTP/1.1\r\n\r\n'.repeat(140_000);
    await client.send([bytes({ method: 'LIST', path: '/big', body })]);
    expect(await client.answer()).toEqual({ status: 200, understood: ['LIST', '/big', body] });
    await client.send([bytes({ method: 'LIST', path: '/after', body: '' })]);
    expect(await client.answer()).toEqual({ status: 200, understood: ['LIST', '/after', ''] });
    client.socket.destroy();
  });

  it('leaves no listeners behind on a connection that lists a hundred times', async () => {
    const client = await connect();
    const one = bytes({ method: 'LIST', path: '/v1/a', body: '' });
    const counts: number[][] = [];
    let socket: Socket | undefined;
    server.once('request', (req) => {
      socket = req.socket;
    });
    for (let i = 0; i < 100; i++) {
      await client.send([one]);
      await client.answer();
      counts.push(['data', 'end', 'close', 'drain', 'error', 'timeout'].map((e) => socket!.listenerCount(e)));
    }
    expect(counts[99]).toEqual(counts[0]);
    client.socket.destroy();
  });

  it('passes everything else to the existing listeners', async () => {
    const other = http.createServer((_req, res) => res.end());
    const codes: unknown[] = [];
    other.on('clientError', (error: NodeJS.ErrnoException, socket) => {
      codes.push(error.code);
      socket.end('HTTP/1.1 418 I am a teapot\r\nContent-Length: 0\r\n\r\n');
    });
    rescueList(other);
    await new Promise<void>((resolve) => other.listen(0, '127.0.0.1', resolve));
    const text = await new Promise<string>((resolve) => {
      const socket = net.connect((other.address() as AddressInfo).port, '127.0.0.1', () =>
        socket.write('LOST / HTTP/1.1\r\n\r\n'),
      );
      socket.on('data', (chunk) => resolve(chunk.toString()));
    });
    other.close();
    expect(text).toContain('418');
    expect(codes).toEqual(['HPE_INVALID_METHOD']);
  });
});

describe.each([
  ['plain', undefined],
  ['TLS', testCertificate],
])('a %s server made by serve', (_name, certificate) => {
  it('passes LIST to the application, refuses other unknown verbs, and drains', async () => {
    const app = createApp();
    app.use((req, res) => void res.json([methodOf(req), req.url]));
    const serving = await serve({
      app,
      log: createLogger({ name: 'test', level: 'silent' }),
      listen: { host: '127.0.0.1', port: 0, tls: certificate },
      ready: async () => ({ ready: true, reasons: [] }),
      onServer: rescueList,
      refusal: (status, message) => ({ type: 'application/json', body: JSON.stringify({ status, message }) }),
    });
    const { request, Agent } = certificate === undefined ? http : https;
    const agent = new Agent({ keepAlive: true, maxSockets: 1, ca: certificate?.cert } as https.AgentOptions);
    const ask = (method: string) =>
      new Promise<unknown>((resolve, reject) => {
        const sent = request(`${serving.url}/v1/a`, { method, agent: agent as https.Agent }, (res) => {
          let text = '';
          res.on('data', (chunk) => {
            text += chunk;
          });
          res.on('end', () => resolve([res.statusCode, JSON.parse(text)]));
        });
        sent.on('error', reject);
        sent.end();
      });
    expect(await ask('LIST')).toEqual([200, ['LIST', '/v1/a']]);
    expect(await ask('GET')).toEqual([200, ['GET', '/v1/a']]);
    expect(await ask('LIST')).toEqual([200, ['LIST', '/v1/a']]);
    expect(await ask('LOST')).toEqual([400, { status: 400, message: 'unknown method' }]);
    expect(await ask('LIST')).toEqual([200, ['LIST', '/v1/a']]);
    // The connection is kept alive and was passed to a second parser: it is still idle, and is closed.
    await serving.close();
    agent.destroy();
  });
});
