import type { IncomingMessage } from 'node:http';
import type { Logger } from 'pino';
import { requestId } from './request-id';

/** Writes the line of one answered request. */
export type RequestLog = (req: IncomingMessage, status: number, ms: number, completed: boolean) => void;

/**
 * Prepares the one line that every request leaves in the log: method, path, status, milliseconds and request id.
 *
 * Query strings, headers and bodies never appear, because they can carry secrets. A request whose client left before
 * the answer was complete has `aborted: true`.
 */
export function requestLog(log: Logger): RequestLog {
  // Nothing in these lines can be secret, so they do not pay for the redaction of others.
  const lines = log.child({}, { redact: [] });
  return (req, status, ms, completed) => {
    const line = {
      method: req.method,
      path: pathOf(req),
      status,
      ms: Math.round(ms * 1000) / 1000,
      requestId: requestId(req),
      aborted: completed ? undefined : true,
    };
    lines.info(line, 'request');
  };
}

// Express rewrites `url` below a mounted router and keeps what was sent in `originalUrl`.
function pathOf(req: IncomingMessage & { originalUrl?: string }): string {
  const url = req.originalUrl ?? req.url ?? '';
  const query = url.indexOf('?');
  const path = query < 0 ? url : url.slice(0, query);
  return path.length > 2048 ? `${path.slice(0, 2048)}…` : path;
}
