import http from 'node:http';
import https from 'node:https';
import type { Listen } from '@keystead/settings';

/** The metrics to serve: a registry, or the metrics of several processes. */
export interface ShownMetrics {
  readonly contentType: string;
  metrics(): Promise<string>;
}

/** A server for `/metrics` only. */
export function createMetricsServer(source: ShownMetrics, tls: Listen['tls']): http.Server {
  const show = async (req: http.IncomingMessage, res: http.ServerResponse) => {
    if ((req.method !== 'GET' && req.method !== 'HEAD') || req.url?.split('?')[0] !== '/metrics') {
      res.writeHead(404).end();
      return;
    }
    const text = await source.metrics();
    res.writeHead(200, { 'Content-Type': source.contentType, 'Content-Length': Buffer.byteLength(text) });
    res.end(req.method === 'HEAD' ? undefined : text);
  };
  const answer: http.RequestListener = (req, res) => {
    show(req, res).catch(() => res.headersSent || res.writeHead(500).end());
  };
  return tls === undefined ? http.createServer(answer) : https.createServer({ ...tls, minVersion: 'TLSv1.2' }, answer);
}
