import { choice, hasOne, instant, type Page, text, toOne } from '@keystead/jsonapi';
import { Refusal } from '@keystead/refusal';
import { type Actor, actorOf, recordChange } from '../../../kernel/audit/audit';
import type { Database } from '../../../kernel/database/database';
import { endpoints, type Lookup, serializerOf } from '../../../kernel/endpoints/endpoint';
import { poolPolicy } from './policy';
import * as pools from './service';

/** The state of an agent: `unknown` while it sends no heartbeats, `errored` once its token is no longer valid. */
const agentStatuses = ['idle', 'busy', 'unknown', 'exited', 'errored'] as const;
type AgentStatus = (typeof agentStatuses)[number];

/** An agent without a heartbeat for this long has the status `unknown`. */
const silenceSeconds = 120;

/** An agent as people see it. */
interface AgentView {
  readonly id: string;
  readonly organizationId: string;
  readonly agentPoolId: string;
  readonly name: string;
  readonly status: AgentStatus;
  readonly ipAddress: string;
  readonly seenAt: Date;
  readonly version: string;
  readonly toolVersions: readonly string[];
}

const agentSerializer = serializerOf<AgentView>()({
  type: 'agents',
  shape: {
    name: text,
    status: choice(agentStatuses),
    'ip-address': text,
    'last-ping-at': instant,
    version: text,
    'tool-versions': text.array(),
  },
  relations: { 'agent-pool': hasOne('agent-pools') },
  id: ({ id }) => id,
  self: ({ id }) => `/api/v2/agents/${id}`,
  attributes: ({ name, status, ipAddress, seenAt, version, toolVersions }) => ({
    name,
    status,
    'ip-address': ipAddress,
    'last-ping-at': seenAt,
    version,
    'tool-versions': [...toolVersions],
  }),
  relationships: ({ agentPoolId }) => ({ 'agent-pool': toOne('agent-pools', agentPoolId) }),
});

/** Agents by pool or by id, the latest heartbeat first; `total` counts them before paging. */
async function read(
  db: Database,
  where: { pool?: string; id?: string; since?: Date },
  page: Page = { offset: 0, size: 1, number: 1 },
): Promise<{ items: AgentView[]; total: number }> {
  const rows = await db.prisma.$queryRaw<(AgentView & { total: number })[]>`
    SELECT k.id, p.organization_id AS "organizationId", k.agent_pool_id AS "agentPoolId", coalesce(k.name, k.id) AS name,
           coalesce(k.ip_address, '') AS "ipAddress", k.seen_at AS "seenAt", coalesce(k.version, '') AS version,
           k.versions AS "toolVersions", count(*) OVER ()::int AS total,
           CASE WHEN k.ended_at IS NOT NULL THEN k.ended_as WHEN k.token_id IS NULL THEN 'errored'
                WHEN k.seen_at < now() - make_interval(secs => ${silenceSeconds}) THEN 'unknown'
                WHEN EXISTS (SELECT 1 FROM run_job j WHERE j.worker_id = k.id AND j.state IN ('claimed', 'started')) THEN 'busy'
                ELSE 'idle' END AS status
      FROM run_worker k JOIN agent_pool p ON p.id = k.agent_pool_id
      JOIN organization o ON o.id = p.organization_id AND o.removed_at IS NULL
     WHERE (${where.pool ?? null}::text IS NULL OR k.agent_pool_id = ${where.pool ?? null})
       AND (${where.id ?? null}::text IS NULL OR k.id = ${where.id ?? null})
       AND (${where.since ?? null}::timestamptz IS NULL OR k.seen_at >= ${where.since ?? null})
     ORDER BY k.seen_at DESC, k.id LIMIT ${page.size} OFFSET ${page.offset}`;
  return { items: rows, total: rows[0]?.total ?? 0 };
}

/** Deletes an agent that has ended or sends no heartbeats. Throws `transition` for a running agent. */
async function forget(db: Database, actor: Actor, agent: AgentView): Promise<void> {
  if (agent.status === 'idle' || agent.status === 'busy') {
    throw new Refusal(
      'transition',
      'the agent is connected: only agents that are unknown, errored or exited are deleted',
    );
  }
  await db.transaction(async (tx) => {
    const { count } = await tx.prisma.runWorker.deleteMany({ where: { id: agent.id } });
    if (count === 0) return;
    await recordChange(tx, actor, {
      organizationId: agent.organizationId,
      action: 'agent.delete',
      target: { type: 'agents', id: agent.id, name: agent.name },
    });
  });
}

const { get, list, remove } = endpoints(poolPolicy, agentSerializer, { visible: poolPolicy['can-read'] });
const byId = '/agents/:agent_id';
const load = async ({ db, params }: Lookup<typeof byId>) => (await read(db, { id: params.agent_id })).items[0];
const since = 'filter[last-ping-since]';

const index = list('/agent-pools/:pool_id/agents', {
  summary: 'List the agents of a pool.',
  query: { [since]: 'Only agents whose last heartbeat was at or after this instant.' },
  load: ({ db, params }) => pools.find(db, params.pool_id),
  run: ({ db, target, query, page }) =>
    read(db, { pool: (target as pools.AgentPool).id, since: query.instant(since) }, page),
});

const show = get(byId, { summary: 'Show an agent.', load, run: async ({ target }) => target as AgentView });

const destroy = remove(byId, {
  summary: 'Delete an agent. Refused unless it has exited.',
  requires: 'can-update',
  refuses: [409],
  load,
  run: ({ db, target, ...call }) => forget(db, actorOf(call), target as AgentView),
});

/** Endpoints about the agents of a pool, for people. Agents use separate endpoints. */
export const agentEndpoints = [index, show, destroy];
