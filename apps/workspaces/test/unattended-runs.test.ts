import { createHash } from 'node:crypto';
import { describe, expect, it } from '@jest/globals';
import { startAutoDestroy } from '../src/resources/runs/runs/auto-destroy';
import { startTriggered } from '../src/resources/runs/runs/run-triggers';
import { CreateRun } from '../src/resources/runs/runs/schema';
import { announced, archiveOf, configured, fetchUrl, putUrl, startRun } from './configurations';
import { grant, member, team } from './members';
import { startRuns, stateOf } from './run-fixture';
import { type Client, ref, resource } from './start-workspaces';

// No code may be applied without the consent of someone who may apply it.

describe('runs without confirmation by a person', () => {
  const runs = startRuns();
  const { workspaces, admin } = runs;
  const sql = (text: string, values: unknown[] = []) => workspaces.service.pool.query(text, values);
  const parts = () => [workspaces.service.db, workspaces.service.env.keyring] as const;
  let count = 0;
  const withGrant = async (access: string) => {
    const id = await team(workspaces, 'acme', `${access}-${++count}`);
    const grantId = await grant(workspaces, id, runs.workspace, access);
    return { ...(await member(workspaces, 'acme', [id])), grantId };
  };
  const patch = (attributes: object) =>
    admin.patch(`workspaces/${runs.workspace}`, resource('workspaces', attributes)).expect(200);
  const newest = async () => (await admin.get(`workspaces/${runs.workspace}/runs`).expect(200)).body.data[0];
  const audited = async (id: string) =>
    (
      await sql(
        "SELECT count(*)::int AS n FROM audit_event WHERE action = 'run.auto-apply-refuse' AND target_id = $1",
        [id],
      )
    ).rows[0].n;

  /** Ways to start a run that applies without confirmation. */
  const starts = {
    'a run trigger': async () => {
      const { id: source } = await workspaces.workspace('acme', `source-${++count}`);
      await patch({ 'auto-apply-run-trigger': true });
      const body = resource('run-triggers', {}, { sourceable: ref('workspaces', source) });
      await admin.post(`workspaces/${runs.workspace}/run-triggers`, body).expect(201);
      await configured(workspaces, source);
      await startRun(admin, source, { 'auto-apply': true }).expect(201);
      await runs.worker.plan();
      await runs.worker.apply();
      expect(await startTriggered(...parts())).toBe(1);
    },
    'the time of its destruction': async () => {
      const md5 = createHash('md5').update(stateOf(1)).digest('hex');
      const state = { serial: 1, md5, lineage: 'l-1', state: stateOf(1).toString('base64') };
      await admin.post(`workspaces/${runs.workspace}/actions/lock`, {}).expect(200);
      await admin.post(`workspaces/${runs.workspace}/state-versions`, resource('state-versions', state)).expect(201);
      await admin.post(`workspaces/${runs.workspace}/actions/unlock`, {}).expect(200);
      await sql("UPDATE workspace SET auto_destroy_at = now() + interval '1 hour' WHERE id = $1", [runs.workspace]);
      await sql('ALTER TABLE workspace DISABLE TRIGGER workspace_auto_destroy');
      await sql("UPDATE workspace SET auto_destroy_due_at = now() - interval '1 hour' WHERE id = $1", [runs.workspace]);
      await sql('ALTER TABLE workspace ENABLE TRIGGER workspace_auto_destroy');
      expect(await startAutoDestroy(...parts())).toBe(1);
    },
    'someone who may apply': async () => {
      const person = await withGrant('write');
      await startRun(person, runs.workspace, { 'auto-apply': true }).expect(201);
    },
  } as const;

  /** The origin of its configuration, and whether it is applied. */
  const configurations = {
    'of someone who may plan': { by: 'plan', applies: false },
    'of someone who may apply': { by: 'write', applies: true },
    'of someone who could apply until just now': { by: 'write', lost: true, applies: false },
    'of someone who may plan, which a confirmed run has applied': { by: 'plan', confirmed: true, applies: true },
  } as const;

  const table = Object.keys(starts).flatMap((start) =>
    Object.keys(configurations).map((whose) => [start, whose] as const),
  );

  it.each(table)('started by %s, with a configuration %s', async (start, whose) => {
    const { by, applies, ...more } = configurations[whose as keyof typeof configurations] as {
      by: string;
      applies: boolean;
      lost?: boolean;
      confirmed?: boolean;
    };
    const author = await withGrant(by);
    await configured(workspaces, runs.workspace, {}, author);
    await runs.worker.claim();
    if (more.confirmed) {
      const id = await runs.made({ 'auto-apply': false });
      await runs.worker.plan();
      await runs.act(id, 'apply').expect(202);
      await runs.worker.apply();
    }
    await starts[start as keyof typeof starts]();
    if (more.lost) await admin.delete(`organization-memberships/${author.membershipId}`).expect(204);
    await runs.worker.plan();
    const { id, attributes } = await newest();
    expect([attributes.status, attributes['auto-apply']]).toEqual(
      applies ? ['apply_queued', true] : ['planned', false],
    );
    if (applies) return;
    expect(attributes['status-reason']).toMatch(
      /^Waits for confirmation: its configuration was uploaded by a user who may not apply/,
    );
    expect(await audited(id)).toBe(1);
    await runs.act(id, 'apply').expect(202);
    expect(await runs.statusOf(id)).toBe('apply_queued');
  });

  /**
   * The attributes of a run that its creator chooses, and whether a confirmed run with the attribute approves its
   * configuration.
   */
  const chosen: Record<string, { value?: unknown; vouches: boolean }> = {
    message: { value: 'looks good', vouches: true },
    'allow-config-generation': { value: true, vouches: true },
    'allow-empty-apply': { value: true, vouches: true },
    'debugging-mode': { value: true, vouches: true },
    refresh: { value: false, vouches: true },
    'save-plan': { value: true, vouches: true },
    'is-destroy': { value: true, vouches: false },
    'refresh-only': { value: true, vouches: false },
    'replace-addrs': { value: ['null_resource.harmless'], vouches: false },
    'target-addrs': { value: ['null_resource.harmless'], vouches: false },
    variables: { value: [{ key: 'enabled', value: 'false' }], vouches: false },
    // No person confirms these, or they do not affect what the plan shows.
    'auto-apply': { vouches: false },
    'plan-only': { vouches: false },
    'infra-version': { vouches: true },
    'module-versions': { vouches: false },
  };

  it('are tested with every attribute of a run', () => {
    // biome-ignore lint/suspicious/noExplicitAny: a JSON schema
    const schema = CreateRun.jsonSchema() as any;
    const named = Object.keys(schema.properties.data.properties.attributes.properties);
    expect(named.sort()).toEqual(Object.keys(chosen).sort());
  });

  const confirmable = Object.entries(chosen).flatMap(([name, { value, vouches }]) =>
    value === undefined ? [] : [{ name, value, vouches }],
  );
  it.each(confirmable)(
    'use a configuration of someone who may only plan, after a run of it with $name was confirmed: $vouches',
    async (one) => {
      const planner = await withGrant('plan');
      const configuration = await configured(workspaces, runs.workspace, {}, planner);
      await runs.worker.claim();
      const started = await startRun(admin, runs.workspace, { [one.name]: one.value }, configuration).expect(201);
      const { id } = started.body.data;
      await runs.worker.plan();
      await runs.act(id, 'apply').expect(202);
      await runs.worker.apply();
      expect(await runs.statusOf(id)).toBe('applied');
      const later = await startRun(admin, runs.workspace, { 'auto-apply': true }).expect(201);
      await runs.worker.plan();
      expect(await runs.statusOf(later.body.data.id)).toBe(one.vouches ? 'apply_queued' : 'planned');
    },
  );

  const losses: readonly (readonly [string, (person: Awaited<ReturnType<typeof withGrant>>) => Promise<unknown>])[] = [
    ['removed', ({ membershipId }) => admin.delete(`organization-memberships/${membershipId}`).expect(204)],
    ['suspended', ({ id }) => sql('UPDATE user_account SET suspended_at = now() WHERE id = $1', [id])],
    ['deleted', ({ id }) => sql('DELETE FROM user_account WHERE id = $1', [id])],
    [
      'given less',
      ({ grantId }) =>
        admin.patch(`team-workspaces/${grantId}`, resource('team-workspaces', { access: 'plan' })).expect(200),
    ],
  ];

  it.each(losses)('wait for a person if their creator was %s in the meantime', async (_how, lose) => {
    await configured(workspaces, runs.workspace);
    await runs.worker.claim();
    const person = await withGrant('write');
    const { id } = (await startRun(person, runs.workspace, { 'auto-apply': true }).expect(201)).body.data;
    const job = await runs.worker.take('plan');
    expect(await runs.worker.start(job)).toBe(true);
    await lose(person);
    expect(await runs.worker.endPlan(job, { outcome: 'planned', hasChanges: true })).toBe(true);
    const { attributes } = await runs.show(id);
    expect([attributes.status, attributes['status-reason']]).toEqual([
      'planned',
      'Waits for confirmation: the user who started it may no longer apply in this workspace',
    ]);
    expect(await audited(id)).toBe(1);
  });

  it('wait if the workspace no longer applies runs of triggers without confirmation', async () => {
    await configured(workspaces, runs.workspace);
    await starts['a run trigger']();
    await patch({ 'auto-apply-run-trigger': false });
    await runs.worker.plan();
    const { attributes } = await newest();
    expect(attributes).toMatchObject({ status: 'planned', 'status-reason': expect.stringContaining('run triggers') });
  });

  it('use archives that do not change after they were read', async () => {
    const author: Client = await withGrant('plan');
    const body = resource('configuration-versions', { 'auto-queue-runs': false });
    const made = (await author.post(`workspaces/${runs.workspace}/configuration-versions`, body).expect(201)).body.data;
    const put = async (text: string) =>
      putUrl(workspaces, made.attributes['upload-url'], await archiveOf([['main.tf', text]]));
    expect((await put('# one')).status).toBe(200);
    expect((await put('# two')).status).toBe(200);
    const { headers } = await admin.get(`configuration-versions/${made.id}/download`).expect(302);
    await fetchUrl(workspaces, headers.location!).expect(200);
    expect((await put('# three')).status).toBe(409);
  });

  it('use archives that do not change, even if one is read while another is uploaded', async () => {
    const { id, attributes } = await announced(admin, runs.workspace);
    const put = async (text: string) =>
      (await putUrl(workspaces, attributes['upload-url'], await archiveOf([['main.tf', text]]))).status;
    expect(await put('# one')).toBe(200);
    const reader = await workspaces.service.pool.connect();
    try {
      await reader.query('BEGIN');
      await reader.query('UPDATE configuration_version SET read_at = now() WHERE id = $1', [id]);
      const sent = put('# two');
      const waits =
        "SELECT FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query ILIKE '%configuration_version%'";
      while ((await sql(waits)).rowCount === 0) await new Promise((resolve) => setTimeout(resolve, 20));
      await reader.query('COMMIT');
      expect(await sent).toBe(409);
    } finally {
      reader.release(true);
    }
  });
});
