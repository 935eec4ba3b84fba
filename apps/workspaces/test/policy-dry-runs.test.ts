import { setTimeout as sleep } from 'node:timers/promises';
import { beforeEach, describe, expect, it } from '@jest/globals';
import { urlOf } from '@keystead/testing';
import {
  type JudgedPlan,
  type JudgingSet,
  performEvaluations,
  prepareEvaluation,
  returnEvaluation,
  settleEvaluations,
  takeEvaluations,
  unjudged,
} from '../src/resources/runs/policy-evaluations/perform';
import { AgentClient } from '../src/worker/agent/client';
import { register } from '../src/worker/agent/http-source';
import { startJudging } from '../src/worker/policies/http-judging';
import { archiveOf } from './configurations';
import { member, team } from './members';
import { policiesOf } from './policy-sets';
import { startRuns } from './run-fixture';
import { type Client, resource, WORKER_TOKEN } from './start-workspaces';

describe('dry runs of policies', () => {
  const runs = startRuns();
  const { admin, workspaces } = runs;
  const { policy, set, version } = policiesOf(workspaces);
  const parts = () => ({ db: workspaces.service.db, keyring: workspaces.service.env.keyring });
  let asked: { run: string; sets: readonly JudgingSet[] }[] = [];
  let meanwhile: () => Promise<unknown> = async () => undefined;
  /** Each policy fails plans that contain its name. */
  const engine = {
    async judge(sets: readonly JudgingSet[], { run, plan }: JudgedPlan) {
      const pieces: Buffer[] = [];
      for await (const piece of plan) pieces.push(piece as Buffer);
      const text = Buffer.concat(pieces).toString();
      asked.push({ run: (run as { id: string }).id, sets });
      await meanwhile();
      return sets.map(({ id, policies }) => ({
        id,
        error: '',
        outcomes: unjudged(policies).map((one) =>
          text.includes(one.policy_name)
            ? { ...one, status: 'failed' as const, output: [{ print: `${one.policy_name} is wrong` }] }
            : { ...one, status: 'passed' as const },
        ),
      }));
    },
  };
  const judge = () => performEvaluations({ ...parts(), engine });

  /** A plan-only run with a string in its plan. */
  const planned = async (text: string): Promise<string> => {
    const id = await runs.started({ 'plan-only': true });
    await runs.worker.plan({ jsonPlan: Buffer.from(JSON.stringify({ text })), hasChanges: false });
    return id;
  };
  const listOf = (type: string, ids: readonly string[]) => ({ data: ids.map((id) => ({ type, id })) });
  const ask = (lists: Record<string, readonly string[]>, attributes: object = {}, by: Client = admin) => {
    const relationships = Object.fromEntries(Object.entries(lists).map(([list, ids]) => [list, listOf(list, ids)]));
    return by.post('organizations/acme/policy-dry-runs', resource('policy-dry-runs', attributes, relationships));
  };
  const show = async (id: string) => (await admin.get(`policy-dry-runs/${id}`).expect(200)).body.data.attributes;
  const said = async (id: string, query = '', by: Client = admin) =>
    (await by.get(`policy-dry-runs/${id}/results${query}`).expect(200)).body.data;

  beforeEach(async () => {
    asked = [];
    meanwhile = async () => undefined;
    await workspaces.service.pool.query('DELETE FROM policy_dry_run; DELETE FROM policy_set; DELETE FROM policy');
  });

  it('show the earlier runs that policies would have stopped, and change no run', async () => {
    const [good, owner, both] = [await planned('fine'), await planned('owner'), await planned('owner and size')];
    const advisory = await policy('size', { 'enforcement-level': 'advisory' });
    const dry = (await ask({ policies: [await policy('owner'), advisory] }).expect(201)).body.data;
    expect(dry.attributes).toMatchObject({ status: 'running', runs: 3, passed: 0, 'would-stop': 0 });
    await judge();
    expect(asked.map(({ run }) => run)).toEqual([both, owner, good]);
    expect(asked[0]!.sets[0]).toMatchObject({ files: { 'owner.rego': '# owner', 'size.rego': '# size' } });
    expect(await show(dry.id)).toMatchObject({ status: 'finished', runs: 3, passed: 1, failed: 2, 'would-stop': 2 });
    const all = await said(dry.id);
    expect(
      all.map((one: { relationships: { run: { data: { id: string } } } }) => one.relationships.run.data.id),
    ).toEqual([both, owner, good]);
    expect(all[0].attributes).toMatchObject({
      status: 'failed',
      'would-stop': true,
      outcomes: [
        { 'policy-name': 'owner', 'enforcement-level': 'mandatory', status: 'failed', output: ['owner is wrong'] },
        { 'policy-name': 'size', 'enforcement-level': 'advisory', status: 'failed', output: ['size is wrong'] },
      ],
    });
    expect(await said(dry.id, '?filter[would_stop]=true')).toHaveLength(2);
    expect(await said(dry.id, '?filter[status]=passed')).toHaveLength(1);
    await admin.get(`policy-dry-runs/${dry.id}/results?filter[status]=odd`).expect(400);
    for (const id of [good, owner, both]) {
      expect(await runs.statusOf(id)).toBe('planned_and_finished');
      expect((await admin.get(`runs/${id}/task-stages`).expect(200)).body.data).toEqual([]);
    }
    const { rows } = await workspaces.service.pool.query('SELECT 1 FROM policy_evaluation');
    expect(rows).toHaveLength(0);
  });

  it('select runs by a set in its workspaces, by a single workspace, and up to the requested number', async () => {
    await planned('owner');
    const first = runs.workspace;
    ({ id: runs.workspace } = await workspaces.workspace('acme', `other-${runs.counter}`));
    await planned('owner');
    const { id: setId } = await set('versioned');
    await version(
      setId,
      await archiveOf([
        ['policies.hcl', 'policy "owner" {\n  query = "data.a.deny"\n  enforcement_level = "mandatory"\n}'],
        ['a.rego', 'package a'],
      ]),
    );
    const one = (await ask({ 'policy-sets': [setId], workspaces: [first] }).expect(201)).body.data;
    const newest = (await ask({ 'policy-sets': [setId] }, { runs: 1 }).expect(201)).body.data;
    await judge();
    await judge();
    expect(await show(one.id)).toMatchObject({ status: 'finished', runs: 1, 'would-stop': 1 });
    expect(await show(newest.id)).toMatchObject({ status: 'finished', runs: 1, 'would-stop': 1 });
    const [result] = await said(newest.id);
    expect(result.relationships.workspace.data.id).toBe(runs.workspace);
    expect(result.attributes.outcomes[0]).toMatchObject({ 'policy-set-name': 'versioned', 'policy-name': 'owner' });
    const listed = (await admin.get('organizations/acme/policy-dry-runs').expect(200)).body.data;
    expect(listed.map(({ id }: { id: string }) => id)).toEqual([newest.id, one.id]);
  });

  it('come after runs that wait for their policies', async () => {
    await planned('fine');
    await planned('fine');
    const own = await policy('owner');
    await ask({ policies: [own] }).expect(201);
    await set('real', { global: true }, { policies: [own] });
    meanwhile = async () => {
      meanwhile = async () => undefined;
      waiting = await runs.started({ 'auto-apply': false });
      await runs.worker.plan({ jsonPlan: Buffer.from('{"text":"real"}') });
    };
    let waiting = '';
    await judge();
    expect(asked.map(({ run }) => run)[1]).toBe(waiting);
    expect(asked).toHaveLength(3);
  });

  it('are evaluated by an agent without a long wait between two plans', async () => {
    for (let n = 0; n < 4; n++) await planned('owner');
    const client = new AgentClient(new URL(urlOf(workspaces.server)), WORKER_TOKEN, undefined);
    const about = { name: 'judge', version: '0.2.0', 'tool-versions': ['1.11.4'], isolation: 'own-user' };
    const agent = await register(client, { ...about, protocol: { oldest: 1, newest: 1 } });
    const log = { error: () => undefined, warn: () => undefined, info: () => undefined } as never;
    // Long enough for the agent to ask again in the meantime.
    meanwhile = () => sleep(50);
    const judging = startJudging(client, () => agent.id, engine, log);
    const dry = (await ask({ policies: [await policy('owner')] }).expect(201)).body.data;
    while ((await show(dry.id)).status === 'running') await sleep(50);
    await judging.close();
    client.close();
    expect(await show(dry.id)).toMatchObject({ status: 'finished', 'would-stop': 4 });
  }, 30_000);

  it('drop the verdict on a run that is deleted during its evaluation, and evaluate the next run separately', async () => {
    const left = await planned('fine');
    const deleted = await planned('owner');
    const dry = (await ask({ policies: [await policy('owner')] }).expect(201)).body.data;
    meanwhile = async () => {
      meanwhile = async () => undefined;
      await workspaces.service.db.prisma.run.delete({ where: { id: deleted } });
    };
    await judge();
    expect(asked.map(({ run }) => run)).toEqual([deleted, left]);
    expect(await show(dry.id)).toMatchObject({ status: 'finished', runs: 1, passed: 1, failed: 0, 'would-stop': 0 });
  });

  it('do not assign the next plan under the claim of a run that was deleted', async () => {
    const left = await planned('fine');
    const deleted = await planned('owner');
    await ask({ policies: [await policy('owner')] }).expect(201);
    const { db } = workspaces.service;
    const [due] = await takeEvaluations(db, []);
    expect((await prepareEvaluation(parts(), due!))?.run).toMatchObject({ id: deleted });
    await db.prisma.run.delete({ where: { id: deleted } });
    expect(await prepareEvaluation(parts(), due!)).toBeUndefined();
    await returnEvaluation(db, due!);
    await judge();
    expect(asked.map(({ run }) => run)).toEqual([left]);
  });

  it('can be canceled, and keep existing results', async () => {
    await planned('owner');
    await planned('owner');
    const dry = (await ask({ policies: [await policy('owner')] }).expect(201)).body.data;
    meanwhile = () => admin.post(`policy-dry-runs/${dry.id}/actions/cancel`).expect(204);
    await judge();
    expect(asked).toHaveLength(1);
    expect(await show(dry.id)).toMatchObject({ status: 'canceled', failed: 0, runs: 2 });
    await admin.post(`policy-dry-runs/${dry.id}/actions/cancel`).expect(409);
  });

  it('skip deleted plans, and end if their creator may no longer manage policies', async () => {
    const left = await planned('owner');
    const gone = await planned('owner');
    const writers = await team(workspaces, 'acme', `writers-${runs.counter}`, ['manage-policies']);
    const person = await member(workspaces, 'acme', [writers]);
    const own = await policy('owner');
    const dry = (await ask({ policies: [own] }, {}, person).expect(201)).body.data;
    expect(dry.attributes.runs).toBe(2);
    const { prisma } = workspaces.service.db;
    await prisma.runPhase.updateMany({ where: { runId: gone, kind: 'plan' }, data: { jsonBlobId: null } });
    await judge();
    expect(asked.map(({ run }) => run)).toEqual([left]);
    expect(await show(dry.id)).toMatchObject({ status: 'finished', skipped: 1, failed: 1 });
    expect((await said(dry.id, '?filter[status]=skipped', person))[0].relationships.run.data.id).toBe(gone);
    const again = (await ask({ policies: [own] }, {}, person).expect(201)).body.data;
    expect(again.attributes.runs).toBe(1);
    await admin.delete(`teams/${writers}`).expect(204);
    await judge();
    expect(await show(again.id)).toMatchObject({
      status: 'canceled',
      reason: 'The user who started it may no longer manage policies',
    });
  });

  it('are for callers who manage policies, and need a policy and a run of their organization', async () => {
    const own = await policy('owner');
    const other = policiesOf(workspaces, 'elsewhere');
    await workspaces.organization('elsewhere');
    const foreign = await other.policy('owner');
    await ask({ policies: [own] }).expect(422);
    await planned('owner');
    await ask({}).expect(422);
    await ask({ policies: [foreign] }).expect(422);
    await ask({ policies: [own], workspaces: ['ws-nonsense'] }).expect(422);
    const { id: empty } = await set('empty');
    await ask({ 'policy-sets': [empty] }).expect(422);
    await ask({ policies: [own] }, { runs: 1001 }).expect(422);
    await ask({ policies: Array.from({ length: 101 }, (_, n) => `pol-${n}`) }).expect(422);
    const { id } = (await ask({ policies: [own] }).expect(201)).body.data;
    const plain = await member(workspaces, 'acme');
    await ask({ policies: [own] }, {}, plain).expect(404);
    for (const path of [`policy-dry-runs/${id}`, `policy-dry-runs/${id}/results`]) await plain.get(path).expect(404);
    const stranger = await member(workspaces, 'elsewhere');
    await stranger.get(`policy-dry-runs/${id}`).expect(404);
    await stranger.post(`policy-dry-runs/${id}/actions/cancel`).expect(404);
    for (let n = 1; n < 3; n++) await ask({ policies: [own] }).expect(201);
    await ask({ policies: [own] }).expect(409);
  });

  it('end in error if no worker evaluates them for a long time', async () => {
    await planned('owner');
    const dry = (await ask({ policies: [await policy('owner')] }).expect(201)).body.data;
    await workspaces.service.pool.query("UPDATE policy_evaluation SET ends_at = now() - interval '1 second'");
    await settleEvaluations(parts());
    expect(await show(dry.id)).toMatchObject({ status: 'errored', reason: expect.stringContaining('No worker') });
  });
});
