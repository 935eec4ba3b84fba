import type { IncomingMessage } from 'node:http';

/** In lower case. */
const proxySecretHeader = 'x-keystead-proxy-secret';

const sent = Symbol('secret of a proxy');

interface WithSecret extends IncomingMessage {
  [sent]?: string;
}

/** Takes the secret of a proxy out of the headers, so that nothing that reads headers can show or pass it on. */
export function takeProxySecret(req: WithSecret): void {
  const secret = req.headers[proxySecretHeader];
  if (secret === undefined) return;
  req[sent] = String(secret);
  delete req.headers[proxySecretHeader];
  delete req.headersDistinct[proxySecretHeader];
  // Node counts on their number.
  const { rawHeaders } = req;
  for (let at = 0; at < rawHeaders.length; at += 2) {
    if (rawHeaders[at]?.toLowerCase() === proxySecretHeader) rawHeaders[at + 1] = '';
  }
}

/** The secret of a proxy that came with a request. */
export const proxySecretOf = (req: WithSecret): string | undefined => req[sent];
