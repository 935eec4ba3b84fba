import type { ServerResponse } from 'node:http';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { envelope, errorBody, injected, tellingErrorBody } from '@keystead/envelope';
import type { Refusal } from '@keystead/refusal';
import { requestId } from '@keystead/server';
import { Misguided } from '../pipeline/authorize';
import type { Outcome } from '../pipeline/request';
import { statusOf } from '../pipeline/status';
import type { LongBody } from '../sdk/reply';

const fixedHeaders = [
  'Cache-Control',
  'no-store',
  'Content-Type',
  'application/json',
  'Strict-Transport-Security',
  'max-age=31536000; includeSubDomains',
];

/** Writes a response. `extra` contains headers in addition to the fixed ones, as a flat list of names and values. */
export function send(res: ServerResponse, status: number, body: string | Uint8Array, extra?: readonly string[]): void {
  const headers = extra === undefined ? fixedHeaders : withExtra(extra);
  if (status === 204 || status === 304 || (body === '' && res.req.method === 'HEAD')) {
    res.writeHead(status, headers);
    res.end();
    return;
  }
  res.writeHead(status, [...headers, 'Content-Length', String(Buffer.byteLength(body))]);
  res.end(res.req.method === 'HEAD' ? undefined : body);
}

// A header given explicitly replaces the fixed one of its name.
function withExtra(extra: readonly string[]): string[] {
  const names = new Set(extra.filter((_item, i) => i % 2 === 0).map((name) => name.toLowerCase()));
  const otherHeaders = fixedHeaders.filter((_item, i) => !names.has(fixedHeaders[i - (i % 2)]!.toLowerCase()));
  return [...otherHeaders, ...extra];
}

/** Writes the outcome of a request. Returns a promise if this takes long. */
export function sendOutcome(
  res: ServerResponse,
  outcome: Outcome,
  extra: readonly string[] | undefined,
): Promise<void> | undefined {
  const additions = outcome.headers || outcome.contentType ? headersOf(outcome, extra) : extra;
  if (outcome.long) return sendLong(res, outcome.status, additions, outcome.long);
  if (outcome.stream && res.req.method !== 'HEAD') sendStream(res, outcome.status, additions, outcome.stream);
  else send(res, outcome.status, bodyOf(outcome), additions);
  return undefined;
}

/** Reads the next part when the client has received the last. */
async function sendLong(
  res: ServerResponse,
  status: number,
  headers: readonly string[] | undefined,
  { bytes, parts }: LongBody,
): Promise<void> {
  res.writeHead(status, [...(headers ? withExtra(headers) : fixedHeaders), 'Content-Length', String(bytes)]);
  if (res.req.method === 'HEAD') res.end();
  else await pipeline(Readable.from(parts()), res);
}

function sendStream(
  res: ServerResponse,
  status: number,
  headers: readonly string[] | undefined,
  begin: NonNullable<Outcome['stream']>,
): void {
  res.writeHead(status, headers === undefined ? fixedHeaders : withExtra(headers));
  res.flushHeaders();
  const leave = begin({
    write: (text) => void res.write(text),
    end: () => void res.end(),
    get unread() {
      return res.writableLength;
    },
  });
  res.once('close', leave);
}

/** The body of an outcome; empty if it has none. */
function bodyOf(outcome: Outcome): string | Uint8Array {
  if (outcome.envelope) return outcome.injected ? injected(outcome.envelope) : envelope(outcome.envelope);
  if (outcome.stored !== undefined) return outcome.stored;
  if (outcome.bare === undefined) return '';
  if (typeof outcome.bare === 'string' || outcome.bare instanceof Uint8Array) return outcome.bare;
  return `${JSON.stringify(outcome.bare)}\n`;
}

function headersOf(outcome: Outcome, extra: readonly string[] | undefined): string[] {
  const headers = [...(extra ?? [])];
  for (const [name, value] of Object.entries(outcome.headers ?? {})) headers.push(name, value);
  if (outcome.contentType) headers.push('Content-Type', outcome.contentType);
  return headers;
}

/** Writes a refusal: its status and its message, if it has one. If a retry may help, a header says when. */
export function sendRefusal(res: ServerResponse, refusal: Refusal, extra?: readonly string[]): void {
  const headers = refusal.kind === 'unavailable' ? ['Retry-After', '1', ...(extra ?? [])] : extra;
  const messages = refusal.message === '' ? [] : [refusal.message];
  const body =
    refusal instanceof Misguided
      ? tellingErrorBody(messages, { requestId: requestId(res.req), warnings: [refusal.warning] })
      : errorBody(messages);
  send(res, statusOf[refusal.kind], body, headers);
}
