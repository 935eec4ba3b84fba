import type { IncomingMessage } from 'node:http';

/** The name of the header in lower case. */
const proxySecretHeader = 'x-keystead-proxy-secret';

const sent = Symbol('secret of a proxy');

interface WithSecret extends IncomingMessage {
  [sent]?: string;
}

/** Removes the secret of a proxy from the headers, so that no code can show it or pass it on. */
export function takeProxySecret(req: WithSecret): void {
  const secret = req.headers[proxySecretHeader];
  if (secret === undefined) return;
  req[sent] = String(secret);
  delete req.headers[proxySecretHeader];
  delete req.headersDistinct[proxySecretHeader];
  // The values are blanked, not removed, because Node relies on the number of entries.
  const { rawHeaders } = req;
  for (let at = 0; at < rawHeaders.length; at += 2) {
    if (rawHeaders[at]?.toLowerCase() === proxySecretHeader) rawHeaders[at + 1] = '';
  }
}

/** The secret of a proxy that came with a request. */
export const proxySecretOf = (req: WithSecret): string | undefined => req[sent];
