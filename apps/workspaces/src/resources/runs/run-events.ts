import { hasOne, instant, text, toOne } from '@keystead/jsonapi';
import type { RunEvent as Row } from '../../generated/prisma/client';
import type { Policy } from '../../kernel/access/policy';
import type { Database } from '../../kernel/database/database';
import { type Call, endpoints, includable, type Resource, serializerOf } from '../../kernel/endpoints/endpoint';
import { organizationsOf, type RunTarget, readsRun } from './runs/policy';
import { find as findRun, type Run } from './runs/run';
import { accountOf } from './runs/serializer';

/** An event of a run, with the data for permission checks. */
interface RunEvent extends Row, RunTarget {}

const eventSerializer = serializerOf<RunEvent>()({
  type: 'run-events',
  shape: {
    action: text,
    description: text.nullable(),
    'created-at': instant,
  },
  relations: { run: hasOne('runs'), actor: hasOne('users'), comment: hasOne('comments') },
  id: ({ id }) => id,
  self: ({ id }) => `/api/v2/run-events/${id}`,
  attributes: ({ action, description, createdAt }) => ({ action, description, 'created-at': createdAt }),
  relationships: ({ runId, actorType, actorId, commentId }) => ({
    run: toOne('runs', runId),
    actor: accountOf(actorType, actorId),
    comment: toOne('comments', commentId),
  }),
});

const workspace = { select: { id: true, projectId: true, organizationId: true } } as const;

async function findMany(db: Database, ids: readonly string[]): Promise<RunEvent[]> {
  const rows = await db.prisma.runEvent.findMany({
    where: { id: { in: [...ids] }, run: { workspace: { organization: { removedAt: null } } } },
    include: { run: { select: { workspace } } },
  });
  return rows.map(({ run, ...row }) => ({
    ...row,
    workspace: run.workspace,
    organizationId: run.workspace.organizationId,
  }));
}

const { get, list } = endpoints({} as Policy<RunTarget>, eventSerializer, { visible: readsRun, organizationsOf });

const ofRun = list('/runs/:run_id/run-events', {
  summary: 'List the events of a run, oldest first.',
  paging: 'none',
  include: ['actor', 'comment'],
  load: ({ db, env, params }) => findRun(db, env.keyring, params.run_id),
  run: async ({ db, target }: Call<string, undefined, Run>) => {
    const rows = await db.prisma.runEvent.findMany({ where: { runId: target.id }, orderBy: { number: 'asc' } });
    const { workspace: of, organizationId } = target;
    return { items: rows.map((row) => ({ ...row, workspace: of, organizationId })) };
  },
});

const show = get('/run-events/:run_event_id', {
  summary: 'Show an event of a run.',
  include: ['actor', 'comment'],
  load: async ({ db, params }) => (await findMany(db, [params.run_event_id]))[0],
  run: async ({ target }) => target as RunEvent,
});

/** Events of runs. */
export const runEventResource: Resource = {
  name: 'run-events',
  endpoints: [ofRun, show],
  includable: {
    'run-events': includable<RunEvent>({
      serializer: eventSerializer,
      load: (db, ids) => findMany(db, ids),
      visible: readsRun,
      organizationsOf,
    }),
  },
};
