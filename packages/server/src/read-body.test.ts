import net from 'node:net';
import { describe, expect, it } from '@jest/globals';
import request from 'supertest';
import { createApp } from './app';
import { createServer } from './create-server';
import { listenOn } from './listen';
import { BodyAborted, BodyTooLarge, readBody } from './read-body';

function echo(seen: (outcome: unknown) => void = () => undefined) {
  const app = createApp();
  app.use(async (req, res) => {
    try {
      const body = await readBody(req, { limit: 1000 });
      seen(body);
      res.send(body);
    } catch (error) {
      seen(error);
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

  it('reports a client that leaves in the middle', async () => {
    let outcome: unknown;
    const done = new Promise<void>((resolve) => {
      const server = echo((seen) => {
        outcome = seen;
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
    await done;
    expect(outcome).toBeInstanceOf(BodyAborted);
  });
});
