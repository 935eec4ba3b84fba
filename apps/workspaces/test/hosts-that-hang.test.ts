import type { IncomingMessage } from 'node:http';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Turns } from '../src/resources/connections/git-hosts/turns';
import { renewTokens } from '../src/resources/connections/oauth/grants';
import { lookForInstallations } from '../src/resources/connections/oauth/installations';
import { processDeliveries } from '../src/resources/runs/vcs/deliveries';
import { reportStatuses, writeComments } from '../src/resources/runs/vcs/reports';
import { syncRepositories } from '../src/resources/runs/vcs/sync-repositories';
import { reportUntriggered } from '../src/resources/runs/vcs/untriggered-statuses';
import { FakeGitea } from './fake-gitea';
import { resource, startWorkspaces } from './start-workspaces';

/** A host that can be made to accept calls and never answer. */
class HangingGitea extends FakeGitea {
  hangs = false;

  protected override async respond(req: IncomingMessage, text: string): Promise<readonly [number, unknown]> {
    if (this.hangs) await new Promise(() => undefined);
    return super.respond(req, text);
  }
}

const ofRepository = '(SELECT v.organization_id FROM vcs_repository v WHERE v.id = t.repository_id)';
const ofClient = '(SELECT c.organization_id FROM oauth_client c WHERE c.id = t.oauth_client_id)';

describe('a hanging host of one organization', () => {
  const hosts = { stuck: new HangingGitea(), acme: new HangingGitea() };
  const names = Object.keys(hosts) as (keyof typeof hosts)[];
  const ids = { stuck: '', acme: '' };
  const workspaces = startWorkspaces({ env: { WORKSPACES_VCS: 'on', WORKSPACES_VCS_NETWORKS: '127.0.0.1/32' } });
  const query = (text: string, values: unknown[] = []) => workspaces.service.pool.query(text, values);
  const means = () => {
    const { db, env } = workspaces.service;
    return { db, keyring: env.keyring, reach: env.vcsReach!, publicUrl: env.publicUrl };
  };
  const settings = () => workspaces.service.env.settings();

  type Job = [name: string, table: string, column: string, organization: string, run: (turns: Turns) => Promise<void>];
  const jobs: Job[] = [
    ['deliveries', 'vcs_delivery', 'next_at', ofRepository, (turns) => processDeliveries(means(), settings, turns)],
    [
      'repositories',
      'vcs_repository',
      'next_at',
      't.organization_id',
      (turns) => syncRepositories(means(), settings, 3600, turns),
    ],
    ['comments', 'vcs_comment', 'next_at', ofRepository, (turns) => writeComments(means(), turns)],
    ['commits without a run', 'vcs_passing', 'next_at', ofRepository, (turns) => reportUntriggered(means(), turns)],
    ['statuses', 'ingress_attributes', 'status_at', ofRepository, (turns) => reportStatuses(means(), turns)],
    ['tokens', 'oauth_token', 'renew_at', ofClient, (turns) => renewTokens(means(), () => Date.now(), turns)],
    ['apps', 'github_app', 'look_at', ofClient, (turns) => lookForInstallations(means(), () => Date.now(), turns)],
  ];
  const makeDue = async () => {
    const rows = await query('SELECT id FROM vcs_repository');
    for (const { id } of rows.rows) {
      await query(
        `INSERT INTO vcs_delivery (id, repository_id, delivery_id, events) VALUES ('vd-' || $1, $1, 'due', '[]')
         ON CONFLICT (id) DO UPDATE SET state = 'waiting'`,
        [id],
      );
      await query('INSERT INTO vcs_comment (repository_id, number) VALUES ($1, 1) ON CONFLICT DO NOTHING', [id]);
      await query(
        `INSERT INTO vcs_passing (workspace_id, repository_id, commit, number)
         SELECT w.id, v.id, 'due', 1 FROM vcs_repository v JOIN workspace w ON w.organization_id = v.organization_id
          WHERE v.id = $1 ON CONFLICT DO NOTHING`,
        [id],
      );
    }
    for (const [, table, column] of jobs) await query(`UPDATE ${table} SET ${column} = to_timestamp(0)`);
  };
  const due = async ([, table, column, organization]: Job, name: keyof typeof hosts) => {
    const text = `SELECT 1 FROM ${table} t WHERE ${column} = to_timestamp(0) AND ${organization} = $1`;
    return (await query(text, [ids[name]])).rows.length;
  };

  beforeAll(async () => {
    for (const name of names) {
      const host = hosts[name];
      await host.start();
      host.branches.set('main', host.commit('Begin'));
      await workspaces.organization(name, { 'default-execution-mode': 'remote' });
      ids[name] = (await query('SELECT id FROM organization WHERE name = $1', [name])).rows[0].id;
      const client = resource('oauth-clients', {
        'service-provider': 'gitea',
        'http-url': host.origin,
        'api-url': `${host.origin}/api/v1`,
        'oauth-token-string': 'of-the-host',
      });
      const { body } = await workspaces.admin.post(`organizations/${name}/oauth-clients`, client).expect(201);
      const repo = { identifier: 'team/net', 'oauth-token-id': body.data.relationships['oauth-tokens'].data[0].id };
      const workspace = resource('workspaces', { name: 'net', 'queue-all-runs': true, 'vcs-repo': repo });
      await workspaces.admin.post(`organizations/${name}/workspaces`, workspace).expect(201);
      await query('INSERT INTO github_app (oauth_client_id) VALUES ($1)', [body.data.id]);
    }
    await syncRepositories(means(), settings, 3600);
  });
  afterAll(() => {
    for (const name of names) hosts[name].stop();
  });

  it.each(jobs)('is skipped by the jobs for %s until it has answered', async (...job) => {
    const [, , , , run] = job;
    // This app has no key, so its host is not called.
    const go = (turns: Turns) => run(turns).catch((error: Error) => expect(error.message).toContain('DECODER'));
    await makeDue();
    const turns = new Turns(10);
    let answer: () => void = () => undefined;
    const call = new Promise<void>((resolve) => {
      answer = resolve;
    });
    await turns.each(
      1,
      async () => [{ organization_id: ids.stuck }],
      () => call,
    );
    expect(await Promise.all(names.map((name) => due(job, name)))).toEqual([1, 1]);
    await go(turns);
    while (turns.busy.length > 1) await new Promise((resolve) => setTimeout(resolve, 10));
    expect(await Promise.all(names.map((name) => due(job, name)))).toEqual([1, 0]);
    answer();
    await call;
    await turns.settled().then(() => go(turns));
    await turns.settled();
    expect(await due(job, 'stuck')).toBe(0);
  });

  it('does not delay the others, and is waited for in the end', async () => {
    await makeDue();
    hosts.stuck.hangs = true;
    const turns = jobs.slice(0, 5).map(() => new Turns(50));
    const beganMs = performance.now();
    for (const [at, [, , , , run]] of jobs.slice(0, 5).entries()) await run(turns[at]!);
    const others = () => turns.flatMap(({ busy }) => busy.filter((id) => id !== ids.stuck));
    while (others().length > 0) await new Promise((resolve) => setTimeout(resolve, 10));
    expect(await Promise.all(jobs.slice(0, 5).map((job) => due(job, 'acme')))).toEqual([0, 0, 0, 0, 0]);
    expect(performance.now() - beganMs).toBeLessThan(10_000);
    expect(turns.map(({ busy }) => busy)).toContainEqual([ids.stuck]);
    hosts.stuck.stop();
    await Promise.all(turns.map((one) => one.settled()));
    expect(turns.flatMap(({ busy }) => busy)).toEqual([]);
  });
});
