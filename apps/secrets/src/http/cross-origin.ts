import type { IncomingMessage, ServerResponse } from 'node:http';
import { errorBody } from '@keystead/envelope';
import { send } from './response';

/** The web pages that may call the service; stored in the database, and changed by an operator. */
export interface OriginRules {
  readonly current: {
    readonly enabled: boolean;
    readonly allowedOrigins: readonly string[];
    readonly allowedHeaders: readonly string[];
  };
}

const methods = 'DELETE, GET, OPTIONS, POST, PUT, LIST, PATCH';

/** Adds the headers that browsers ask for. If the request is a preflight, answers it and returns true. */
export function crossOrigin(rules: OriginRules, req: IncomingMessage, res: ServerResponse): boolean {
  const { enabled, allowedOrigins, allowedHeaders } = rules.current;
  if (!enabled) return false;
  const origin = req.headers.origin!;
  const preflight = req.method === 'OPTIONS';
  if (!allowedOrigins.includes('*') && !allowedOrigins.includes(origin)) {
    if (!preflight) return false;
    send(res, 403, errorBody(['origin not allowed']));
    return true;
  }
  res.setHeader('Access-Control-Allow-Origin', origin);
  res.setHeader('Vary', 'Origin');
  if (!preflight) return false;
  res.setHeader('Access-Control-Allow-Methods', methods);
  res.setHeader('Access-Control-Allow-Headers', allowedHeaders.join(','));
  res.setHeader('Access-Control-Max-Age', '300');
  send(res, 204, '');
  return true;
}
