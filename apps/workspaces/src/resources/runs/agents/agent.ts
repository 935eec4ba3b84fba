import { invalid } from '@keystead/jsonapi';
import { Refusal } from '@keystead/refusal';
import type { z } from 'zod';
import type { Principal } from '../../../kernel/access/principal';
import { type Actor, recordChange } from '../../../kernel/audit/audit';
import type { Database } from '../../../kernel/database/database';
import { newId } from '../../../kernel/database/ids';
import { lockRow } from '../../../kernel/database/lock-row';
import type { Environment } from '../../../kernel/endpoints/environment';
import { commonProtocol, type Registration, supportedVersions } from './protocol';

/** An agent that sends requests. */
export interface Agent {
  readonly id: string;
  /** If undefined, the agent belongs to the installation: it executes remote runs and fetches commits. */
  readonly agentPoolId: string | undefined;
  readonly name: string;
  readonly versions: readonly string[];
  /** Whether the agent carries out requests to Git hosts of its pool's connections, and fetches commits from them. */
  readonly forwards: boolean;
  /** Whether the agent may get jobs: it has not deregistered, and it still uses the token that it registered with. */
  readonly alive: boolean;
}

/** The data for looking up an agent. */
export interface Loading {
  readonly db: Database;
  readonly principal: Principal;
  readonly params: { readonly agent_id: string };
}

interface AgentRow {
  readonly name: string | null;
  readonly versions: readonly string[];
  readonly forwards: boolean;
  readonly ended_at: Date | null;
  readonly token_id: string | null;
  readonly agent_pool_id: string | null;
}

/** How many agents a pool may have at a time. A caller who registers more probably has a bug. */
const mostAlive = 500;

/** The agent with an id, in the pool of the token. */
export async function findAgent(db: Database, principal: Principal, id: string): Promise<Agent | undefined> {
  // Workers with database access are not agents and have no protocol version.
  const pool = principal.isOwnWorker ? null : principal.id;
  const [row] = await db.prisma.$queryRaw<AgentRow[]>`
    SELECT name, versions, forwards, ended_at, token_id, agent_pool_id FROM run_worker
     WHERE id = ${id} AND agent_pool_id IS NOT DISTINCT FROM ${pool} AND (agent_pool_id IS NOT NULL OR protocol IS NOT NULL)`;
  if (!row) return undefined;
  const alive = row.ended_at === null && (principal.isOwnWorker === true || row.token_id === principal.tokenId);
  const { name, versions, forwards, agent_pool_id: agentPoolId } = row;
  return { id, agentPoolId: agentPoolId ?? undefined, name: name ?? id, versions, forwards, alive };
}

/** Throws `transition` for an agent that has deregistered, and for an agent that registered with another token. */
export function requireAlive({ alive }: Agent): void {
  if (!alive)
    throw new Refusal('transition', 'this agent was deregistered, or registered with another token: register again');
}

/** Throws `unauthenticated` if the token of an agent has ended while the agent waited; its work is then returned. */
export async function requireStillKnown(
  renew: () => Promise<unknown>,
  giveBack: () => Promise<unknown>,
): Promise<void> {
  let isKnown = false;
  try {
    isKnown = (await renew()) !== undefined;
  } finally {
    if (!isKnown) await giveBack();
  }
  if (!isKnown) throw new Refusal('unauthenticated', '');
}

async function requireRoom(tx: Database, agentPoolId: string): Promise<void> {
  await lockRow(tx, 'agent_pool', agentPoolId);
  const alive = { agentPoolId, endedAt: null, seenAt: { gt: new Date(Date.now() - 3_600_000) } };
  if ((await tx.prisma.runWorker.count({ where: alive })) >= mostAlive) {
    throw invalid('name', `belongs to an agent pool that already has ${mostAlive} agents`);
  }
}

/** Adds an agent to the pool of its token. Throws `conflict` if this version supports none of its protocols. */
export async function register(
  db: Database,
  actor: Actor,
  principal: Principal,
  input: z.infer<typeof Registration>,
  address: string,
): Promise<{ id: string; protocol: number; pool: string; forwards: boolean }> {
  // Agents of the installation do not call hosts, because the service itself calls them.
  const forwards = input.forwards && !principal.isOwnWorker;
  const protocol = commonProtocol(input.protocol);
  if (protocol === undefined) {
    const { oldest, newest } = input.protocol;
    const older = newest < supportedVersions.oldest ? 'agent' : 'service';
    throw new Refusal(
      'conflict',
      `the agent supports protocol versions ${oldest} to ${newest}, this service ${supportedVersions.oldest} to ${supportedVersions.newest}: upgrade the ${older}`,
    );
  }
  const id = newId('agent');
  await db.transaction(async (tx) => {
    if (!principal.isOwnWorker) await requireRoom(tx, principal.id);
    await tx.prisma.runWorker.create({
      data: {
        id,
        ...(principal.isOwnWorker ? {} : { agentPoolId: principal.id, tokenId: principal.tokenId }),
        name: input.name,
        version: input.version,
        protocol,
        isolation: input.isolation,
        versions: [...input['tool-versions']],
        ipAddress: address,
        forwards,
      },
    });
    await recordChange(tx, actor, {
      organizationId: principal.organizationId ?? null,
      action: 'agent.register',
      target: { type: 'agents', id, name: input.name },
      after: {
        agentPoolId: principal.isOwnWorker ? null : principal.id,
        version: input.version,
        toolVersions: input['tool-versions'],
        forwards,
      },
    });
  });
  return { id, protocol, pool: principal.name, forwards };
}

/** Deregisters an agent. Other agents can immediately take jobs that it had claimed but not started. */
export async function signOff(db: Database, actor: Actor, agent: Agent, organizationId: string | null): Promise<void> {
  await db.transaction(async (tx) => {
    const ended = await tx.prisma.$executeRaw`
      UPDATE run_worker SET ended_at = now(), ended_as = 'exited' WHERE id = ${agent.id} AND ended_at IS NULL`;
    if (ended === 0) return;
    await tx.prisma.runJob.updateMany({
      where: { workerId: agent.id, state: 'claimed' },
      data: { state: 'queued', workerId: null, claimedUntil: null },
    });
    await recordChange(tx, actor, {
      organizationId,
      action: 'agent.exit',
      target: { type: 'agents', id: agent.id, name: agent.name },
    });
  });
}

/** Work that an agent requests, and how it is returned if the answer is not delivered. */
interface WorkToTake<Work> {
  /** Called once, before the first call of `take`. */
  prepare?(): Promise<unknown>;
  /** Takes work if there is any; otherwise returns undefined. */
  take(): Promise<Work | undefined>;
  release(work: Work): Promise<void>;
}

/** Takes work for an agent, checking every `lookMs` for as long as it waits, and until it disconnects (`mustStop`). */
export async function waitForWork<Work>(
  { queuedBell }: Pick<Environment, 'queuedBell'>,
  { prepare, take, release }: WorkToTake<Work>,
  { waitSeconds, lookMs, mustStop }: { waitSeconds: number; lookMs: number; mustStop: () => boolean },
): Promise<Work | undefined> {
  const untilMs = performance.now() + waitSeconds * 1000;
  await prepare?.();
  for (;;) {
    const work = await take();
    if (work && !mustStop()) return work;
    if (work) await release(work);
    if (mustStop() || performance.now() + lookMs > untilMs) return undefined;
    await queuedBell.next(lookMs);
  }
}

/** The parts of a request for work that are needed to take the work. */
interface Asking {
  readonly env: Pick<Environment, 'queuedBell' | 'waiting'>;
  readonly body: { readonly 'wait-seconds': number };
  readonly request: { isGone(): boolean };
  readonly renew: () => Promise<unknown>;
}

/**
 * Takes work other than jobs for an agent. `line` is the kind of work; a newer request for the same kind ends an older
 * wait. If the agent's token has ended in the meantime, throws `unauthenticated` and returns the work.
 */
export async function takeWork<Work>(
  { env, body, request, renew }: Asking,
  line: string,
  work: WorkToTake<Work>,
  lookMs = 500,
): Promise<Work | undefined> {
  const waitSeconds = body['wait-seconds'];
  const job = await env.waiting.run(line, (mustStop) =>
    waitForWork(env, work, { waitSeconds, lookMs, mustStop: () => mustStop() || request.isGone() }),
  );
  if (job) await requireStillKnown(renew, () => work.release(job));
  return job;
}
