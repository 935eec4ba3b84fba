import { randomBytes } from 'node:crypto';
import http, { type Server } from 'node:http';
import net from 'node:net';
import { describe, expect, it } from '@jest/globals';
import request from 'supertest';
import { createApp } from './app';
import { createServer } from './create-server';
import { listenOn } from './listen';
import { arrivedBody, atPace, BodyAborted, BodyLate, type BodyOptions, BodyTooLarge, readBody } from './read-body';

function echo(report: (outcome: unknown) => void = () => undefined, large?: BodyOptions['large']) {
  const app = createApp();
  app.use(async (req, res) => {
    try {
      const body = await readBody(req, { limit: 1000, large });
      report(body);
      res.send(body);
    } catch (error) {
      report(error);
      res.status(error instanceof BodyTooLarge ? 413 : 400).send((error as Error).message);
    }
  });
  return createServer(app);
}

describe('readBody', () => {
  it('returns the bytes that were sent, and none for a request without a body', async () => {
    const sent = 'x'.repeat(1000);
    expect((await request(echo()).post('/').type('text').send(sent).expect(200)).body.toString()).toBe(sent);
    expect((await request(echo()).get('/').expect(200)).body).toHaveLength(0);
  });

  it('returns no bytes for a length of zero, however it is written', async () => {
    for (const length of ['0', '00']) {
      const sent = request(echo()).post('/').set('Content-Length', length);
      expect((await sent.expect(200)).body).toHaveLength(0);
    }
  });

  it('refuses an announced length above the limit, and still answers', async () => {
    await request(echo()).post('/').type('text').send('x'.repeat(1001)).expect(413);
    await request(echo()).post('/').type('text').send('x'.repeat(5_000_000)).expect(413);
  });

  it('refuses a body that grows above the limit without announcing its length', async () => {
    const server = echo();
    const port = await listenOn(server, { host: '127.0.0.1', port: 0 });
    try {
      const body = new ReadableStream({
        start(controller) {
          for (let i = 0; i < 50; i++) controller.enqueue(Buffer.alloc(100, 'x'));
          controller.close();
        },
      });
      const response = await fetch(`http://127.0.0.1:${port}/`, {
        method: 'POST',
        body,
        duplex: 'half',
      } as RequestInit);
      expect(response.status).toBe(413);
    } finally {
      server.close();
      server.closeAllConnections();
    }
  });

  it('has a body at once if it came with its headers, and waits for one that did not', async () => {
    const seen: (number | undefined)[] = [];
    const app = createApp();
    app.use(async (req, res) => {
      await undefined;
      const arrived = arrivedBody(req, 1000);
      seen.push(arrived?.length);
      res.send(arrived ?? (await readBody(req, { limit: 1000 })));
    });
    const server = createServer(app);
    const port = await listenOn(server, { host: '127.0.0.1', port: 0 });
    const socket = net.connect(port, '127.0.0.1');
    const answered = (body: string) =>
      new Promise<void>((resolve) => {
        let text = '';
        socket.on('data', function read(piece) {
          text += piece;
          if (!text.endsWith(`\r\n\r\n${body}`)) return;
          socket.off('data', read);
          resolve();
        });
      });
    try {
      const head = 'POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\n\r\n';
      for (let times = 0; times < 3; times++) {
        const together = answered('abcd');
        socket.write(`${head}abcd`);
        await together;
      }
      const apart = answered('efgh');
      socket.write(`${head}ef`);
      await new Promise((resolve) => setTimeout(resolve, 50));
      socket.write('gh');
      await apart;
      socket.write(head.replace('4', '1001'));
      socket.write('x'.repeat(1001));
      await new Promise((resolve) => setTimeout(resolve, 50));
      expect(seen).toEqual([4, 4, 4, undefined, undefined]);
    } finally {
      socket.destroy();
      server.close();
      server.closeAllConnections();
    }
  });

  /** Sends a body in pieces, without saying how long it is. */
  async function unannounced(server: Server, pieces: readonly string[]): Promise<{ status: number; text: string }> {
    const port = await listenOn(server, { host: '127.0.0.1', port: 0 });
    try {
      return await new Promise((resolve, reject) => {
        const sending = http.request({ port, host: '127.0.0.1', method: 'POST' }, (answer) => {
          let text = '';
          answer.on('data', (piece) => (text += piece));
          answer.on('end', () => resolve({ status: answer.statusCode!, text }));
        });
        sending.on('error', reject);
        for (const piece of pieces) sending.write(piece);
        sending.end();
      });
    } finally {
      server.close();
      server.closeAllConnections();
    }
  }

  describe('makes large bodies wait their turn', () => {
    const turns = (refusal?: Error) => {
      const lengths: number[] = [];
      const turn = async () => {
        lengths.push(1);
        await new Promise(setImmediate);
        if (refusal) throw refusal;
      };
      return { taken: lengths, large: { above: 500, turn } };
    };

    it.each([
      [500, 0],
      [501, 1],
    ])('a body of %i bytes waits %i times', async (bytes, times) => {
      const { taken: lengths, large } = turns();
      const sent = 'x'.repeat(bytes);
      const { body } = await request(echo(undefined, large)).post('/').type('text').send(sent).expect(200);
      expect([body.toString(), lengths.length]).toEqual([sent, times]);
      const pieces = [sent.slice(0, 100), sent.slice(100)];
      expect(await unannounced(echo(undefined, large), pieces)).toEqual({ status: 200, text: sent });
      expect(lengths).toHaveLength(2 * times);
    });

    it('and answers without reading a body that gets no turn', async () => {
      const { large } = turns(new Error('no room'));
      const sent = 'x'.repeat(1000);
      expect((await request(echo(undefined, large)).post('/').type('text').send(sent).expect(400)).text).toBe(
        'no room',
      );
      expect(await unannounced(echo(undefined, large), [sent])).toEqual({ status: 400, text: 'no room' });
    });
  });

  describe('does not wait for a body that arrives too slowly', () => {
    function reading(limits: Partial<BodyOptions>) {
      const app = createApp();
      app.use(async (req, res) => {
        await readBody(req, { limit: 1_000_000, ...limits }).catch((error) =>
          res.status(error instanceof BodyLate ? 408 : 500).send(String(error)),
        );
      });
      return app;
    }

    /** Sends headers and part of a body, never the rest; returns what came back until the connection was closed. */
    async function dribble(
      head: string,
      pieces: string,
      limits: Partial<BodyOptions>,
      app = reading(limits),
    ): Promise<string> {
      const server = createServer(app);
      const port = await listenOn(server, { host: '127.0.0.1', port: 0 });
      try {
        return await new Promise((resolve) => {
          const socket = net.connect(port, '127.0.0.1');
          let answer = '';
          socket.on('data', (data) => (answer += data));
          socket.on('close', () => resolve(answer));
          socket.write(`POST / HTTP/1.1\r\nHost: x\r\n${head}\r\n\r\n${pieces}`);
        });
      } finally {
        server.close();
        server.closeAllConnections();
      }
    }
    const pace = { graceMs: 20, bytesPerSecond: 1000 };
    const closed = /^HTTP\/1\.1 408 .*connection: close/is;

    it('with an announced length', async () => {
      expect(await dribble('Content-Length: 100000', 'x', { pace })).toMatch(closed);
    });

    it('without an announced length', async () => {
      expect(await dribble('Transfer-Encoding: chunked', '1\r\nx\r\n', { pace })).toMatch(closed);
    });

    it('that is read piece by piece', async () => {
      const app = createApp();
      app.use(async (req, res) => {
        let length = 0;
        try {
          for await (const piece of atPace(req, pace)) length += piece.length;
          res.send(String(length));
        } catch (error) {
          res.status(error instanceof BodyLate ? 408 : 500).send(String(error));
        }
      });
      expect(await dribble('Content-Length: 100000', 'x', {}, app)).toMatch(closed);
      const sent = 'x'.repeat(300_000);
      expect((await request(createServer(app)).post('/').type('text').send(sent).expect(200)).text).toBe('300000');
    });

    it('but does not time a body that waits for its turn', async () => {
      let turns = 0;
      const turn = async () => {
        turns++;
        await new Promise((resolve) => setTimeout(resolve, 10 * pace.graceMs));
      };
      const late = dribble('Content-Length: 100000', 'x', { pace, large: { above: 10, turn } });
      expect(await late).toMatch(closed);
      expect(turns).toBe(1);
    });
  });

  it('returns a body that was collected in one buffer', async () => {
    const app = createApp();
    app.use(async (req, res) => void res.send(await readBody(req, { limit: 1_000_000 })));
    const sent = randomBytes(700_001);
    const { body } = await request(createServer(app)).post('/').type('application/octet-stream').send(sent).expect(200);
    expect(body.equals(sent)).toBe(true);
  });

  it('reports a client that leaves in the middle', async () => {
    let outcome: unknown;
    const finished = new Promise<void>((resolve) => {
      const server = echo((report) => {
        outcome = report;
        server.close();
        resolve();
      });
      void listenOn(server, { host: '127.0.0.1', port: 0 }).then((port) => {
        const socket = net.connect(port, '127.0.0.1', () => {
          socket.write('POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 100\r\n\r\nhalf');
          setTimeout(() => socket.destroy(), 20);
        });
      });
    });
    await finished;
    expect(outcome).toBeInstanceOf(BodyAborted);
  });
});
