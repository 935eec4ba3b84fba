import { withClient } from '@keystead/postgres';
import { quantile } from './figures';
import { machine } from './machine';
import { onGround, runProgram } from './program';
import { ask, startWorkspaces } from './service';

const usage = `npx tsx bench/src/workspace-lists.ts [WORKSPACES [REQUESTS]]

Times pages of every list and sort of workspaces, with this many in one organization and with twenty in another
(100000), this many requests each (100). It says how long the seed took, and the start of the service.`;

interface Made {
  readonly data: { readonly id: string };
}

const api = (path: string): string => path.replaceAll('[', '%5B').replaceAll(']', '%5D');

/** The lists, by organization. */
const lists = (organization: string, last: number): Record<string, string> => {
  const of = `/organizations/${organization}/workspaces?page[size]=20`;
  return {
    'by name': of,
    'by name, last page': `${of}&page[number]=${last}`,
    'by name, middle page': `${of}&page[number]=${Math.ceil(last / 2)}`,
    'by name, after the middle': `${of}&page[after]=ws-${organization}${Math.ceil(last * 10)}`,
    'sort=-name': `${of}&sort=-name`,
    'sort=current-run.created-at': `${of}&sort=current-run.created-at`,
    'sort=-current-run.created-at': `${of}&sort=-current-run.created-at`,
    'sort=-current-run.created-at, last page': `${of}&sort=-current-run.created-at&page[number]=${last}`,
    'sort=-current-run.created-at, middle page': `${of}&sort=-current-run.created-at&page[number]=${Math.ceil(last / 2)}`,
    ...Object.fromEntries(
      ['-name', 'current-run.created-at', '-current-run.created-at', 'latest-change-at', '-latest-change-at'].map(
        (sort) => [
          `sort=${sort}, after the middle`,
          `${of}&sort=${sort}&page[after]=ws-${organization}${Math.ceil(last * 10) + 1}`,
        ],
      ),
    ),
    'sort=latest-change-at': `${of}&sort=latest-change-at`,
    'sort=-latest-change-at': `${of}&sort=-latest-change-at`,
    'filter[current-run][status]=planned': `${of}&filter[current-run][status]=planned`,
    'filter[project][id]': `${of}&filter[project][id]=prj-${organization}7`,
    'search[name], few': `${of}&search[name]=w1234`,
    'search[wildcard-name], few': `${of}&search[wildcard-name]=w1234*`,
    runs: `/organizations/${organization}/runs?page[size]=20`,
  };
};
const ofAdministrators: Record<string, string> = {
  '/admin/workspaces': '/admin/workspaces?page[size]=20',
  '/admin/workspaces, page 501': '/admin/workspaces?page[size]=20&page[number]=501',
  '/admin/workspaces, sort=-name': '/admin/workspaces?page[size]=20&sort=-name',
  '/admin/workspaces, sort=-current-run.created-at': '/admin/workspaces?page[size]=20&sort=-current-run.created-at',
  '/admin/workspaces, q, few': '/admin/workspaces?page[size]=20&q=w1234',
  '/admin/workspaces, filter[current_run][status]=planned':
    '/admin/workspaces?page[size]=20&filter[current_run][status]=planned',
  '/admin/organizations': '/admin/organizations?page[size]=20',
  '/admin/runs': '/admin/runs?page[size]=20',
  '/admin/users': '/admin/users?page[size]=20',
};

runProgram(usage, ([count = '100000', requests = '100']) =>
  onGround({ max_connections: '100', shared_buffers: '1GB', maintenance_work_mem: '256MB' }, async (ground) => {
    const setting = { ...ground, cores: undefined };
    const database = 'lists';
    const { url, token } = await startWorkspaces(setting, database);
    const headers = { Authorization: `Bearer ${token}`, 'Content-Type': 'application/vnd.api+json' };
    const sizes = { few: 20, many: Number(count) };
    for (const [name, size] of Object.entries(sizes)) {
      const startedAtMs = performance.now();
      await fill(`${url}/api/v2`, headers, ground.postgres.url(database), name, size);
      const took = (performance.now() - startedAtMs) / 1000;
      process.stdout.write(`${size.toLocaleString('en')} workspaces and runs: ${took.toFixed(0)} s\n`);
    }
    process.stdout.write(`${machine()}\n\n| list of 20 | p50, p99 ms | few: p50 | ratio |\n|---|--:|--:|--:|\n`);
    const few = lists('few', 1);
    for (const [name, path] of Object.entries(lists('many', Math.floor(sizes.many / 20)))) {
      const small = await timed(`${url}/api/v2${api(few[name]!)}`, headers, Number(requests));
      const large = await timed(`${url}/api/v2${api(path)}`, headers, Number(requests));
      row(name, large, small);
    }
    for (const [name, path] of Object.entries(ofAdministrators)) {
      row(name, await timed(`${url}/api/v2${api(path)}`, headers, Number(requests)));
    }
  }),
);

interface Times {
  readonly p50: number;
  readonly p99: number;
}

function row(name: string, { p50, p99 }: Times, small?: Times): void {
  const compared = small ? `${small.p50.toFixed(1)} | ${(p50 / small.p50).toFixed(1)}` : '|';
  process.stdout.write(`| ${name} | ${p50.toFixed(1)}, ${p99.toFixed(1)} | ${compared} |\n`);
}

/** The latency of requests, one at a time; very slow ones are repeated less often. */
async function timed(url: string, headers: Record<string, string>, requests: number): Promise<Times> {
  const times: number[] = [];
  const startedAtMs = performance.now();
  while (times.length < 5 || (times.length < requests && performance.now() - startedAtMs < 8000)) {
    const start = performance.now();
    await ask(url, 'GET', headers);
    times.push(performance.now() - start);
  }
  times.sort((a, b) => a - b);
  return { p50: quantile(times, 0.5), p99: quantile(times, 0.99) };
}

/**
 * Makes an organization over HTTP with one workspace, and copies this workspace in the database, with runs for nine of
 * ten.
 */
async function fill(
  root: string,
  headers: Record<string, string>,
  database: string,
  name: string,
  size: number,
): Promise<void> {
  const make = (at: string, type: string, attributes: object) =>
    ask<Made>(`${root}/${at}`, 'POST', headers, { data: { type, attributes } });
  await make('organizations', 'organizations', { name, email: `${name}@example.org` });
  const first = await make(`organizations/${name}/workspaces`, 'workspaces', { name: 'w0' });
  await withClient(database, async (client) => {
    await client.query(
      `INSERT INTO project (id, organization_id, name)
       SELECT 'prj-' || $2 || n, w.organization_id, 'p' || n FROM workspace w, generate_series(1, 200) n WHERE w.id = $1`,
      [first.data.id, name],
    );
    await client.query(
      `INSERT INTO workspace
       SELECT c.* FROM workspace w, generate_series(1, $3::int) n,
              jsonb_populate_record(w, jsonb_build_object(
                'id', 'ws-' || $2 || n, 'name', 'w' || n, 'project_id', 'prj-' || $2 || (n % 200 + 1),
                'latest_change_at', now() - make_interval(secs => abs(hashint4(n)) % 1000000),
                'current_run_created_at', CASE WHEN n % 10 > 0 THEN now() - make_interval(secs => abs(hashint4(n)) % 1000000) END,
                'current_run_id', CASE WHEN n % 10 > 0 THEN 'run-' || $2 || n END)) c
        WHERE w.id = $1`,
      [first.data.id, name, size - 1],
    );
    await client.query(
      `INSERT INTO run (id, workspace_id, status, created_at, finished_at)
       SELECT 'run-' || $1 || n, 'ws-' || $1 || n, CASE WHEN n % 1000 = 1 THEN 'planned' ELSE 'applied' END,
              now() - make_interval(secs => abs(hashint4(n)) % 1000000), CASE WHEN n % 1000 = 1 THEN NULL ELSE now() END
         FROM generate_series(1, $2::int) n WHERE n % 10 > 0`,
      [name, size - 1],
    );
    await client.query('VACUUM ANALYZE');
  });
}
