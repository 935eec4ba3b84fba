import http from 'node:http';
import type { AddressInfo } from 'node:net';
import { createApp, createLogger, serve } from '@keystead/server';
import express from 'express';

const answer = { request_id: '00000000-0000-0000-0000-000000000000', data: { value: 'a small answer' } };
const text = JSON.stringify(answer);
const headers = { 'Content-Type': 'application/json', 'Content-Length': Buffer.byteLength(text) };
const longer = new Map<string, string>();

const write = (req: http.IncomingMessage, res: http.ServerResponse) => {
  if (req.url === '/') {
    res.writeHead(200, headers);
    res.end(text);
  } else writeBytes(req.url as string, res);
};

/** Answers `/12345` with 12345 bytes. */
function writeBytes(url: string, res: http.ServerResponse): void {
  let body = longer.get(url);
  if (body === undefined) {
    body = JSON.stringify('x'.repeat(Number(url.slice(1)) - 2));
    longer.set(url, body);
  }
  res.writeHead(200, { 'Content-Type': 'application/json', 'Content-Length': body.length });
  res.end(body);
}

/**
 * Three servers with the same small answer: bare `node:http` (the ceiling), plain Express, and our server with its log
 * lines.
 */
async function start(kind: string): Promise<number> {
  if (kind === 'keystead') {
    const app = createApp();
    app.get('/', write);
    const log = createLogger({ name: 'bench', level: 'info' });
    const ready = async () => ({ ready: true, reasons: [] });
    return (await serve({ app, log, ready, listen: { host: '127.0.0.1', port: 0 } })).port;
  }
  const app = express();
  app.get('/', (_req, res) => void res.json(answer));
  const server = http.createServer(kind === 'bare' ? write : app);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return (server.address() as AddressInfo).port;
}

void start(process.argv[2] as string).then((port) => console.log(`ready http://127.0.0.1:${port}`));
