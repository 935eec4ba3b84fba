import { randomUUID } from 'node:crypto';
import type { IncomingMessage } from 'node:http';

const wellFormed = /^[A-Za-z0-9][A-Za-z0-9._:-]{7,127}$/;
const ids = Symbol('request id');

/** The id of a request: the same at every call, and in log lines, audit lines and answers. Always generated here. */
export function requestId(req: IncomingMessage & { [ids]?: string }): string {
  const existing = req[ids];
  if (existing !== undefined) return existing;
  const id = randomUUID();
  req[ids] = id;
  return id;
}

/**
 * The caller's `X-Request-Id`, 8 to 128 harmless characters, so that a request can be followed through several systems.
 * It is recorded next to ours and never replaces it: any caller may send another request's id.
 */
export function sentRequestId(req: IncomingMessage): string | undefined {
  const sent = req.headers['x-request-id'];
  return typeof sent === 'string' && wellFormed.test(sent) ? sent : undefined;
}
