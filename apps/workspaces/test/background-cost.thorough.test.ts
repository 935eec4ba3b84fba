import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { createLogger } from '@keystead/server';
import { asSuperuser } from '@keystead/testing';
import { Client } from 'pg';
import { jobsOf } from '../src/housekeeping';
import { reportStatuses } from '../src/resources/runs/vcs/reports';
import { syncRepositories } from '../src/resources/runs/vcs/sync-repositories';
import { databaseFetches } from '../src/worker/fetch/database-fetches';
import { FakeGitea } from './fake-gitea';
import { fakeWorker } from './fake-worker';
import { fetchAll } from './fetch-all';
import { resource, startWorkspaces } from './start-workspaces';

const copies = 2000;
/** Jobs that run this seldom may read everything. */
const seldomSeconds = 600;
/** Tables in which all rows have ended, with their unique columns besides ids. */
const past: Readonly<Record<string, string>> = {
  workspace: `'name', 'copy-' || n`,
  workspace_lock: `'id', n * 100 + x.id`,
  vcs_head: '',
  configuration_version: '',
  ingress_attributes: '',
  run: `'number', n * 10 + x.number`,
  run_phase: '',
  run_job: '',
  run_event: '',
  state_version: '',
  state_output: '',
  notification_delivery: '',
  vcs_delivery: `'delivery_id', x.delivery_id || n`,
  blob: '',
};

/** A background job, and the calls to Git hosts that it has started. */
interface Doing {
  readonly name: string;
  readonly everySeconds: number;
  readonly turns?: { settled(): Promise<void> };
  run(): Promise<unknown>;
}

// Finished rows must cost nothing: a background job that reads all of them every few seconds gets slower each month.
describe('the background jobs of an installation with old data', () => {
  const host = new FakeGitea();
  let client: Client;
  // Runs before the database is dropped.
  afterAll(async () => {
    await client.end();
    await host.stop();
  });
  const workspaces = startWorkspaces({ env: { WORKSPACES_VCS: 'on', WORKSPACES_VCS_NETWORKS: '127.0.0.1/32' } });
  const { admin } = workspaces;
  const worker = fakeWorker(workspaces);
  const means = () => {
    const { db, env } = workspaces.service;
    return { db, keyring: env.keyring, reach: env.vcsReach!, publicUrl: env.publicUrl };
  };

  /** A workspace whose run followed a push, was applied, and was reported to its host and to an address. */
  async function livedThrough(): Promise<void> {
    const connected = resource('oauth-clients', {
      'service-provider': 'gitea',
      'http-url': host.origin,
      'api-url': `${host.origin}/api/v1`,
      'oauth-token-string': 'text',
    });
    const { body } = await admin.post('organizations/acme/oauth-clients', connected).expect(201);
    const token = body.data.relationships['oauth-tokens'].data[0].id;
    const followed = resource('workspaces', {
      name: 'net',
      'queue-all-runs': true,
      'auto-apply': true,
      'vcs-repo': { identifier: 'team/net', 'oauth-token-id': token },
    });
    const made = await admin.post('organizations/acme/workspaces', followed).expect(201);
    await admin
      .post(
        `workspaces/${made.body.data.id}/notification-configurations`,
        resource('notification-configurations', {
          name: 'told',
          enabled: false,
          'destination-type': 'generic',
          url: 'http://127.0.0.1:9/',
          triggers: [],
        }),
      )
      .expect(201);
    const settings = () => workspaces.service.env.settings();
    await syncRepositories(means(), settings, 60);
    expect(await fetchAll(workspaces.service)).toBe(1);
    await worker.plan();
    const applied = await worker.take('apply');
    await worker.start(applied);
    const outputs = { size: { value: 1, type: 'number' } };
    const state = { version: 4, terraform_version: '1.11.4', serial: 1, lineage: 'l', resources: [], outputs };
    await worker.saveState(applied, Buffer.from(JSON.stringify(state)));
    await worker.endApply(applied, { outcome: 'applied', additions: 1 });
    for (let times = 0; times < 3; times++) {
      await client.query('UPDATE ingress_attributes SET status_at = now()');
      await reportStatuses(means());
    }
    await client.query(`INSERT INTO vcs_delivery (id, repository_id, delivery_id, events, state)
      SELECT 'vd-past', id, 'told', '[]', 'done' FROM vcs_repository`);
    await client.query(`INSERT INTO notification_delivery (id, configuration_id, trigger, due_at, sent_at, done_at)
      SELECT 'nd-past', id, 'run:completed', now(), now(), now() FROM notification_configuration`);
  }

  /** Copies every old row a number of times, each time for new runs and workspaces. */
  async function repeated(): Promise<void> {
    const ids = new Set<string>();
    for (const table of Object.keys(past)) {
      const { rows } = await client.query<{ row: { id?: unknown } }>(`SELECT to_jsonb(x) AS row FROM ${table} x`);
      expect([table, rows.length]).not.toEqual([table, 0]);
      for (const { row } of rows) if (typeof row.id === 'string') ids.add(row.id);
    }
    await client.query('SET session_replication_role = replica');
    for (const [table, own] of Object.entries(past)) {
      const text = [...ids].reduce(
        (row, id) => `replace(${row}, '"${id}"', '"${id}-' || n || '"')`,
        'to_jsonb(x)::text',
      );
      await client.query(`INSERT INTO ${table}
        SELECT (jsonb_populate_record(NULL::${table}, ${text}::jsonb || jsonb_build_object(${own}))).*
          FROM ${table} x, generate_series(1, ${copies}) n`);
    }
    await client.query('SET session_replication_role = origin');
    await client.query('VACUUM ANALYZE');
  }

  beforeAll(async () => {
    await host.start();
    host.branches.set('main', host.commit('Begin'));
    await workspaces.organization('acme', { 'default-execution-mode': 'remote' });
    client = new Client({ connectionString: await asSuperuser(workspaces.databaseUrl) });
    await client.connect();
    await livedThrough();
    await repeated();
  });
  /** Rows that `work` read, by table. */
  async function read(work: () => Promise<unknown>): Promise<Record<string, number>> {
    const counted = async () => {
      // By default, a connection reports its counters once a second.
      const { prisma } = workspaces.service.db;
      await Promise.all(
        Array.from({ length: 20 }, () => prisma.$queryRaw`SELECT 1 FROM pg_sleep(0.05), pg_stat_force_next_flush()`),
      );
      const { rows } = await client.query<{ relname: string; read: number }>(
        `SELECT relname, (coalesce(seq_tup_read, 0) + coalesce(idx_tup_fetch, 0))::int AS read FROM pg_stat_user_tables`,
      );
      return new Map(rows.map((row) => [row.relname, row.read]));
    };
    const before = await counted();
    await work();
    const after = await counted();
    return Object.fromEntries([...after].map(([table, rows]) => [table, rows - (before.get(table) ?? 0)]));
  }

  /** Jobs do not wait for slow hosts, so wait for the calls that have started. */
  const whole = async ({ run, turns }: Doing): Promise<void> => {
    await run();
    await turns?.settled();
  };

  function everything(): Doing[] {
    const { db, env, outage, clockTrouble } = workspaces.service;
    const vcs = {
      reach: env.vcsReach!,
      publicUrl: env.publicUrl,
      settings: env.settings,
      uploads: env,
      pollSeconds: 3600,
    };
    const log = createLogger({ name: 'test', level: 'silent' });
    const parts = { db, keyring: env.keyring, workerId: 'w', configurationBytes: 1, fetcher: {} as never };
    const { signal } = new AbortController();
    return [
      ...jobsOf(db, { ...env, log, outage, clockTrouble, consoleIdleMinutes: 30, vcs }),
      { name: 'a worker asks for a commit', everySeconds: 1, run: () => databaseFetches(parts).claim(signal) },
      { name: 'a worker asks for a job', everySeconds: 1, run: () => worker.claim() },
    ];
  }

  it('read due work, not old rows', async () => {
    const jobs = everything();
    expect(jobs.length).toBeGreaterThan(25);
    // The first run marks finished rows and does due work, including reading the repository.
    await client.query('UPDATE vcs_repository SET next_at = now()');
    for (const job of jobs) await whole(job);
    for (let rest = 1; rest > 0; ) {
      await reportStatuses(means());
      rest = Number((await client.query('SELECT count(*) FROM ingress_attributes WHERE status_open')).rows[0].count);
    }
    const tooMany: string[] = [];
    for (const job of jobs.filter(({ everySeconds }) => everySeconds < seldomSeconds)) {
      const { name, everySeconds } = job;
      for (const [table, rows] of Object.entries(await read(() => whole(job))))
        if (rows > copies / 10) tooMany.push(`${name}, every ${everySeconds} s: ${rows} rows of ${table}`);
    }
    expect(tooMany).toEqual([]);
  });
});
