import { once } from 'node:events';
import { createServer, get } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Readable } from 'node:stream';
import { expect, it } from '@jest/globals';
import { sendAnswer } from './messages';

it('a client that disconnects is not a fault', async () => {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const request = get(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
  request.on('error', () => {});
  const [, res] = await once(server, 'request');
  request.destroy();
  await once(res, 'close');
  const body = Readable.from(['a', 'b']);
  const raw = { status: 200, headers: { 'Content-Type': 'text/plain' }, body };
  await expect(sendAnswer(res, { status: 200, raw }, [])).resolves.toBeUndefined();
  server.close();
});
