import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { urlOf } from '@keystead/testing';
import {
  type JudgedPlan,
  type JudgingSet,
  performEvaluations,
  settleEvaluations,
  unjudged,
} from '../src/resources/runs/policy-evaluations/perform';
import { AgentClient } from '../src/worker/agent/client';
import { register } from '../src/worker/agent/http-source';
import { startJudging } from '../src/worker/policies/http-judging';
import { archiveOf } from './configurations';
import { grant, member, project, team } from './members';
import { policiesOf } from './policy-sets';
import { startRuns } from './run-fixture';
import { resource, WORKER_TOKEN } from './start-workspaces';

type Said = readonly string[] | 'errored';

describe('policies in the life of a run', () => {
  const runs = startRuns();
  const { admin, workspaces } = runs;
  const { policy, set, version, upload } = policiesOf(workspaces);
  const parts = () => ({ db: workspaces.service.db, keyring: workspaces.service.env.keyring });
  /** The verdicts of policies by name; all pass by default. */
  let says: Record<string, Said> = {};
  let asked: { sets: readonly JudgingSet[]; run: Record<string, unknown>; plan: string }[] = [];
  let meanwhile: () => Promise<unknown> = async () => undefined;
  const engine = {
    async judge(sets: readonly JudgingSet[], { run, plan }: JudgedPlan) {
      const pieces: Buffer[] = [];
      for await (const piece of plan) pieces.push(piece as Buffer);
      asked.push({ sets, run: run as Record<string, unknown>, plan: Buffer.concat(pieces).toString() });
      await meanwhile();
      return sets.map(({ id, policies }) => ({
        id,
        error: '',
        outcomes: unjudged(policies).map((one) => {
          const said = says[one.policy_name] ?? [];
          if (said === 'errored') return one;
          return {
            ...one,
            status: said.length > 0 ? ('failed' as const) : ('passed' as const),
            output: said.map((print) => ({ print })),
          };
        }),
      }));
    },
  };
  const judge = () => performEvaluations({ ...parts(), engine });
  const settle = () => settleEvaluations(parts());
  const jsonPlan = Buffer.from('{"format_version":"1.2"}');
  const planned = async (attributes: object = {}) => {
    const id = await runs.started(attributes);
    await runs.worker.plan({ jsonPlan });
    return id;
  };
  const stageOf = async (id: string) =>
    (await admin.get(`runs/${id}/task-stages?include=policy_evaluations`).expect(200)).body;
  const outcomesOf = async (evaluationId: string, query = '') =>
    (await admin.get(`policy-evaluations/${evaluationId}/policy-set-outcomes${query}`).expect(200)).body.data;

  beforeEach(() => {
    says = {};
    asked = [];
    meanwhile = async () => undefined;
  });
  afterEach(() => workspaces.service.pool.query('DELETE FROM policy_set; DELETE FROM policy'));

  it('are evaluated with all data of the run, and let the run continue if all pass', async () => {
    const { id: setId } = await set(
      'good',
      {},
      { policies: [await policy('cost'), await policy('tags')], workspaces: [runs.workspace] },
    );
    await admin
      .post(
        `policy-sets/${setId}/parameters`,
        resource('vars', { key: 'most', value: '7', category: 'policy-set', sensitive: true }),
      )
      .expect(201);
    await admin
      .post(
        `workspaces/${runs.workspace}/vars`,
        resource('vars', { key: 'size', value: 'hidden-value', category: 'terraform' }),
      )
      .expect(201);
    const id = await runs.started({ message: 'Why', 'auto-apply': true });
    const before = await stageOf(id);
    expect(before.data).toMatchObject([{ attributes: { stage: 'post_plan', status: 'pending' } }]);
    expect(before.included).toMatchObject([
      { type: 'policy-evaluations', attributes: { status: 'pending', 'policy-kind': 'opa' } },
    ]);
    await runs.worker.plan({ jsonPlan });
    expect(await runs.statusOf(id)).toBe('post_plan_running');
    await judge();
    expect(await runs.statusOf(id)).toBe('apply_queued');
    const [{ sets, run, plan }] = asked as [(typeof asked)[number]];
    expect(plan).toBe(jsonPlan.toString());
    expect(sets).toMatchObject([
      {
        policies: [{ name: 'cost', query: 'data.cost.deny' }, { name: 'tags' }],
        files: { 'cost.rego': '# cost', 'tags.rego': '# tags' },
        parameters: [{ key: 'most', value: '7', sensitive: true }],
      },
    ]);
    expect(run).toMatchObject({
      ...{
        id,
        message: 'Why',
        created_by: 'admin',
        is_destroy: false,
        refresh: true,
        speculative: false,
        target_addrs: [],
      },
      organization: { name: 'acme' },
      project: { name: 'Default Project' },
      workspace: { id: runs.workspace, execution_mode: 'remote', tags: [], tag_bindings: [], vcs_repo: null },
      variables: { size: { category: 'terraform', sensitive: false } },
    });
    expect(JSON.stringify(run)).not.toContain('hidden-value');
    const { data, included } = await stageOf(id);
    expect(data[0].attributes.status).toBe('passed');
    expect(included[0].attributes).toMatchObject({
      status: 'passed',
      'result-count': { passed: 2, errored: 0, 'advisory-failed': 0, 'mandatory-failed': 0 },
      'status-timestamps': { 'passed-at': expect.any(String) },
    });
  });

  const holding = async (attributes: object = {}, on: object = {}) => {
    await set(
      'strict',
      { overridable: true, ...attributes },
      {
        policies: [await policy('cost'), await policy('style', { 'enforcement-level': 'advisory' })],
        workspaces: [runs.workspace],
      },
    );
    says = { cost: ['too dear'], style: ['ugly'] };
    const id = await planned(on);
    await judge();
    const { data, included } = await stageOf(id);
    return { id, stage: data[0], evaluation: included[0] };
  };

  it('hold a run that failed a mandatory policy until someone with the right overrides it, which the audit trail records', async () => {
    const { id, stage, evaluation } = await holding({}, { 'auto-apply': true });
    expect(await runs.show(id)).toMatchObject({
      attributes: {
        status: 'post_plan_awaiting_decision',
        'status-reason': 'Mandatory policies did not pass: strict/cost',
      },
    });
    expect(stage.attributes).toMatchObject({
      status: 'awaiting_override',
      permissions: { 'can-override-policy': true, 'can-override': true },
    });
    expect(evaluation.attributes).toMatchObject({
      status: 'failed',
      'result-count': { 'mandatory-failed': 1, 'advisory-failed': 1 },
    });
    const [outcome] = await outcomesOf(evaluation.id);
    expect(outcome.attributes).toMatchObject({
      'policy-set-name': 'strict',
      overridable: true,
      outcomes: [
        { policy_name: 'cost', status: 'failed', enforcement_level: 'mandatory', output: [{ print: 'too dear' }] },
        { policy_name: 'style', status: 'failed', enforcement_level: 'advisory' },
      ],
    });
    await admin.get(`policy-set-outcomes/${outcome.id}`).expect(200);
    const { body } = await admin.get(`policy-evaluations/${evaluation.id}`).expect(200);
    expect(body.data).toMatchObject({ id: evaluation.id, attributes: { 'policy-kind': 'opa' } });
    expect(await outcomesOf(evaluation.id, '?filter[0][status]=passed&filter[1][status]=errored')).toEqual([]);
    expect(
      await outcomesOf(evaluation.id, '?filter[0][status]=failed&filter[0][enforcement_level]=advisory'),
    ).toHaveLength(1);
    const override = (by: typeof admin) => by.post(`task-stages/${stage.id}/actions/override`, { comment: 'agreed' });
    const writers = await team(workspaces, 'acme', 'override-writers', ['manage-run-tasks', 'manage-policies']);
    await grant(workspaces, writers, runs.workspace, 'admin');
    const writer = await member(workspaces, 'acme', [writers]);
    const { body: seen } = await writer.get(`task-stages/${stage.id}`).expect(200);
    expect(seen.data.attributes.permissions).toMatchObject({
      'can-override-tasks': true,
      'can-override-policy': false,
      'can-override': false,
    });
    await override(writer).expect(404);
    const judges = await team(workspaces, 'acme', 'judges', ['manage-policy-overrides']);
    const judgeMember = await member(workspaces, 'acme', [judges]);
    // A person who may override in another workspace, and administers this one, may not.
    const { id: elsewhere } = await workspaces.workspace('acme', 'override-elsewhere');
    const others = await team(workspaces, 'acme', 'other-judges');
    await grant(workspaces, others, elsewhere, 'custom', { 'policy-overrides': true });
    await grant(workspaces, others, runs.workspace, 'admin');
    await override(await member(workspaces, 'acme', [others])).expect(404);
    await override(judgeMember).expect(200);
    await override(judgeMember).expect(409);
    expect((await stageOf(id)).included[0].attributes.status).toBe('overridden');
    const { rows } = await workspaces.service.pool.query('SELECT action, after FROM audit_event');
    expect(rows).toEqual(
      expect.arrayContaining([
        expect.objectContaining({
          action: 'policy-evaluation.judge',
          after: expect.objectContaining({ runId: id, verdict: 'failed', against: ['strict/cost'] }),
        }),
        expect.objectContaining({
          action: 'task-stage.override',
          after: expect.objectContaining({ runId: id, comment: 'agreed', evaluations: [evaluation.id] }),
        }),
      ]),
    );
  });

  it('end a run if their set cannot be overridden, or if it applies nothing', async () => {
    const { id } = await holding({ overridable: false });
    expect(await runs.show(id)).toMatchObject({
      attributes: { status: 'errored', 'status-reason': 'Mandatory policies did not pass: strict/cost' },
    });
    const { locked, ...counts } = (await runs.lockOf()).attributes;
    expect(locked).toBe(false);
    expect(counts['policy-check-failures']).toBeGreaterThan(0);
    await workspaces.service.pool.query('UPDATE policy_set SET overridable = true');
    const speculative = await planned({ 'plan-only': true });
    await judge();
    expect(await runs.statusOf(speculative)).toBe('errored');
  });

  it('that cannot be evaluated fail a run only if they are mandatory', async () => {
    await set(
      'broken',
      {},
      { policies: [await policy('style', { 'enforcement-level': 'advisory' })], workspaces: [runs.workspace] },
    );
    says = { style: 'errored' };
    const id = await planned();
    await judge();
    expect(await runs.statusOf(id)).toBe('post_plan_completed');
    await admin
      .patch(
        `policies/${(await admin.get('organizations/acme/policies').expect(200)).body.data[0].id}`,
        resource('policies', { 'enforcement-level': 'mandatory' }),
      )
      .expect(200);
    await runs.act(id, 'discard').expect(202);
    const strict = await planned();
    await judge();
    expect(await runs.statusOf(strict)).toBe('errored');
    expect((await stageOf(strict)).included[0].attributes).toMatchObject({
      status: 'errored',
      'result-count': { errored: 1 },
    });
  });

  it('are evaluated in their version from the time when the plan was ready, even if they change later', async () => {
    const id = await policy('cost', {}, 'first');
    await set('strict', {}, { policies: [id], workspaces: [runs.workspace] });
    const run = await runs.started();
    await upload(id, 'second').expect(200);
    await runs.worker.plan({ jsonPlan });
    await upload(id, 'third').expect(200);
    meanwhile = async () => {
      await admin.patch(`policies/${id}`, resource('policies', { 'enforcement-level': 'advisory' })).expect(200);
      await admin.delete(`policies/${id}`).expect(204);
    };
    says = { cost: ['no'] };
    await judge();
    expect(asked[0]!.sets[0]!.files).toEqual({ 'cost.rego': 'second' });
    expect(await runs.statusOf(run)).toBe('errored');
    const { included } = await stageOf(run);
    const [outcome] = await outcomesOf(included[0].id);
    const digest = '16367aacb67a4a017c8da8ab95682ccb390863780f7114dda0a0e0c55644c7c4';
    expect(outcome.attributes.outcomes).toMatchObject([
      { policy_name: 'cost', enforcement_level: 'mandatory', digest },
    ]);
  });

  it('that were added after a run was created are evaluated, too, and removed ones are not', async () => {
    const first = await runs.started();
    const { id } = await set('late', {}, { policies: [await policy('cost')], workspaces: [runs.workspace] });
    says = { cost: ['no'] };
    await runs.worker.plan({ jsonPlan });
    expect(await runs.statusOf(first)).toBe('post_plan_running');
    await judge();
    expect(await runs.statusOf(first)).toBe('errored');
    const second = await runs.started();
    await admin.delete(`policy-sets/${id}`).expect(204);
    await runs.worker.plan({ jsonPlan });
    await settle();
    expect(await runs.statusOf(second)).toBe('post_plan_completed');
  });

  it('of a version are read from its files, and evaluated by the engine of its version (WV.11)', async () => {
    const { id } = await set('versioned', { 'policy-tool-version': '1.4.0' }, { workspaces: [runs.workspace] });
    const hcl = 'policy "cost" {\n query = "data.cost.deny"\n enforcement_level = "mandatory"\n description = "d"\n}\n';
    const versionId = await version(
      id,
      await archiveOf([
        ['policies.hcl', hcl],
        ['rules/cost.rego', 'package cost'],
        ['limits.json', '{"a":1}'],
      ]),
    );
    const run = await planned();
    await judge();
    expect(asked[0]!.sets).toMatchObject([
      {
        toolVersion: '1.4.0',
        policies: [{ name: 'cost', enforcementLevel: 'mandatory' }],
        files: { 'rules/cost.rego': 'package cost', 'limits.json': '{"a":1}' },
      },
    ]);
    const [outcome] = await outcomesOf((await stageOf(run)).included[0].id);
    expect(outcome.attributes).toMatchObject({ 'policy-set-version-id': versionId, 'policy-tool-version': '1.4.0' });
  });

  it.each(['workspace', 'project'])('are overridden by those who have that right for the %s', async (where) => {
    await set(
      `by-${where}`,
      { overridable: true },
      { policies: [await policy(`by_${where}`)], workspaces: [runs.workspace] },
    );
    says = { [`by_${where}`]: ['no'] };
    const run = await planned();
    await judge();
    const [stage] = (await stageOf(run)).data;
    const judges = await team(workspaces, 'acme', `judges-of-${where}`);
    const judgeMember = await member(workspaces, 'acme', [judges]);
    const override = () => judgeMember.post(`task-stages/${stage.id}/actions/override`, { comment: 'agreed' });
    await override().expect(404);
    if (where === 'workspace') {
      await grant(workspaces, judges, runs.workspace, 'custom', { 'policy-overrides': true });
    } else {
      const { relationships } = (await admin.get(`workspaces/${runs.workspace}`).expect(200)).body.data;
      const to = { team: { data: { type: 'teams', id: judges } }, project: { data: relationships.project.data } };
      const attributes = { access: 'custom', 'workspace-access': { 'policy-overrides': true } };
      await admin.post('team-projects', resource('team-projects', attributes, to)).expect(201);
    }
    await override().expect(200);
    expect(await runs.statusOf(run)).not.toBe('post_plan_awaiting_decision');
  });

  it('are not evaluated by a version of OPA that was disabled since, with a message (WV.9)', async () => {
    const type = 'opa-versions';
    const of = async (name: string) => ({ policies: [await policy(name)], workspaces: [runs.workspace] });
    await set('pinned', { 'policy-tool-version': '1.5.0' }, await of('pinned'));
    await set('any', {}, await of('any'));
    const attributes = { version: '1.5.0', enabled: false };
    const listed = (await admin.post('admin/opa-versions', resource(type, attributes)).expect(201)).body.data.id;
    const run = await planned();
    await judge();
    expect(asked[0]!.sets).toMatchObject([{ toolVersion: null, disabledVersions: ['1.5.0'] }]);
    const outcomes = await outcomesOf((await stageOf(run)).included[0].id);
    const ofSet = outcomes.find(
      (one: { attributes: Record<string, unknown> }) => one.attributes['policy-set-name'] === 'pinned',
    );
    expect(ofSet.attributes.error).toBe('Version 1.5.0 of OPA is disabled by site administrators');
    await admin.delete(`admin/opa-versions/${listed}`).expect(204);
  });

  it.each([
    ['advisory', 'post_plan_completed'],
    ['soft-mandatory', 'post_plan_awaiting_decision'],
    ['hard-mandatory', 'errored'],
  ])('of Sentinel are not run, with a message, and at level %s they leave a run as %s', async (level, status) => {
    await set(
      'sentinel',
      { kind: 'sentinel' },
      {
        policies: [await policy('old', { kind: 'sentinel', 'enforcement-level': level })],
        workspaces: [runs.workspace],
      },
    );
    const id = await planned();
    await judge();
    await settle();
    expect(await runs.statusOf(id)).toBe(status);
    const { included } = await stageOf(id);
    expect(included[0].attributes['policy-kind']).toBe('sentinel');
    const [outcome] = await outcomesOf(included[0].id);
    expect(outcome.attributes.error).toMatch(/Sentinel policies are stored but cannot be evaluated/);
  });

  it('that no worker evaluates end in an error, and late verdicts of a slow worker are refused', async () => {
    await set('lost', {}, { policies: [await policy('cost')], workspaces: [runs.workspace] });
    const id = await planned();
    await settle();
    expect(await runs.statusOf(id)).toBe('post_plan_running');
    meanwhile = async () => {
      await workspaces.service.pool.query(
        "UPDATE policy_evaluation SET ends_at = now() - interval '1 second', next_at = now() - interval '1 second'",
      );
      await settle();
    };
    await judge();
    expect(await runs.statusOf(id)).toBe('errored');
    const { included } = await stageOf(id);
    expect(included[0].attributes.status).toBe('errored');
    expect((await outcomesOf(included[0].id))[0].attributes.error).toMatch(/No worker with an OPA binary/);
  });

  const agentOf = async (token: string) => {
    const client = new AgentClient(new URL(urlOf(workspaces.server)), token, undefined);
    const about = {
      name: 'judge',
      version: '0.2.0',
      protocol: { oldest: 1, newest: 1 },
      'tool-versions': ['1.11.4'],
      isolation: 'own-user',
    };
    return { client, ...(await register(client, about)) };
  };

  it('are evaluated by agents of the installation, which have no database', async () => {
    const { client, id: agentId, judges } = await agentOf(WORKER_TOKEN);
    expect(judges).toBe(true);
    const log = { error: () => undefined, warn: () => undefined, info: () => undefined } as never;
    const judging = startJudging(client, () => agentId, engine, log);
    await set('strict', { overridable: true }, { policies: [await policy('cost')], workspaces: [runs.workspace] });
    says = { cost: ['too much'] };
    const id = await planned();
    while ((await runs.statusOf(id)) === 'post_plan_running') await sleep(20);
    await judging.close();
    client.close();
    expect(await runs.statusOf(id)).toBe('post_plan_awaiting_decision');
    expect(asked).toMatchObject([{ run: { id }, plan: '{"format_version":"1.2"}' }]);
    const [outcome] = await outcomesOf((await stageOf(id)).included[0].id);
    expect(outcome.attributes.outcomes).toMatchObject([
      {
        policy_name: 'cost',
        enforcement_level: 'mandatory',
        status: 'failed',
        output: [{ print: 'too much' }],
        digest: expect.stringMatching(/^[0-9a-f]{64}$/),
      },
    ]);
  });

  it('are assigned to one agent, whose verdict is accepted unless they were assigned again', async () => {
    const [one, other] = [await agentOf(WORKER_TOKEN), await agentOf(WORKER_TOKEN)];
    const claim = (agent: typeof one, busy: string[] = []) =>
      agent.client.json({
        method: 'POST',
        path: `/agents/${agent.id}/evaluations`,
        json: { 'wait-seconds': 0, busy },
      }) as Promise<{ id: string; lease: string; 'organization-id': string; sets: { id: string }[] } | undefined>;
    await set('strict', {}, { policies: [await policy('cost')], workspaces: [runs.workspace] });
    const run = await planned();
    const both = await Promise.all([claim(one), claim(other)]);
    const [given] = both.filter((each) => each !== undefined);
    expect(both.filter((each) => each === undefined)).toHaveLength(1);
    const [holder, stranger] = both[0] ? [one, other] : [other, one];
    const about = (agent: typeof one, method: 'GET' | 'POST' | 'PUT', what: string, bytes?: Buffer) =>
      agent.client.ask({
        method,
        path: `/agents/${agent.id}/evaluations/${given!.id}${what}`,
        headers: { 'x-agent-lease': given!.lease },
        ...(bytes ? { bytes } : {}),
      });
    const verdicts = (sets: object[]) => Buffer.from(JSON.stringify({ sets }));
    const passed = { status: 'passed', output: [] };
    const well = verdicts([{ id: given!.sets[0]!.id, error: '', outcomes: [passed] }]);
    await expect(about(stranger, 'PUT', '/verdicts', well)).rejects.toMatchObject({ kind: 'denied' });
    await expect(about(stranger, 'GET', '/plan')).rejects.toMatchObject({ kind: 'denied' });
    await expect(about(holder, 'PUT', '/verdicts', Buffer.from('{'))).rejects.toMatchObject({ kind: 'malformed' });
    await about(holder, 'POST', '/keep').then(({ body }) => body.resume());
    await workspaces.service.pool.query("UPDATE policy_evaluation SET next_at = now() - interval '1 second'");
    await expect(about(holder, 'POST', '/keep')).rejects.toMatchObject({ kind: 'transition' });
    const again = await claim(holder);
    expect(again).toMatchObject({ id: given!.id });
    await expect(about(holder, 'PUT', '/verdicts', well)).rejects.toMatchObject({ kind: 'transition' });
    Object.assign(given!, { lease: again!.lease });
    const said = await Promise.allSettled([1, 2].map(() => about(holder, 'PUT', '/verdicts', verdicts([]))));
    expect(said.filter(({ status }) => status === 'fulfilled').length).toBeGreaterThan(0);
    expect(await runs.statusOf(run)).toBe('errored');
    const { data } = (await admin.get(`policy-evaluations/${given!.id}/policy-set-outcomes`).expect(200)).body;
    expect(data[0].attributes).toMatchObject({
      error: 'The worker did not evaluate this set',
      outcomes: [{ status: 'errored' }],
    });
    for (const agent of [one, other]) agent.client.close();
  });

  it('are not assigned to agents of a pool, which belong to the people whose plans are checked', async () => {
    const made = await admin
      .post('organizations/acme/agent-pools', resource('agent-pools', { name: 'dmz' }))
      .expect(201);
    const body = resource('authentication-tokens', { description: 'dmz' });
    const token = await admin.post(`agent-pools/${made.body.data.id}/authentication-tokens`, body).expect(201);
    const { client, id, judges } = await agentOf(token.body.data.attributes.token);
    expect(judges).toBe(false);
    const json = { 'wait-seconds': 0, busy: [] };
    await expect(client.json({ method: 'POST', path: `/agents/${id}/evaluations`, json })).rejects.toMatchObject({
      kind: 'missing',
    });
    client.close();
  });

  it('end with a run that is canceled during their evaluation', async () => {
    await set('canceled', {}, { policies: [await policy('cost')], workspaces: [runs.workspace] });
    const id = await planned();
    meanwhile = () => runs.act(id, 'cancel').expect(202);
    await judge();
    expect(await runs.statusOf(id)).toBe('canceled');
    expect((await stageOf(id)).included[0].attributes.status).toBe('canceled');
  });

  describe('reach a workspace', () => {
    const lists = ['workspaces', 'projects', 'workspace-exclusions', 'project-exclusions'] as const;
    const ways = [
      { how: 'all of them', attributes: { global: true }, reached: true },
      { how: 'its name', members: ['workspaces'], reached: true },
      { how: 'its project', members: ['projects'], reached: true },
      { how: 'a tag', tags: [['env', 'prod', false]], reached: true },
      { how: 'a tag without a value', tags: [['plain', null, false]], reached: true },
      { how: 'a tag of its project', tags: [['of', 'project', false]], reached: true },
      { how: 'a tag of another value', tags: [['env', 'test', false]], reached: false },
      { how: 'a tag without the value that it has', tags: [['env', null, false]], reached: false },
      { how: 'nothing', reached: false },
      { how: 'all but it', attributes: { global: true }, members: ['workspace-exclusions'], reached: false },
      { how: 'all but its project', attributes: { global: true }, members: ['project-exclusions'], reached: false },
      { how: 'all but its tag', attributes: { global: true }, tags: [['env', 'prod', true]], reached: false },
      { how: 'its name and an exclusion', members: ['workspaces', 'workspace-exclusions'], reached: false },
      {
        how: 'its name and an exclusion of its project',
        members: ['workspaces', 'project-exclusions'],
        reached: false,
      },
    ] as const;

    it.each(ways)('by $how: $reached (WV.15)', async (way) => {
      const prj = await project(workspaces, 'acme', `reach-${runs.counter}`);
      await admin
        .patch(
          `workspaces/${runs.workspace}`,
          resource('workspaces', {}, { project: { data: { type: 'projects', id: prj } } }),
        )
        .expect(200);
      const bind = (path: string, bindings: object[]) =>
        admin
          .patch(
            path,
            resource(
              path.split('/')[0]!,
              {},
              { 'tag-bindings': { data: bindings.map((attributes) => ({ type: 'tag-bindings', attributes })) } },
            ),
          )
          .expect(200);
      await bind(`workspaces/${runs.workspace}`, [{ key: 'env', value: 'prod' }, { key: 'plain' }]);
      await bind(`projects/${prj}`, [{ key: 'of', value: 'project' }]);
      const named: readonly string[] = 'members' in way ? way.members : [];
      const members = Object.fromEntries(
        lists.flatMap((list) => (named.includes(list) ? [[list, [list.startsWith('w') ? runs.workspace : prj]]] : [])),
      );
      const selectors = ('tags' in way ? way.tags : []).map(([key, value, out]) => ({
        'tag-key': key,
        'tag-value': value,
        'is-exclude': out,
      }));
      const attributes = 'attributes' in way ? way.attributes : {};
      await set(
        'reach',
        { ...attributes, 'tag-selectors': selectors },
        { policies: [await policy('cost')], ...members },
      );
      const id = await runs.started();
      expect((await stageOf(id)).data).toHaveLength(way.reached ? 1 : 0);
    });
  });
});
