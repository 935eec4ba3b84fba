import type { ServerResponse } from 'node:http';
import { pipeline } from 'node:stream/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { type ErrorObject, errorObjects, StepUpRequired, statusOf } from '@keystead/jsonapi';
import { isConnectionLoss } from '@keystead/postgres';
import { Refusal } from '@keystead/refusal';
import { BodyAborted, BodyLate, BodyTooLarge, GateFull } from '@keystead/server';
import type { Dialect } from '../kernel/endpoints/dialect';
import type { Raw } from '../kernel/endpoints/endpoint';
import { plainTypeOf, typeAsAccepted } from '../kernel/endpoints/plain-types';
import type { RateVerdict } from '../kernel/endpoints/rate-limit';
import type { EndpointResponse } from '../kernel/endpoints/run-endpoint';

/** The API version that the service reports. */
const API_VERSION = '2.6';
/** The releases whose interface it has, in their older and newer numbering. */
const RELEASE = 'v202404-2';
const NUMBERED_RELEASE = '2.0.1';
const JSON_API = 'application/vnd.api+json; charset=utf-8';

/** Headers that depend on the settings of the service. They are computed once. */
export function fixedHeaders(edition: string, aliases: boolean): readonly string[] {
  const headers = ['X-API-Version', API_VERSION, 'X-App-Name', edition === 'hosted' ? 'Keystead Cloud' : 'Keystead'];
  if (aliases) {
    // Existing clients choose their features by these names.
    headers.push('TFP-API-Version', API_VERSION);
    headers.push('TFP-AppName', edition === 'hosted' ? 'HCP Terraform' : 'Terraform Enterprise');
    if (edition === 'self-hosted') {
      headers.push('X-TFE-Version', RELEASE, 'X-TFE-Current-Version', NUMBERED_RELEASE);
    }
  }
  headers.push('Cache-Control', 'no-store', 'X-Content-Type-Options', 'nosniff');
  return headers;
}

/** The headers of every response: fixed ones, request id, rate limit. */
export function commonHeaders(fixed: readonly string[], requestId: string, rate: RateVerdict): string[] {
  return [
    ...fixed,
    'X-Request-Id',
    requestId,
    'X-RateLimit-Limit',
    String(rate.limit),
    'X-RateLimit-Remaining',
    String(rate.remaining),
    'X-RateLimit-Reset',
    rate.limit === 0 ? '0.0' : rate.resetSeconds.toFixed(3),
  ];
}

/** Writes an answer. */
export async function sendAnswer(res: ServerResponse, answer: EndpointResponse, headers: string[]): Promise<void> {
  if (answer.raw !== undefined) return sendRaw(res, answer.raw, headers);
  if (answer.body === undefined) {
    res.writeHead(answer.status, headers);
    res.end();
    return;
  }
  if (answer.etag !== undefined) {
    headers.push('ETag', answer.etag);
  }
  sendText(res, answer.status, JSON_API, answer.body, headers);
}

/** Enough for a client to have read the headers separately. */
const apartMs = 2;
/** The maximum that a client reads together with the headers: the Go client reads 4 KB in total. */
const alongBytes = 2048;

/** The errors of a stream whose client disconnected before or while it was sent. */
const clientLeft: ReadonlySet<string> = new Set(['ERR_STREAM_PREMATURE_CLOSE', 'ERR_STREAM_UNABLE_TO_PIPE']);

async function sendRaw(res: ServerResponse, raw: Raw, headers: string[]): Promise<void> {
  for (const [name, value] of Object.entries(raw.headers)) {
    if (name !== 'Content-Type' || plainTypeOf(value) === undefined) headers.push(name, value);
    else headers.push(name, typeAsAccepted(value, res.req.headers.accept), 'Vary', 'Accept');
  }
  if (raw.body === undefined || typeof raw.body === 'string' || Buffer.isBuffer(raw.body)) {
    if (raw.status !== 204 && raw.status !== 304) {
      headers.push('Content-Length', String(Buffer.byteLength(raw.body ?? '')));
    }
    res.writeHead(raw.status, headers);
    if (raw.headersFirst && Buffer.byteLength(raw.body ?? '') > alongBytes) {
      res.flushHeaders();
      await sleep(apartMs);
    }
    res.end(raw.body);
    return;
  }
  res.writeHead(raw.status, headers);
  if (res.req.method === 'HEAD') {
    const { body } = raw;
    if ('destroy' in body && typeof body.destroy === 'function') body.destroy();
    res.end();
    return;
  }
  try {
    await pipeline(raw.body, res);
  } catch (error) {
    if (!clientLeft.has((error as NodeJS.ErrnoException).code ?? '')) throw error;
  }
}

function sendText(res: ServerResponse, status: number, type: string, text: string | Buffer, headers: string[]): void {
  const length = typeof text === 'string' ? Buffer.byteLength(text) : text.length;
  headers.push('Content-Type', type, 'Content-Length', String(length));
  res.writeHead(status, headers);
  res.end(text);
}

/** Redirects a caller to a node that can write. 307 keeps the method and the body. */
export function sendToPrimary(res: ServerResponse, address: string, headers: string[]): void {
  res.writeHead(307, [...headers, 'Location', address, 'Content-Length', '0']).end();
}

/** The refusal behind an error; undefined for a fault. */
export function asRefusal(error: unknown): Refusal | undefined {
  if (error instanceof Refusal) return error;
  if (error instanceof BodyTooLarge) return new Refusal('too-large', error.message);
  if (error instanceof GateFull) return new Refusal('unavailable', error.message);
  if (error instanceof BodyLate) return new Refusal('late', error.message);
  if (error instanceof BodyAborted) return new Refusal('malformed', error.message);
  if (isConnectionLoss(error)) return new Refusal('unavailable', 'storage is unavailable', [], { cause: error });
  return undefined;
}

/** Writes the error document of a refusal, or of a fault if there is none, in the dialect of the path. */
export function sendRefusal(
  res: ServerResponse,
  refusal: Refusal | undefined,
  headers: string[],
  options: Parameters<typeof errorObjects>[1] & { dialect?: Dialect } = {},
): void {
  const spoken = options.dialect?.refusal(refusal);
  const fault: ErrorObject[] = [{ status: '500', title: 'internal server error' }];
  const errors = refusal === undefined ? fault : errorObjects(refusal, options);
  const status = spoken?.status ?? (refusal === undefined ? 500 : statusOf(refusal.kind));
  if (status === 503) {
    headers.push('Retry-After', '1');
  }
  if (refusal instanceof StepUpRequired) {
    headers.push('X-Keystead-Step-Up', 'required');
  }
  const type = options.dialect?.mediaTypes[0] ?? JSON_API;
  sendText(res, status, type, spoken?.text ?? JSON.stringify({ errors }), headers);
}

/** The response to a request over the rate limit. Its status is a number, as clients expect. */
export function sendLimited(res: ServerResponse, headers: string[], dialect?: Dialect): void {
  const detail = "You have exceeded the API's rate limit.";
  if (dialect !== undefined) {
    sendRefusal(res, new Refusal('limited', detail), headers, { dialect });
    return;
  }
  const error = { detail, status: 429, title: 'Too many requests' };
  sendText(res, 429, JSON_API, JSON.stringify({ errors: [error] }), headers);
}
