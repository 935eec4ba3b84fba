import type { Policy } from '../../../kernel/access/policy';
import { actorOf } from '../../../kernel/audit/audit';
import { type Call, type Endpoint, endpoints } from '../../../kernel/endpoints/endpoint';
import { forceCancel } from '../../runs/runs/actions';
import { organizationsOf } from '../../runs/runs/policy';
import { listAll } from '../../runs/runs/reads';
import { find, type Run } from '../../runs/runs/run';
import { Remark, type Remarked } from '../../runs/runs/schema';
import { runSerializer } from '../../runs/runs/serializer';

const { list, command } = endpoints({} as Policy<Run>, runSerializer, { organizationsOf });
const admin = { siteAdmin: true, edition: 'self-hosted' } as const;

const index = list('/admin/runs', {
  ...admin,
  summary: 'List every run of the installation, newest first.',
  query: {
    q: 'Part of the run ID, or of the name of its workspace or organization.',
    'filter[status]': 'Comma-separated statuses.',
    'filter[from]': 'Only runs created at or after this instant.',
    'filter[to]': 'Only runs created at or before this instant.',
  },
  include: ['workspace', 'workspace.organization', 'workspace.organization.owners'],
  run: ({ db, env, query, page }) =>
    listAll(
      db,
      env.keyring,
      {
        text: query.get('q'),
        statuses: query.list('filter[status]'),
        from: query.instant('filter[from]'),
        to: query.instant('filter[to]'),
      },
      page!,
    ),
});

const ending = command('POST')('/admin/runs/:run_id/actions/force-cancel', {
  ...admin,
  summary: 'Force-cancel any unfinished run immediately.',
  status: 202,
  body: Remark,
  organizationsOf: () => [],
  load: ({ db, env, params }) => find(db, env.keyring, params.run_id),
  run: ({ db, env, target, body, ...call }: Call<string, Remarked, Run>) =>
    forceCancel(db, env.keyring, target.id, { actor: actorOf(call), comment: body.comment || null, anyTime: true }),
});

/** Site administration of runs. */
export const runEndpoints: readonly Endpoint[] = [index, ending];
