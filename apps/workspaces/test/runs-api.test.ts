import { describe, expect, it } from '@jest/globals';
import { announced, configured, fetchUrl, startRun } from './configurations';
import { member } from './members';
import { pushState, startRuns, stateOf } from './run-fixture';
import { ref, resource } from './start-workspaces';

describe('runs over the API', () => {
  const runs = startRuns();
  const { workspaces, admin, show, statusOf, act, made, started } = runs;

  it.each([
    [{ 'is-destroy': true, 'refresh-only': true }, 'refresh-only'],
    [{ 'refresh-only': true, 'target-addrs': ['a.b'] }, 'refresh-only'],
    [{ 'refresh-only': true, 'replace-addrs': ['a.b'] }, 'refresh-only'],
    [{ 'refresh-only': true, refresh: false }, 'refresh-only'],
    [{ 'infra-version': '1.5.0' }, 'infra-version'],
    [{ 'plan-only': true, 'infra-version': 'no version' }, 'infra-version'],
    [{ 'plan-only': true, 'save-plan': true }, 'save-plan'],
    [{ 'target-addrs': ['-lock=false'] }, 'target-addrs'],
    [{ variables: [{ key: 'a b', value: '1' }] }, 'variables'],
    [{ 'module-versions': [{ source: 'example.com/acme/net/crane', version: '1.0.0' }] }, 'module-versions'],
    [{ 'plan-only': true, 'module-versions': [{ source: 'acme/net/crane', version: '1.0.0' }] }, 'module-versions'],
    [
      { 'plan-only': true, 'module-versions': [{ source: 'example.com/acme/net/crane', version: '1"' }] },
      'module-versions',
    ],
    [
      {
        variables: [
          { key: 'a', value: '1' },
          { key: 'a', value: '2' },
        ],
      },
      'variables',
    ],
    [{ 'auto-apply': 'yes' }, 'auto-apply'],
  ])('are refused with %j', async (attributes, name) => {
    await configured(workspaces, runs.workspace);
    const { body } = await startRun(admin, runs.workspace, attributes).expect(422);
    expect(body.errors[0].source.pointer).toMatch(new RegExp(`^/data/attributes/${name}`));
  });

  it.each([
    [{ 'Terraform-Version': '1.11.4', 'X-Terraform-Integration': 'cloud' }, 'terraform+cloud', true],
    // The older remote backend prints the log as it arrives.
    [{ 'Terraform-Version': '1.11.4' }, 'terraform', false],
    [{}, 'tfe-api', true],
  ])('show their source, and the log in the format of their client: %j', async (headers, source, structuredOutput) => {
    await configured(workspaces, runs.workspace);
    const { body } = await startRun(admin, runs.workspace).set(headers).expect(201);
    expect(body.data.attributes.source).toBe(source);
    expect(await runs.worker.claim()).toMatchObject({ runId: body.data.id, structuredOutput });
  });

  it('need a workspace, an existing configuration, and a place to run', async () => {
    await admin.post('runs', resource('runs', {})).expect(422);
    await startRun(admin, 'ws-nosuch').expect(404);
    const none = await startRun(admin, runs.workspace).expect(422);
    expect(none.body.errors[0].detail).toContain('no configuration has been uploaded');
    const { id: pending } = await announced(admin, runs.workspace);
    await startRun(admin, runs.workspace, {}, pending).expect(422);
    const { id: other } = await workspaces.workspace('acme', `other-${runs.counter}`);
    await startRun(admin, runs.workspace, {}, await configured(workspaces, other)).expect(422);
    await configured(workspaces, runs.workspace);
    await admin
      .patch(`workspaces/${runs.workspace}`, resource('workspaces', { 'allow-destroy-plan': false }))
      .expect(200);
    await startRun(admin, runs.workspace, { 'is-destroy': true }).expect(422);
    await admin
      .patch(`workspaces/${runs.workspace}`, resource('workspaces', { 'execution-mode': 'local' }))
      .expect(200);
    const local = await startRun(admin, runs.workspace).expect(422);
    expect(local.body.errors[0].detail).toContain('execution mode local');
  });

  it('end at once when they destroy an empty workspace, but not one with a state', async () => {
    const { body } = await startRun(admin, runs.workspace, { 'is-destroy': true }).expect(201);
    expect(body.data.attributes).toMatchObject({ status: 'planned_and_finished', 'has-changes': false });
    expect(body.data.relationships['configuration-version'].data).toBeNull();
    const { id } = body.data.relationships.plan.data;
    const { body: plan } = await admin.get(`plans/${id}`).expect(200);
    expect(plan.data.attributes).toMatchObject({ status: 'finished', 'resource-destructions': 0 });
    expect(await runs.worker.claim()).toBeUndefined();
    await pushState(admin, runs.workspace, stateOf(1));
    await startRun(admin, runs.workspace, { 'is-destroy': true }).expect(422);
  });

  it('need the right for planning, applying or administering', async () => {
    const { body: team } = await admin
      .post('organizations/acme/teams', resource('teams', { name: `t${runs.counter}` }))
      .expect(201);
    const grant = (access: string) =>
      admin.post('team-workspaces', {
        data: {
          type: 'team-workspaces',
          attributes: { access },
          relationships: { team: ref('teams', team.data.id), workspace: ref('workspaces', runs.workspace) },
        },
      });
    const token = await admin
      .post(`teams/${team.data.id}/authentication-token`, resource('authentication-tokens'))
      .expect(201);
    const client = workspaces.as(token.body.data.attributes.token);
    const id = await started();
    await client.get(`runs/${id}`).expect(404);
    const { body: access } = await grant('read').expect(201);
    await client.get(`runs/${id}`).expect(200);
    await startRun(client, runs.workspace).expect(404);
    await client.post(`runs/${id}/comments`, resource('comments', { body: 'hm' })).expect(404);
    await client.post(`runs/${id}/actions/cancel`, {}).expect(404);
    const level = (name: string) =>
      admin.patch(`team-workspaces/${access.data.id}`, resource('team-workspaces', { access: name })).expect(200);
    await level('plan');
    const planned = await startRun(client, runs.workspace, { 'auto-apply': true }).expect(201);
    expect(planned.body.data.attributes['auto-apply']).toBe(false);
    expect(planned.body.data.relationships['created-by'].data.type).toBe('users');
    await startRun(client, runs.workspace, { 'is-destroy': true }).expect(404);
    await client.post(`runs/${id}/comments`, resource('comments', { body: 'hm' })).expect(201);
    await client.post(`runs/${id}/actions/cancel`, {}).expect(404);
    await level('write');
    await startRun(client, runs.workspace, { 'is-destroy': true }).expect(201);
    await client.post(`runs/${id}/actions/cancel`, {}).expect(202);
    await client.post(`runs/${id}/actions/force-cancel`, {}).expect(404);
    const made = await admin
      .post('organizations/acme/authentication-token', resource('authentication-tokens'))
      .expect(201);
    const organization = workspaces.as(made.body.data.attributes.token);
    await startRun(organization, runs.workspace).expect(404);
    await organization.post(`workspaces/${runs.workspace}/configuration-versions`).expect(404);
    await organization.post(`runs/${id}/actions/apply`, {}).expect(404);
  });

  it('are listed, filtered by comma-separated lists, and searched (WV.21)', async () => {
    await configured(workspaces, runs.workspace);
    const plain = await made({ message: 'the plain one' });
    const destroy = await made({ 'is-destroy': true });
    const saved = await made({ 'save-plan': true });
    const speculative = await made({ 'plan-only': true });
    const refresh = await made({ 'refresh-only': true });
    await act(plain, 'discard').expect(202);
    const ids = async (query: string, of = `workspaces/${runs.workspace}/runs`): Promise<string[]> =>
      (await admin.get(`${of}?${query}`).expect(200)).body.data.map((run: { id: string }) => run.id);
    expect(await ids('')).toEqual([refresh, saved, destroy, plain]);
    expect(await ids('filter[operation]=plan_only')).toEqual([speculative]);
    expect(await ids('filter[operation]=destroy,save_plan')).toEqual([saved, destroy]);
    expect(await ids('filter[operation]=refresh_only')).toEqual([refresh]);
    for (const none of ['nothing', '__proto__', 'constructor']) {
      await admin.get(`workspaces/${runs.workspace}/runs?filter[operation]=${none}`).expect(400);
    }
    expect(await ids('filter[status]=discarded,applied')).toEqual([plain]);
    expect(await ids('filter[status_group]=final')).toEqual([plain]);
    expect(await ids('filter[status_group]=non_final')).toEqual([refresh, saved, destroy]);
    expect(await ids('filter[source]=tfe-ui')).toEqual([]);
    expect(await ids('filter[timeframe]=P1D&search[basic]=PLAIN')).toEqual([plain]);
    expect(await ids('search[user]=unknown')).toEqual([]);
    expect(await ids('search[user]=admin')).toHaveLength(4);
    expect(await ids('search[commit]=abc')).toEqual([]);
    await admin.get(`workspaces/${runs.workspace}/runs?filter[status_group]=x`).expect(400);
    await admin.get(`workspaces/${runs.workspace}/runs?filter[operation]=x`).expect(400);
    const paged = await admin
      .get(`workspaces/${runs.workspace}/runs?page[size]=2&include=plan,workspace,created_by`)
      .expect(200);
    expect(paged.body.meta.pagination).toMatchObject({ 'total-count': 4, 'total-pages': 2 });
    expect(paged.body.included.map((one: { type: string }) => one.type).sort()).toEqual([
      'plans',
      'plans',
      'users',
      'workspaces',
    ]);
    const organization = await admin.get('organizations/acme/runs?page[size]=3').expect(200);
    expect(organization.body.data.map((run: { id: string }) => run.id)).toEqual([refresh, saved, destroy]);
    expect(organization.body.meta.pagination).toEqual({
      'current-page': 1,
      'page-size': 3,
      'prev-page': null,
      'next-page': 2,
    });
    expect(await ids(`filter[workspace_names]=nosuch`, 'organizations/acme/runs')).toEqual([]);
    await admin.get(`runs/${plain}?include=nonsense`).expect(400);
    const stranger = await workspaces.person(`stranger-${runs.counter}`);
    await stranger.get(`workspaces/${runs.workspace}/runs`).expect(404);
  });

  it('are in the queue of their organization, which shows how busy it is', async () => {
    const first = await started();
    const second = await made();
    const job = await runs.worker.take('plan');
    await runs.worker.start(job);
    const { body } = await admin.get('organizations/acme/runs/queue').expect(200);
    expect(
      body.data.map((run: { id: string; attributes: Record<string, unknown> }) => [
        run.id,
        run.attributes['position-in-queue'],
      ]),
    ).toEqual([
      [first, 0],
      [second, 1],
    ]);
    const capacity = await admin.get('organizations/acme/capacity').expect(200);
    expect(capacity.body.data).toMatchObject({
      type: 'organization-capacity',
      id: 'acme',
      attributes: { pending: 1, running: 1 },
    });
    await runs.worker.endPlan(job, { outcome: 'planned', hasChanges: true, planFile: Buffer.from('plan file') });
    const counts = await admin.get('organizations/acme/run-counts').expect(200);
    const attributes = { 'needs-confirmation': 1, queued: 1, running: 0 };
    expect(counts.body.data).toMatchObject({ type: 'run-counts', id: 'acme', attributes });
    const bare = await member(workspaces, 'acme');
    expect((await bare.get('organizations/acme/run-counts').expect(200)).body.data.attributes).toEqual({
      'needs-confirmation': 0,
      queued: 0,
      running: 0,
    });
  });

  it('show their plan, its log as it grows, and its results by link', async () => {
    const id = await started();
    const { body: before } = await admin.get(`runs/${id}/plan`).expect(200);
    const url: string = before.data.attributes['log-read-url'];
    const window = async (offset: number, limit = 65_536): Promise<string> =>
      (await fetchUrl(workspaces, `${url}?offset=${offset}&limit=${limit}`).expect(200)).body.toString();
    expect(await window(0)).toBe('');
    const job = await runs.worker.take('plan');
    await runs.worker.start(job);
    expect(await window(0)).toBe('\x02');
    await runs.worker.log(job, 'first\x03line\n');
    await runs.worker.log(job, 'x'.repeat(70_000));
    expect(await window(0, 12)).toBe('\x02first line\n');
    expect(await window(7, 4)).toBe('line');
    expect(await window(70_012)).toBe('');
    await admin.get(`plans/${job.planId}/json-output`).expect(204);
    await admin.get(`runs/${id}/plan/json-schema`).expect(204);
    const schemas = '{"a.test/b/c":{"resource_schemas":{"c_d":{"version":12345678901234567890}}}}';
    const redacted = `{"plan_format_version":"1.2","provider_format_version":"1.0","provider_schemas":${schemas}}`;
    await runs.worker.endPlan(job, {
      outcome: 'planned',
      hasChanges: true,
      additions: 3,
      jsonPlan: Buffer.from('{"full":1}'),
      redactedJsonPlan: Buffer.from(redacted),
    });
    expect(await window(70_000)).toBe(`${'x'.repeat(12)}\x03`);
    expect(await window(70_013)).toBe('');
    expect((await window(0)).length).toBe(65_536);
    await fetchUrl(workspaces, url.replace(/.{4}$/, 'AAAA')).expect(404);
    await admin.get(`plans/${job.planId}/logs?offset=x`).expect(400);
    const shown = await admin.get(`plans/${job.planId}`).expect(200);
    expect(shown.body.data.attributes).toMatchObject({
      status: 'finished',
      'has-changes': true,
      'resource-additions': 3,
      'execution-details': { mode: 'remote' },
    });
    for (const [path, text] of [
      [`plans/${job.planId}/json-output`, '{"full":1}'],
      [`runs/${id}/plan/json-output`, '{"full":1}'],
      [`plans/${job.planId}/json-output-redacted`, redacted],
      [`plans/${job.planId}/json-schema`, `{"format_version":"1.0","provider_schemas":${schemas}}`],
      [`runs/${id}/plan/json-schema`, `{"format_version":"1.0","provider_schemas":${schemas}}`],
    ] as const) {
      const found = await admin.get(path).expect(307);
      expect((await fetchUrl(workspaces, found.headers.location!).expect(200)).body.toString()).toBe(text);
    }
    const sealed = await workspaces.service.pool.query('SELECT sealed FROM log_chunk LIMIT 1');
    expect(sealed.rows[0].sealed.includes('line')).toBe(false);
    await admin.get('cost-estimates/ce-1').expect(404);
  });

  it('list their events', async () => {
    const id = await started();
    await runs.worker.plan();
    const comment = await admin.post(`runs/${id}/comments`, resource('comments', { body: 'why?' })).expect(201);
    await act(id, 'discard', { data: { attributes: { comment: 'enough' } } }).expect(202);
    const { body } = await admin.get(`runs/${id}/run-events?include=actor,comment`).expect(200);
    expect(body.included.map((one: { type: string }) => one.type).sort()).toEqual(['comments', 'comments', 'users']);
    expect(body.data.map((event: { attributes: { action: string } }) => event.attributes.action)).toEqual([
      'created',
      'plan-queued',
      'planning',
      'planned',
      'commented',
      'discarded',
      'commented',
    ]);
    await admin.get(`run-events/${body.data[0].id}`).expect(200);
    await admin.get(`comments/${comment.body.data.id}`).expect(200);
    expect((await show(id)).relationships.comments.data).toHaveLength(2);
    const audit = await admin.get(`organizations/acme/audit-events?filter[target]=${id}`).expect(200);
    expect(audit.body.data.map((event: { attributes: { action: string } }) => event.attributes.action)).toEqual([
      'run.discarded',
      'run.create',
    ]);
  });

  it('are shown with their workspace', async () => {
    const configuration = await configured(workspaces, runs.workspace);
    await runs.worker.claim();
    const id = await made();
    const { body } = await admin
      .get(
        `workspaces/${runs.workspace}?include=current_run,current_run.plan,current_run.configuration_version,current_configuration_version,latest_run`,
      )
      .expect(200);
    expect(body.included.map((one: { type: string; id: string }) => [one.type, one.id])).toEqual(
      expect.arrayContaining([
        ['runs', id],
        ['configuration-versions', configuration],
        ['plans', expect.stringMatching(/^plan-/)],
      ]),
    );
    const listed = await admin.get('organizations/acme/workspaces?filter[current-run][status]=plan_queued').expect(200);
    expect(listed.body.data.map((one: { id: string }) => one.id)).toContain(runs.workspace);
  });

  it.each([
    'runs/%00',
    'plans/%00',
    'applies/%00/logs',
    'plans/plan-nosuch/logs/1/x',
    'run-events/%00',
    'comments/%00',
    'configuration-versions/%00',
    'configuration-versions/cv-nosuch/download',
    'runs/run-nosuch/plan/json-output',
    'runs/run-nosuch/comments',
  ])('that do not exist are not found: %s', async (path) => {
    await admin.get(path).expect(404);
  });

  it('are listed by a query that names their workspace', async () => {
    const ids = async (path: string) =>
      (await admin.get(path).expect(200)).body.data.map((one: { id: string }) => one.id);
    const id = await runs.started();
    const sought = `runs?workspace_id=${runs.workspace}`;
    expect(await ids(`${sought}&organization_name=acme`)).toEqual(await ids(`workspaces/${runs.workspace}/runs`));
    expect(await ids(sought)).toContain(id);
    await admin.get(`${sought}&organization_name=other`).expect(404);
    await admin.get('runs').expect(404);
    await (await workspaces.person('stranger-to-runs')).get(sought).expect(404);
  });

  it.each(['filter[timeframe]=P9999D', 'filter[timeframe]=0000', 'search[basic]=%25%5C_'])(
    'are listed by any filter: %s',
    async (query) => {
      const { body } = await admin.get(`workspaces/${runs.workspace}/runs?${query}`).expect(200);
      expect(body.data).toEqual([]);
    },
  );

  it.each(['filter[status]', 'search[user]', 'search[basic]'])(
    'cannot be looked up with null characters: %s',
    async (name) => {
      const { body } = await admin.get(`workspaces/${runs.workspace}/runs?${name}=a%00`).expect(400);
      expect(body.errors[0].source).toEqual({ parameter: name });
    },
  );

  it('are seen and ended by site administrators', async () => {
    const id = await started();
    const pending = await made();
    const root = await workspaces.person(`root-${runs.counter}`, { siteAdmin: true });
    const ids = async (query: string) =>
      (await root.get(`admin/runs?${query}`).expect(200)).body.data.map((run: { id: string }) => run.id);
    expect(await ids('')).toEqual([pending, id]);
    expect(await ids(`q=${id}`)).toEqual([id]);
    expect(await ids('filter[status]=pending')).toEqual([pending]);
    const created = (await runs.show(pending)).attributes['created-at'];
    expect(await ids('filter[from]=2030-01-01')).toEqual([]);
    expect(await ids(`filter[from]=${created}`)).toEqual([pending]);
    expect(await ids(`filter[to]=${created}`)).toEqual([pending, id]);
    expect(await ids('filter[to]=2020-01-01')).toEqual([]);
    await root.get('admin/runs?filter[from]=soon').expect(400);
    const included = await admin.get('admin/runs?include=workspace,workspace.organization').expect(200);
    expect(included.body.included.map((one: { type: string }) => one.type)).toEqual(['workspaces', 'organizations']);
    await root.post(`admin/runs/${id}/actions/force-cancel`, { comment: 'misclick' }).expect(202);
    expect(await statusOf(id)).toBe('canceled');
    await root.post(`admin/runs/${id}/actions/force-cancel`, {}).expect(409);
    await root.post('admin/runs/run-nosuch/actions/force-cancel', {}).expect(404);
    const stranger = await workspaces.person(`stranger-${runs.counter}`);
    await stranger.get('admin/runs').expect(404);
    await stranger.post(`admin/runs/${pending}/actions/force-cancel`, {}).expect(404);
  });

  it('are created once for an idempotency key', async () => {
    await configured(workspaces, runs.workspace);
    const send = () =>
      startRun(admin, runs.workspace, { message: 'once' }).set('Idempotency-Key', `once-${runs.counter}`);
    const first = await send().expect(201);
    const second = await send().expect(201);
    expect(second.body.data.id).toBe(first.body.data.id);
    expect((await admin.get(`workspaces/${runs.workspace}/runs`).expect(200)).body.data).toHaveLength(1);
  });
});
