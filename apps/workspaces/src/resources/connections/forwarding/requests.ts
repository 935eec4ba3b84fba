import { setTimeout as sleep } from 'node:timers/promises';
import type { Keyring } from '@keystead/keyring';
import { type OutsideRequest, type OutsideResponse, Unreachable } from '@keystead/outside';
import type { Database } from '../../../kernel/database/database';
import { newId } from '../../../kernel/database/ids';
import { tellOfWork } from '../../../kernel/database/notices';
import { workerSilenceSeconds } from '../../../kernel/installation/infra-versions';

/** A request for an agent to send to a Git host; only the agent may read it. */
export interface HostRequest {
  readonly method: string;
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  /** Null if there is no body. */
  readonly body: { readonly type: string; readonly text: string } | null;
  readonly timeoutMs: number;
}

/** A request as an agent receives it. */
export interface GivenRequest extends HostRequest {
  readonly id: string;
}

/** The response of a host, as an agent sends it. */
export interface HostAnswer {
  readonly status: number;
  readonly retryAfterSeconds: number;
  readonly bytes: Buffer;
}

interface Deps {
  readonly db: Database;
  readonly keyring: Keyring;
}

/** The time for an agent to take a request and send the response, in addition to the time that the host takes. */
const graceMs = 10_000;
const longestPauseMs = 250;
/** How many requests of a pool may wait, and how large one may be. */
const mostWaiting = 200;
const largestRequest = 1024 * 1024;
/** The maximum size of a response in bytes. It is the same as for hosts that this service calls itself. */
export const largestAnswer = 4 * 1024 * 1024;

const cellOf = (row: string, column: 'request' | 'answer') => ({ table: 'forwarded_request', row, column });

/** SQL: agents that forward requests and sent a recent heartbeat, as k. */
export const forwarders = `run_worker k WHERE k.forwards AND k.ended_at IS NULL AND k.token_id IS NOT NULL
  AND k.seen_at > now() - interval '${workerSilenceSeconds} seconds'`;

/** The given pools that have an agent which forwards requests. */
export async function poolsThatForward(db: Database, poolIds: readonly string[]): Promise<ReadonlySet<string>> {
  if (poolIds.length === 0) return new Set();
  const rows = await db.prisma.$queryRawUnsafe<{ id: string }[]>(
    `SELECT DISTINCT k.agent_pool_id AS id FROM ${forwarders} AND k.agent_pool_id = ANY($1)`,
    [...new Set(poolIds)],
  );
  return new Set(rows.map(({ id }) => id));
}

/** The message when no agent can carry a request. */
export const noForwarder = 'no agent of the connection’s pool that forwards requests is connected';

/**
 * Sends a request through an agent of a pool, and waits for the response. Only one agent gets each request. Throws
 * `upstream` if there is no agent, if no agent answers in time, or if the host does not answer. In the latter two
 * cases, the host may have received the request. Call it outside any transaction.
 */
export async function forward(
  { db, keyring }: Deps,
  agentPoolId: string,
  url: string,
  { method = 'GET', headers = {}, json, form }: OutsideRequest,
  timeoutMs: number,
): Promise<OutsideResponse> {
  if (!(await poolsThatForward(db, [agentPoolId])).has(agentPoolId)) throw new Unreachable(noForwarder);
  const body =
    json !== undefined
      ? { type: 'application/json', text: JSON.stringify(json) }
      : form && { type: 'application/x-www-form-urlencoded', text: form.toString() };
  const request: HostRequest = { method, url, headers, body: body ?? null, timeoutMs };
  const id = newId('freq');
  const plain = Buffer.from(JSON.stringify(request), 'utf8');
  if (plain.length > largestRequest) throw new Unreachable('the request is too large for an agent');
  const sealed = new Uint8Array(keyring.seal(plain, cellOf(id, 'request')));
  const inserted = await db.prisma.$executeRaw`
    INSERT INTO forwarded_request (id, agent_pool_id, request, ends_at)
    SELECT ${id}, p.id, ${sealed}, now() + make_interval(secs => ${(timeoutMs + graceMs) / 1000})
      FROM agent_pool p WHERE p.id = ${agentPoolId}
       AND (SELECT count(*) FROM forwarded_request f WHERE f.agent_pool_id = p.id AND f.ends_at > now()) < ${mostWaiting}`;
  if (inserted === 0) throw new Unreachable('too many requests wait for agents of the connection’s pool');
  await tellOfWork(db);
  try {
    return await answerTo({ db, keyring }, id);
  } finally {
    await db.prisma.forwardedRequest.deleteMany({ where: { id } });
  }
}

async function answerTo({ db, keyring }: Deps, id: string): Promise<OutsideResponse> {
  for (let pauseMs = 20; ; pauseMs = Math.min(pauseMs * 1.5, longestPauseMs)) {
    await sleep(pauseMs);
    const [row] = await db.prisma.$queryRaw<
      { worker_id: string | null; answer: Uint8Array | null; failure: string | null; is_over: boolean }[]
    >`SELECT worker_id, answer, failure, ends_at <= now() AS is_over FROM forwarded_request WHERE id = ${id}`;
    if (!row) throw new Unreachable('the agent pool of the connection was removed');
    if (row.failure !== null) throw new Unreachable(`the Git host is unreachable for the agent: ${row.failure}`);
    if (row.answer !== null) return read(keyring.open(row.answer, cellOf(id, 'answer')));
    if (!row.is_over) continue;
    throw new Unreachable(
      row.worker_id === null
        ? 'no agent of the connection’s pool took the request in time'
        : 'the agent that took the request did not answer in time',
    );
  }
}

/** The length of the head of a stored response: status and retry delay. The bytes of the body follow. */
const headBytes = 8;

function read(plain: Buffer): OutsideResponse {
  const bytes = plain.subarray(headBytes);
  let json: unknown;
  try {
    json = JSON.parse(bytes.toString('utf8'));
  } catch {
    // The response is not JSON, so it contains no message.
  }
  return { status: plain.readUInt32BE(0), retryAfterSeconds: plain.readUInt32BE(4), bytes, json };
}

/** Takes the request of a pool that has waited longest. Only one agent gets it. */
export async function takeRequest(
  { db, keyring }: Deps,
  agent: { readonly id: string; readonly agentPoolId: string },
): Promise<GivenRequest | undefined> {
  const [row] = await db.prisma.$queryRaw<{ id: string; request: Uint8Array }[]>`
    UPDATE forwarded_request SET worker_id = ${agent.id}
     WHERE id = (SELECT id FROM forwarded_request WHERE agent_pool_id = ${agent.agentPoolId} AND worker_id IS NULL
                    AND ends_at > now() ORDER BY created_at, id LIMIT 1 FOR UPDATE SKIP LOCKED)
     RETURNING id, request`;
  if (!row) return undefined;
  const request = JSON.parse(keyring.open(row.request, cellOf(row.id, 'request')).toString('utf8')) as HostRequest;
  return { ...request, id: row.id };
}

/** Returns a request that no agent began to carry out. */
export async function releaseRequest(db: Database, id: string, agentId: string): Promise<void> {
  await db.prisma.forwardedRequest.updateMany({ where: { id, workerId: agentId }, data: { workerId: null } });
}

/** Stores the response of a host. Returns false if no caller is still waiting for it. */
export async function answerRequest(
  { db, keyring }: Deps,
  { id, agentId }: { readonly id: string; readonly agentId: string },
  { status, retryAfterSeconds, bytes }: HostAnswer,
): Promise<boolean> {
  const head = Buffer.alloc(headBytes);
  head.writeUInt32BE(status, 0);
  head.writeUInt32BE(retryAfterSeconds, 4);
  const answer = new Uint8Array(keyring.seal(Buffer.concat([head, bytes]), cellOf(id, 'answer')));
  const updated = await db.prisma.$executeRaw`
    UPDATE forwarded_request SET answer = ${answer}
     WHERE id = ${id} AND worker_id = ${agentId} AND answer IS NULL AND failure IS NULL AND ends_at > now()`;
  return updated > 0;
}

/** Records why a host did not answer. Returns false if no caller is still waiting. */
export async function failRequest(
  db: Database,
  { id, agentId }: { readonly id: string; readonly agentId: string },
  reason: string,
): Promise<boolean> {
  const updated = await db.prisma.$executeRaw`
    UPDATE forwarded_request SET failure = ${reason}
     WHERE id = ${id} AND worker_id = ${agentId} AND answer IS NULL AND failure IS NULL AND ends_at > now()`;
  return updated > 0;
}

/** Deletes requests of nodes that ended before they had the answer. */
export async function forgetRequests(db: Database): Promise<void> {
  await db.prisma.$executeRaw`DELETE FROM forwarded_request WHERE ends_at < now() - interval '1 minute'`;
}
