import { randomUUID } from 'node:crypto';
import type { IncomingMessage } from 'node:http';

const wellFormed = /^[A-Za-z0-9][A-Za-z0-9._:-]{7,127}$/;
const ids = Symbol('request id');

/**
 * The id of a request: the same at every call, in the log line and wherever an app shows it.
 *
 * An inbound `X-Request-Id` of 8 to 128 harmless characters is kept, so that callers can follow a request through
 * several systems; otherwise it is a random UUID.
 */
export function requestId(req: IncomingMessage & { [ids]?: string }): string {
  const known = req[ids];
  if (known !== undefined) return known;
  const sent = req.headers['x-request-id'];
  const id = typeof sent === 'string' && wellFormed.test(sent) ? sent : randomUUID();
  req[ids] = id;
  return id;
}
