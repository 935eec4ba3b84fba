import http from 'node:http';
import https from 'node:https';
import { during, type TraceSpan } from '@keystead/tracing';
import { LRUCache } from 'lru-cache';
import { Circuit, Unreachable } from './circuit';
import { type Reach, type Resolve, usualReach } from './reach';

const answerLimitBytes = 4 * 1024 * 1024;

/** A request to an outside system. */
export interface OutsideRequest {
  readonly method?: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  readonly headers?: Readonly<Record<string, string>>;
  /** Sent as a form. */
  readonly form?: URLSearchParams;
  /** Sent as JSON. */
  readonly json?: unknown;
  /** Sent unchanged. */
  readonly bytes?: { readonly type: string; readonly content: Buffer };
  /** Certificates (PEM) to trust instead of the usual ones. */
  readonly ca?: string;
  /**
   * Which addresses may be called; default `usualReach`. For a host name, the addresses to which it resolves are
   * checked when the connection is made.
   */
  readonly reach?: Reach;
  /** With `reach`: resolves the host, in place of the system's resolver. */
  readonly resolve?: Resolve;
  /** With `reach`: accepts any certificate, because the answer itself proves who sent it. */
  readonly anyCertificate?: boolean;
  /** The largest answer; default 4 MiB. */
  readonly mostBytes?: number;
}

/** An answer from an outside system: its status and its body, parsed if it is JSON. */
export interface OutsideResponse {
  readonly status: number;
  readonly json: unknown;
  readonly bytes: Buffer;
  readonly retryAfterSeconds: number;
  /** The `Location` header. */
  readonly location?: string;
}

/**
 * One HTTP call to an outside system, with limits on time and size; redirects are not followed. Throws `upstream`
 * naming `who` if there is no usable answer; every status is an answer.
 */
export function outsideCall(
  who: string,
  url: string,
  request: OutsideRequest = {},
  timeoutMs = 10_000,
): Promise<OutsideResponse> {
  return during('outside', who, undefined, (span) => call(who, url, withTrace(request, span), timeoutMs));
}

/** Adds the headers that let the called system join the trace of the call. */
function withTrace(request: OutsideRequest, span: TraceSpan | undefined): OutsideRequest {
  return span ? { ...request, headers: { ...request.headers, traceparent: span.traceparent } } : request;
}

async function call(who: string, url: string, request: OutsideRequest, timeoutMs: number): Promise<OutsideResponse> {
  const end = AbortSignal.timeout(timeoutMs);
  try {
    return await send(url, request, end).catch((error: NodeJS.ErrnoException & { reused?: boolean }) => {
      // The system may have closed a kept-alive connection just before it received the request.
      if (error.reused && error.code === 'ECONNRESET') return send(url, request, end);
      throw error;
    });
  } catch (error) {
    const failed = error as NodeJS.ErrnoException;
    const reason = end.aborted ? 'no answer in time' : (failed.code ?? failed.message);
    throw new Unreachable(`${who} is unreachable: ${reason}`, error);
  }
}

/** Makes calls to outside systems. A host that does not answer several calls in a row is not called for a while. */
export class OutsideCalls {
  private readonly circuits = new LRUCache<string, Circuit>({ max: 500 });

  constructor(private readonly clock: { now(): number }) {}

  /** Makes a call as `outsideCall` does. */
  call(who: string, url: string, request: OutsideRequest = {}, timeoutMs = 10_000): Promise<OutsideResponse> {
    const { origin } = new URL(url);
    let circuit = this.circuits.get(origin);
    if (!circuit) {
      circuit = new Circuit(`${who} at ${origin}`, this.clock);
      this.circuits.set(origin, circuit);
    }
    return circuit.run(
      (span) => call(who, url, withTrace(request, span), timeoutMs),
      (error) => (error as Error).message.split(' is unreachable: ').at(-1),
    );
  }
}

/** Also accepts other media types, because some servers refuse to send a key set as plain JSON. */
const preferred = 'application/json, */*;q=0.5';

function send(
  url: string,
  {
    method,
    headers = {},
    form,
    json,
    bytes,
    ca,
    reach,
    resolve,
    anyCertificate,
    mostBytes = answerLimitBytes,
  }: OutsideRequest,
  signal: AbortSignal,
) {
  const target = new URL(url);
  const text = json === undefined ? form?.toString() : JSON.stringify(json);
  const body = bytes?.content ?? text;
  const type = bytes?.type ?? (json === undefined ? 'application/x-www-form-urlencoded' : 'application/json');
  const typed = body === undefined ? headers : { ...headers, 'content-type': type };
  const options = {
    method,
    headers: { accept: preferred, ...typed },
    signal,
    ...(reach ?? usualReach).toward(target.hostname, resolve),
  };
  // A connection that was opened under other rules is not reused.
  const guarded = reach ? { ...options, agent: false as const } : options;
  return new Promise<OutsideResponse>((resolve, reject) => {
    const receive = (answer: http.IncomingMessage) => {
      const chunks: Buffer[] = [];
      let size = 0;
      answer.on('data', (chunk: Buffer) => {
        size += chunk.length;
        if (size > mostBytes) call.destroy(new Error('the answer is too large'));
        else chunks.push(chunk);
      });
      answer.on('error', reject);
      answer.on('end', () => {
        // The last piece may arrive together with the end.
        if (size > mostBytes) return reject(new Error('the answer is too large'));
        const body = Buffer.concat(chunks);
        resolve({
          status: answer.statusCode ?? 0,
          json: parse(body.toString('utf8')),
          bytes: body,
          retryAfterSeconds: Number(answer.headers['retry-after']) || 0,
          location: answer.headers.location,
        });
      });
    };
    const call =
      target.protocol === 'https:'
        ? https.request(target, { ...guarded, ...(ca ? { ca } : {}), rejectUnauthorized: !anyCertificate }, receive)
        : http.request(target, guarded, receive);
    call.on('error', (error) => reject(Object.assign(error, { reused: call.reusedSocket })));
    call.end(body);
  });
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
