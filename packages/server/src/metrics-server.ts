import http from 'node:http';
import https from 'node:https';
import type { Registry } from 'prom-client';
import type { Listen } from './listen';

/** A server that shows a registry at `/metrics` and nothing else. */
export function createMetricsServer(registry: Registry, tls: Listen['tls']): http.Server {
  const show = async (req: http.IncomingMessage, res: http.ServerResponse) => {
    if ((req.method !== 'GET' && req.method !== 'HEAD') || req.url?.split('?')[0] !== '/metrics') {
      res.writeHead(404).end();
      return;
    }
    const text = await registry.metrics();
    res.writeHead(200, { 'Content-Type': registry.contentType, 'Content-Length': Buffer.byteLength(text) });
    res.end(req.method === 'HEAD' ? undefined : text);
  };
  const answer: http.RequestListener = (req, res) => {
    show(req, res).catch(() => res.headersSent || res.writeHead(500).end());
  };
  return tls === undefined ? http.createServer(answer) : https.createServer({ ...tls, minVersion: 'TLSv1.2' }, answer);
}
