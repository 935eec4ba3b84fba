import http from 'node:http';
import { type LoopTurns, noTurn, type Turn, weightOf } from './turns';

/** Who sends a request. */
export type Sender = 'stranger' | 'caller';

/** One request to a service. */
export interface Case {
  readonly sender: Sender;
  /** `POST /sys/mounts/{path}` */
  readonly operation: string;
  readonly kind: string;
  readonly method: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  body?(): string;
}

/** The outcome. */
export interface Outcome extends Omit<Case, 'body'> {
  /** 0 if the connection ended without an answer. */
  readonly status: number;
  /**
   * The longest turn of the event loop during the request. If it was too long, the request was repeated, and this is
   * the shortest of these longest turns.
   */
  readonly turn: Turn;
  readonly bytes: number;
  readonly auditBytes: number;
}

/** A request with its body. */
type Sent = Pick<Case, 'method' | 'path' | 'headers'> & { readonly body?: string };

/** The service that is measured. */
export interface Target {
  readonly url: string;
  readonly turns: LoopTurns;
  /** Bytes in its audit log; 0 if it has none. */
  auditBytes(): number;
}

/** The maximum time in ms that a request may block the event loop. */
export const limits: Readonly<Record<Sender, number>> = { stranger: 50, caller: 250 };
const tries = 3;
const patienceMs = 120_000;

/**
 * Sends a request, and repeats it if it took too long, because the time may include the garbage collection after
 * earlier requests.
 */
export async function runCase(target: Target, one: Case): Promise<Outcome> {
  const { body: make, ...rest } = one;
  const request = { ...rest, body: make?.() };
  const bytes = bytesOf(request);
  const before = target.auditBytes();
  let { status, turn } = await attempt(target, request);
  const auditBytes = target.auditBytes() - before;
  for (let tried = 1; tried < tries && weightOf(turn) > limits[one.sender]; tried++) {
    const again = await attempt(target, request);
    if (weightOf(again.turn) < weightOf(turn)) turn = again.turn;
    status ||= again.status;
  }
  return { ...rest, status, turn, bytes, auditBytes };
}

async function attempt(target: Target, one: Sent): Promise<{ status: number; turn: Turn }> {
  await settled(target);
  target.turns.longest();
  const status = await send(target.url, one);
  await settled(target);
  const turn = target.turns.longest();
  return { status, turn: turn === undefined ? noTurn : turn };
}

/**
 * Waits until the turn that answered has been recorded: this is certain after another request was answered in a later
 * turn.
 */
async function settled({ url }: Target): Promise<void> {
  for (let i = 0; i < 2; i++) {
    const status = await send(url, { method: 'GET', path: '/readyz', headers: {} });
    if (status === 0) throw new Error('the service no longer responds');
  }
}

function bytesOf({ path, headers, body = '' }: Sent): number {
  return path.length + JSON.stringify(headers).length + Buffer.byteLength(body);
}

const agent = new http.Agent({ keepAlive: false });

/** Sends a request and resolves with the status once the answer was read; with 0 if there was none. */
function send(url: string, one: Sent): Promise<number> {
  return new Promise((resolve) => {
    let status = 0;
    const done = () => resolve(status);
    const length = one.body === undefined ? {} : { 'Content-Length': String(Buffer.byteLength(one.body)) };
    const request = http.request(`${url}${one.path}`, {
      agent,
      method: one.method,
      headers: { ...one.headers, ...length },
      timeout: patienceMs,
    });
    request.on('response', (response) => {
      status = response.statusCode!;
      response.on('end', done).on('error', done).on('close', done).resume();
    });
    // A request that is refused before it was read ends with a reset, after its answer.
    request.on('error', done).on('timeout', () => request.destroy());
    request.end(one.body);
  });
}
