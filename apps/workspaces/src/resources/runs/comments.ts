import { document, hasOne, instant, text, toOne } from '@keystead/jsonapi';
import { z } from 'zod';
import type { RunComment as Row } from '../../generated/prisma/client';
import { actorOf } from '../../kernel/audit/audit';
import type { Database } from '../../kernel/database/database';
import { endpoints, includable, type Resource, serializerOf } from '../../kernel/endpoints/endpoint';
import { addComment } from './runs/actions';
import { organizationsOf, type RunTarget, readsRun, runPolicy } from './runs/policy';
import { find as findRun } from './runs/run';
import { accountOf } from './runs/serializer';

/** A comment on a run, with the data for permission checks. */
interface Comment extends Row, RunTarget {}

const commentSerializer = serializerOf<Comment>()({
  type: 'comments',
  shape: {
    body: text,
    'created-at': instant,
  },
  relations: { run: hasOne('runs'), 'created-by': hasOne('users') },
  id: ({ id }) => id,
  self: ({ id }) => `/api/v2/comments/${id}`,
  attributes: ({ body, createdAt }) => ({ body, 'created-at': createdAt }),
  relationships: ({ runId, createdByType, createdById }) => ({
    run: toOne('runs', runId),
    'created-by': accountOf(createdByType, createdById),
  }),
});

const workspace = { select: { id: true, projectId: true, organizationId: true } } as const;

async function read(db: Database, where: { id: { in: string[] } } | { runId: string }): Promise<Comment[]> {
  const rows = await db.prisma.runComment.findMany({
    where: { ...where, run: { workspace: { organization: { removedAt: null } } } },
    include: { run: { select: { workspace } } },
    orderBy: { number: 'asc' },
  });
  return rows.map(({ run, ...row }) => ({
    ...row,
    workspace: run.workspace,
    organizationId: run.workspace.organizationId,
  }));
}

const { get, list, post } = endpoints(runPolicy, commentSerializer, { visible: readsRun, organizationsOf });

const ofRun = list('/runs/:run_id/comments', {
  summary: 'List the comments on a run, oldest first.',
  paging: 'none',
  include: ['created_by'],
  load: ({ db, env, params }) => findRun(db, env.keyring, params.run_id),
  run: async ({ db, params }) => ({ items: await read(db, { runId: params.run_id }) }),
});

const create = post('/runs/:run_id/comments', {
  summary: 'Comment on a run.',
  requires: 'can-comment',
  tokens: ['user', 'team'],
  body: document('comments', { attributes: { body: z.string().trim().min(1).max(10_000) } }),
  load: ({ db, env, params }) => findRun(db, env.keyring, params.run_id),
  run: async ({ db, params, body, ...call }) =>
    db.transaction(async (tx) => {
      const id = await addComment(tx, params.run_id, actorOf(call), body.body);
      return (await read(tx, { id: { in: [id] } }))[0]!;
    }),
});

const show = get('/comments/:comment_id', {
  summary: 'Show a comment on a run.',
  include: ['created_by'],
  load: async ({ db, params }) => (await read(db, { id: { in: [params.comment_id] } }))[0],
  run: async ({ target }) => target as Comment,
});

/** Comments on runs. */
export const commentResource: Resource = {
  name: 'comments',
  endpoints: [ofRun, create, show],
  includable: {
    comments: includable<Comment>({
      serializer: commentSerializer,
      load: (db, ids) => read(db, { id: { in: [...ids] } }),
      visible: readsRun,
      organizationsOf,
    }),
  },
};
