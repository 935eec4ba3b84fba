import { describe, expect, it } from '@jest/globals';
import { jobsOf } from '../src/housekeeping';
import { configured, fetchUrl, startRun } from './configurations';
import { grant, grantProject, type Member, member, organizationToken, project, team, teamToken } from './members';
import { startRuns, stateOf } from './run-fixture';
import { type Client, PASSWORD, ref, resource } from './start-workspaces';

type Held = Member & { readonly grantId: string; readonly teamId: string };

// If this failed, a revoked right would still work through earlier requests.

describe('a request from before the loss of a right', () => {
  const runs = startRuns();
  const { workspaces, admin } = runs;
  const sql = async (text: string, ...values: unknown[]) => (await workspaces.service.pool.query(text, values)).rows;
  let count = 0;
  const someone = async (): Promise<Held> => {
    const teamId = await team(workspaces, 'acme', `later-${++count}`);
    const grantId = await grant(workspaces, teamId, runs.workspace, 'write');
    return { ...(await member(workspaces, 'acme', [teamId])), grantId, teamId };
  };
  const audited = async (action: string, id: string) =>
    (await sql('SELECT after FROM audit_event WHERE action = $1 AND target_id = $2', action, id)).length;

  /** How a person loses their rights. */
  const losses: Readonly<Record<string, (person: Held) => Promise<unknown>>> = {
    'removed from the organization': ({ membershipId }) =>
      admin.delete(`organization-memberships/${membershipId}`).expect(204),
    'removed from the team': ({ teamId, membershipId }) =>
      admin
        .delete(`teams/${teamId}/relationships/organization-memberships`)
        .send({ data: [{ type: 'organization-memberships', id: membershipId }] })
        .expect(204),
    'left without a grant': ({ grantId }) => admin.delete(`team-workspaces/${grantId}`).expect(204),
    'given less': ({ grantId }) =>
      admin.patch(`team-workspaces/${grantId}`, resource('team-workspaces', { access: 'read' })).expect(200),
    'left without their team': ({ teamId }) => admin.delete(`teams/${teamId}`).expect(204),
    suspended: ({ id }) => sql('UPDATE user_account SET suspended_at = now() WHERE id = $1', id),
    deleted: ({ id }) => sql('DELETE FROM user_account WHERE id = $1', id),
  };

  const begin = async (kind: 'plan' | 'apply') => runs.worker.start(await runs.worker.take(kind));
  const isRefused = async (id: string, kind: 'plan' | 'apply', reason: string) => {
    const { attributes } = await runs.show(id);
    expect(attributes).toMatchObject({ status: 'discarded', 'status-reason': `Did not start: ${reason}` });
    expect(Object.keys(attributes['status-timestamps'])).not.toContain(kind === 'plan' ? 'planning-at' : 'applying-at');
    expect(await audited(`run.${kind}-refuse`, id)).toBe(1);
    const { attributes: workspace } = await runs.lockOf();
    expect(workspace.locked).toBe(false);
  };
  const started = async (by: Client, attributes: object = {}): Promise<string> =>
    (await startRun(by, runs.workspace, attributes).expect(201)).body.data.id;

  /** Requests that take effect later: how each takes effect, and what must happen instead. */
  const effects: Readonly<Record<string, (person: Held) => Promise<() => Promise<void>>>> = {
    'a queued plan': async (person) => {
      const id = await started(person);
      return async () => {
        expect(await begin('plan')).toBe(false);
        await isRefused(id, 'plan', 'the user who started it may no longer plan in this workspace');
      };
    },
    'a confirmed apply': async (person) => {
      const id = await started(admin, { 'auto-apply': false });
      await runs.worker.plan();
      await person.post(`runs/${id}/actions/apply`, {}).expect(202);
      return async () => {
        expect(await begin('apply')).toBe(false);
        await isRefused(id, 'apply', 'the user who confirmed it may no longer apply in this workspace');
      };
    },
    'an apply without confirmation': async (person) => {
      const id = await started(person, { 'auto-apply': true });
      await runs.worker.plan();
      expect(await runs.statusOf(id)).toBe('apply_queued');
      return async () => {
        expect(await begin('apply')).toBe(false);
        await isRefused(id, 'apply', 'the user who started it may no longer apply in this workspace');
      };
    },
    'a create that is sent again': async (person) => {
      const relationships = { workspace: { data: { type: 'workspaces', id: runs.workspace } } };
      const send = () => person.post('runs', resource('runs', {}, relationships)).set('Idempotency-Key', 'again');
      const { id } = (await send().expect(201)).body.data;
      expect((await send().expect(201)).body.data.id).toBe(id);
      return async () => {
        const [sent, read] = [await send(), await person.get(`runs/${id}`)];
        // A repetition shows what a read shows, and nothing to callers who may not read.
        if (read.status === 200) expect(sent.body.data.attributes.status).toEqual(read.body.data.attributes.status);
        else expect([401, 403, 404]).toContain(sent.status);
        if (read.status !== 200) expect(sent.text).not.toContain(id);
        expect(await sql('SELECT id FROM run WHERE workspace_id = $1', runs.workspace)).toEqual([{ id }]);
      };
    },
  };

  const table = Object.keys(effects).flatMap((effect) => Object.keys(losses).map((loss) => [effect, loss] as const));

  it.each(table)('%s does not take effect for someone %s', async (effect, loss) => {
    await configured(workspaces, runs.workspace);
    await runs.worker.claim();
    const person = await someone();
    const later = await effects[effect]!(person);
    await losses[loss]!(person);
    await later();
  });

  it.each(['plan', 'apply'] as const)('a %s that a team requested ends with the rights of the team', async (kind) => {
    await configured(workspaces, runs.workspace);
    await runs.worker.claim();
    const { teamId, grantId } = await someone();
    const id = await started(await teamToken(workspaces, teamId), { 'auto-apply': true });
    if (kind === 'apply') await runs.worker.plan();
    await losses['given less']!({ grantId } as Held);
    expect(await begin(kind)).toBe(false);
    await isRefused(id, kind, `the user who started it may no longer ${kind} in this workspace`);
  });

  it.each(['plan', 'apply'] as const)('a %s ends if its workspace left the project of the grant', async (kind) => {
    const [from, to] = [
      await project(workspaces, 'acme', `from-${++count}`),
      await project(workspaces, 'acme', `to-${count}`),
    ];
    const move = (id: string) =>
      admin
        .patch(`workspaces/${runs.workspace}`, resource('workspaces', {}, { project: ref('projects', id) }))
        .expect(200);
    await move(from);
    await configured(workspaces, runs.workspace);
    await runs.worker.claim();
    const teamId = await team(workspaces, 'acme', `movers-${count}`);
    await grantProject(workspaces, teamId, from, 'maintain');
    const id = await started(await member(workspaces, 'acme', [teamId]), { 'auto-apply': true });
    if (kind === 'apply') await runs.worker.plan();
    await move(to);
    expect(await begin(kind)).toBe(false);
    await isRefused(id, kind, `the user who started it may no longer ${kind} in this workspace`);
  });

  const token = 'organizations/acme/authentication-token';
  /** A request by the organization's token, and whether it takes effect. */
  const ofOrganization: Record<string, (by: Client) => Promise<() => Promise<boolean>>> = {
    'an invitation': async (by) => {
      const body = resource('organization-memberships', { email: `guest-${++count}@b.co` });
      const made = await by.post('organizations/acme/organization-memberships', body).expect(201);
      const link = new URL(made.body.meta['invite-url']).pathname.replace('/app/', '/api/v2/');
      const chosen = resource('one-time-links', { username: `guest-${count}`, password: PASSWORD });
      return async () => (await workspaces.anyone.post(link, chosen)).status === 200;
    },
    'a link': async (by) => {
      await runs.started({ 'auto-apply': true });
      await runs.worker.plan();
      const job = await runs.worker.take('apply');
      await runs.worker.start(job);
      await runs.worker.saveState(job, stateOf(1));
      const { body } = await by.get(`workspaces/${runs.workspace}/current-state-version`).expect(200);
      const link = body.data.attributes['hosted-state-download-url'];
      return async () => (await fetchUrl(workspaces, link)).status === 200;
    },
  };
  const tokenEnds: Record<string, { by: () => Promise<unknown>; lasts: boolean }> = {
    nothing: { by: async () => undefined, lasts: true },
    'another token': { by: () => admin.post(token, {}).expect(201), lasts: true },
    'its end': { by: () => admin.delete(token).expect(204), lasts: false },
    'its time': {
      by: () => sql("UPDATE token SET expires_at = now() - interval '1 second' WHERE kind = 'organization'"),
      lasts: false,
    },
  };
  const tokenTable = Object.keys(ofOrganization).flatMap((effect) =>
    Object.keys(tokenEnds).map((end) => [effect, end] as const),
  );

  it.each(tokenTable)(
    '%s by a token of the organization depends on the organization’s rights after %s',
    async (effect, end) => {
      const later = await ofOrganization[effect]!(await organizationToken(workspaces, 'acme'));
      await tokenEnds[end]!.by();
      expect(await later()).toBe(tokenEnds[end]!.lasts);
    },
  );

  it('takes effect for people who still have the right, and the next run follows a refused one', async () => {
    await configured(workspaces, runs.workspace);
    await runs.worker.claim();
    const [lost, still] = [await someone(), await someone()];
    const first = await started(lost);
    const second = await started(still, { 'auto-apply': true });
    await losses.suspended!(lost);
    expect(await begin('plan')).toBe(false);
    expect(await runs.statusOf(first)).toBe('discarded');
    await runs.worker.plan();
    await runs.worker.apply();
    expect(await runs.statusOf(second)).toBe('applied');
  });

  /** Whose rights each background job uses. A new job must be added here, so that this is decided. */
  const jobs: Readonly<Record<string, readonly string[]>> = {
    'what is decided when a worker begins, or when the plan is done': [
      'start triggered runs',
      'start auto-destroy runs',
      'start assessments',
      'process webhook deliveries',
    ],
    'the workspace, whose members are the only recipients': [
      'deliver notifications',
      'send auto-destroy reminders',
      'report commit statuses',
      'report passing statuses of commits without a run',
      'comment on pull requests',
    ],
    'the person of the token, or the owners, as they are when it is sent': ['send reminders of expiring tokens'],
    'the connection, while it is there': [
      'adopt repositories of older nodes',
      'sync repositories',
      'publish versions from repositories',
      'find app installations',
      'renew Git host tokens',
    ],
    'the policy as it is now': ['apply retention policies'],
    'the task as it is now: one that was deleted or leads elsewhere gets nothing': ['perform run tasks'],
    'no one: it ends, forgets or reads what is there': [
      'settle runs of lost workers',
      'end runs whose version no worker has',
      'delete abandoned agent requests',
      'delete old webhook deliveries',
      'delete old assessments',
      'delete delivered notifications',
      'end policy evaluations that nothing judges',
      'delete records of test mails',
      'revoke credentials of finished runs',
      'delete stopped workers',
      'delete old audit events',
      'erase removed organizations',
      'remove hidden results of runs',
      'remove unfinished uploads',
      'delete expired plan exports',
      'delete objects of removed blobs',
      'end locks without a heartbeat',
      'read unread states',
      'empty the quarantine',
      'delete ended console sessions',
      'delete expired idempotency keys',
    ],
  };

  it('runs with the rights of a known owner in every background job', () => {
    const { db, env } = workspaces.service;
    const vcs = {
      reach: undefined as never,
      publicUrl: '',
      pollSeconds: 60,
      uploads: env,
      settings: () => env.settings(),
    };
    const parts = { ...env, log: undefined as never, outage: undefined as never, clockTrouble: () => undefined };
    const names = jobsOf(db, { ...parts, consoleIdleMinutes: 30, vcs }).map(({ name }) => name);
    expect(Object.values(jobs).flat().sort()).toEqual([...names].sort());
  });
});
