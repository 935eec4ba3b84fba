import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { together } from '../src/resources/runs/vcs/commit-status';
import { reportStatuses } from '../src/resources/runs/vcs/reports';
import { syncRepositories } from '../src/resources/runs/vcs/sync-repositories';
import { reportUntriggered } from '../src/resources/runs/vcs/untriggered-statuses';
import { FakeGitea } from './fake-gitea';
import { fakeWorker } from './fake-worker';
import { fetchAll as fetchEverything } from './fetch-all';
import { resource, startWorkspaces } from './start-workspaces';

describe('the status of a commit', () => {
  const host = new FakeGitea();
  const workspaces = startWorkspaces({ env: { WORKSPACES_VCS: 'on', WORKSPACES_VCS_NETWORKS: '127.0.0.1/32' } });
  const { admin } = workspaces;
  const worker = fakeWorker(workspaces);
  const tokens = new Map<string, string>();
  let counter = 0;
  const organization = async (name: string, attributes: object) => {
    await workspaces.organization(name, { 'default-execution-mode': 'remote', ...attributes });
    const connection = {
      'service-provider': 'gitea',
      'http-url': host.origin,
      'api-url': `${host.origin}/api/v1`,
      'oauth-token-string': 'text',
    };
    const { body } = await admin.post(`organizations/${name}/oauth-clients`, resource('oauth-clients', connection));
    tokens.set(name, body.data.relationships['oauth-tokens'].data[0].id);
  };
  const follow = async (org: string, name: string, attributes: object = {}) => {
    const repo = { identifier: 'team/net', 'oauth-token-id': tokens.get(org) };
    const body = resource('workspaces', { name, 'queue-all-runs': true, 'vcs-repo': repo, ...attributes });
    await admin.post(`organizations/${org}/workspaces`, body).expect(201);
  };
  const means = () => {
    const { db, env } = workspaces.service;
    return { db, keyring: env.keyring, reach: env.vcsReach!, publicUrl: env.publicUrl };
  };
  const look = async () => {
    await means().db.prisma.vcsRepository.updateMany({ data: { nextAt: new Date(0) } });
    await syncRepositories(means(), () => workspaces.service.env.settings(), 3600);
  };
  const fetchAll = () => fetchEverything(workspaces.service);
  /** Commits to `main`; returns the statuses of the commit, newest last, once they were requested. */
  const push = async () => {
    const sha = host.commit(`Commit ${++counter}`);
    host.branches.set('main', sha);
    await look();
    return sha;
  };
  const told = async (sha: string, organizationName: string) => {
    await means().db.prisma.ingressAttributes.updateMany({ data: { statusAt: new Date(0) } });
    await reportStatuses(means());
    return host.statuses
      .filter((one) => one.sha === sha && one.context.startsWith(`keystead/${organizationName}`))
      .map(({ context, state, description }) => `${context.replace('keystead/', '')} ${state}: ${description}`);
  };
  /** Plans the next run, and discards it if it has changes, so that another can follow. */
  const plan = async (result: Parameters<typeof worker.plan>[0]) => {
    const { runId } = await worker.plan(result);
    if (result?.hasChanges !== false && result?.outcome !== 'errored')
      await admin.post(`runs/${runId}/actions/apply`, {});
    if (result?.hasChanges !== false && result?.outcome !== 'errored') await worker.apply();
  };

  beforeAll(async () => {
    await host.start();
    host.branches.set('main', host.commit('Begin'));
    await organization('one', {});
    await organization('each', { 'aggregated-commit-status-enabled': false });
  });
  afterAll(() => host.stop());
  beforeEach(async () => {
    for (const org of ['one', 'each']) {
      const { body } = await admin.get(`organizations/${org}/workspaces`).expect(200);
      for (const { id } of body.data) await admin.delete(`workspaces/${id}`).expect(204);
    }
  });

  it('is one status for all workspaces of an organization, and pending until each of them is done', async () => {
    await follow('one', 'east');
    await follow('one', 'west');
    const sha = await push();
    expect(await told(sha, 'one')).toEqual(['one pending: 0 of 2 workspaces done']);
    await fetchAll();
    await told(sha, 'one');
    await plan({ hasChanges: false });
    expect((await told(sha, 'one')).at(-1)).toBe('one pending: 1 of 2 workspaces done');
    await plan({ hasChanges: true });
    const all = await told(sha, 'one');
    expect(all.at(-1)).toMatch(/^one success: 1 of 2 workspaces with changes: (east|west)$/);
    expect(await told(sha, 'one')).toEqual(all);
  });

  it('shows how many policies were evaluated for the plan, and how many failed', async () => {
    await follow('one', 'judged');
    const sha = await push();
    await fetchAll();
    const { runId } = await worker.plan({ hasChanges: true });
    const outcomes = JSON.stringify([{ status: 'passed' }, { status: 'failed' }, { status: 'errored' }]);
    await workspaces.service.pool.query(
      `INSERT INTO task_stage (id, run_id, stage) VALUES ('ts-1', '${runId}', 'post_plan');
       INSERT INTO policy_evaluation (id, organization_id, task_stage_id, kind) VALUES ('poleval-1', 'org-1', 'ts-1', 'opa');
       INSERT INTO policy_set_outcome (id, policy_evaluation_id, policy_set_id, policy_set_name, overridable, outcomes)
       VALUES ('psout-1', 'poleval-1', 'polset-1', 'rules', true, '${outcomes}')`,
    );
    expect((await told(sha, 'one')).at(-1)).toMatch(
      /^one pending: Planned: .*; 2 of 3 policies did not pass\. Waiting to be confirmed$/,
    );
    await workspaces.service.pool.query(`UPDATE run SET status = 'post_plan_awaiting_decision' WHERE id = '${runId}'`);
    expect((await told(sha, 'one')).at(-1)).toMatch(/Waiting to be overridden$/);
    await workspaces.service.pool.query(
      `UPDATE run SET status = 'planned' WHERE id = '${runId}';
       UPDATE policy_set_outcome SET outcomes = '[{"status":"passed"}]' WHERE id = 'psout-1'`,
    );
    expect((await told(sha, 'one')).at(-1)).toMatch(/; 1 policy passed\. Waiting to be confirmed$/);
  });

  it('fails as soon as one workspace fails', async () => {
    await follow('one', 'east');
    await follow('one', 'west');
    const sha = await push();
    await fetchAll();
    await plan({ outcome: 'errored', reason: 'no provider' } as never);
    expect((await told(sha, 'one')).at(-1)).toMatch(/^one failure: 1 of 2 workspaces failed: (east|west)$/);
  });

  it('is that of the workspace if there is only one', async () => {
    await follow('one', 'lone');
    const sha = await push();
    await fetchAll();
    await plan({ hasChanges: false });
    expect((await told(sha, 'one')).at(-1)).toBe('one success: No changes');
  });

  it('is reported by only one of several nodes', async () => {
    await follow('one', 'east');
    await follow('one', 'west');
    const sha = await push();
    const before = host.statuses.length;
    await Promise.all(Array.from({ length: 5 }, () => reportStatuses(means())));
    expect(host.statuses.filter((one) => one.sha === sha)).toHaveLength(host.statuses.length - before);
    expect(host.statuses.length - before).toBe(1);
  });

  it('is reported for all workspaces even if the report for the first one was given up', async () => {
    await follow('one', 'east');
    await follow('one', 'west');
    const sha = await push();
    const { ingressAttributes } = means().db.prisma;
    const rows = await ingressAttributes.findMany({ where: { commitSha: sha } });
    const [first] = rows.sort((a, b) => (a.id < b.id ? -1 : 1));
    const hours = new Date(Date.now() + 6 * 3_600_000);
    await ingressAttributes.update({ where: { id: first!.id }, data: { statusSent: 'given up', statusAt: hours } });
    await reportStatuses(means());
    const about = host.statuses.filter((one) => one.sha === sha);
    expect(about.map(({ description }) => description)).toEqual(['0 of 2 workspaces done']);
    const after = await ingressAttributes.findMany({ where: { commitSha: sha } });
    expect(after.map(({ statusSent }) => statusSent)).not.toContain('given up');
  });

  it('is separate for each workspace if the organization wants that', async () => {
    await follow('each', 'east');
    await follow('each', 'west');
    const sha = await push();
    expect((await told(sha, 'each')).map((text) => text.split(':')[0])).toEqual(
      expect.arrayContaining(['each/east pending', 'each/west pending']),
    );
  });

  it('is reported once as passed if the commit concerns no workspace, but not if it concerns another workspace', async () => {
    await admin
      .patch(
        'admin/general-settings',
        resource('general-settings', { 'send-passing-statuses-for-untriggered-speculative-plans': true }),
      )
      .expect(200);
    await follow('one', 'net', { 'working-directory': 'net' });
    await follow('one', 'dns', { 'working-directory': 'dns' });
    await look();
    const unrelated = host.commit('Unrelated');
    host.pulls.push({ number: 1, head: unrelated, files: ['readme.md'] });
    host.pulls.push({ number: 2, head: host.commit('Early'), files: ['dns/a.tf'] });
    await look();
    await reportUntriggered(means());
    const about = (sha: string) => host.statuses.filter((one) => one.sha === sha).map(({ context }) => context);
    expect(new Set(about(unrelated))).toEqual(new Set(['keystead/one']));
    const another = host.commit('Another');
    host.pulls[1]!.head = another;
    await look();
    await reportUntriggered(means());
    expect(about(another)).toEqual([]);
    expect(await told(another, 'one')).toEqual(['one pending: Fetching the commit']);
  });

  it.each([
    [['success', 'success'], [false, false], 'success: No changes in 2 workspaces'],
    [['success', 'success'], [true, null], 'success: 2 of 2 workspaces with changes: w0, w1'],
    [['success', 'pending'], [true, null], 'pending: 1 of 2 workspaces done'],
    [['pending', 'error'], [null, null], 'error: 1 of 2 workspaces failed: w1'],
    [['error', 'failure'], [null, null], 'failure: 2 of 2 workspaces failed: w0, w1'],
  ] as const)('of %j with changes %j is %s', (states, changes, expected) => {
    const all = states.map((state, i) => ({
      state,
      description: '',
      workspace: `w${i}`,
      hasChanges: changes[i] ?? null,
    }));
    const { state, description } = together(all);
    expect(`${state}: ${description}`).toBe(expected);
  });
});
