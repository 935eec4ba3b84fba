import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { type Flow, flowsOf, type Victim } from '@keystead/testing';
import { performEvaluations, settleEvaluations } from '../src/resources/runs/policy-evaluations/perform';
import { performTasks } from '../src/resources/runs/task-stages/deliver';
import { AgentClient } from '../src/worker/agent/client';
import { register } from '../src/worker/agent/http-source';
import { AgentKills, NodeKills, statusOf } from './node-kills';
import { objectingEngine } from './objecting-engine';
import { policiesOf } from './policy-sets';
import { startRuns } from './run-fixture';
import { ref, resource, WORKER_TOKEN } from './start-workspaces';

// A node, or an agent that evaluates plans, is killed before and after each commit and each call while policies are
// evaluated and run tasks are called and answer. Every run must end, with each evaluation, answer and override counted
// once. Normally a few kills; the long form runs the whole matrix and prints its size.

/** The work of the survivors after a kill, and the problems that remain. */
interface Course {
  readonly run?: string;
  finish(): Promise<unknown>;
  wrong(): Promise<string[]>;
}

describe('a process killed while a run waits for policies and tasks', () => {
  const env = { WORKSPACES_NOTIFICATION_NETWORKS: '127.0.0.1' };
  const nodes = new NodeKills(
    () => workspaces,
    () => env,
  );
  const agents = new AgentKills(() => workspaces);
  // Runs before the database is dropped.
  afterAll(() => Promise.all([nodes.end(), agents.end()]));
  const runs = startRuns({ env });
  const { admin, workspaces } = runs;
  const { policy, set } = policiesOf(workspaces);
  let tasks: Server;
  let url = '';
  /** Requests that the service of the task got. */
  let asked: Record<string, string>[] = [];
  let current: Course;
  let count = 0;

  beforeAll(async () => {
    tasks = createServer(async (request, response) => {
      const pieces: Buffer[] = [];
      for await (const piece of request) pieces.push(piece as Buffer);
      const body = JSON.parse(Buffer.concat(pieces).toString());
      if (body.stage !== 'test') asked.push(body);
      response.end();
    });
    await new Promise<void>((resolve) => tasks.listen(0, '127.0.0.1', resolve));
    url = `http://127.0.0.1:${(tasks.address() as AddressInfo).port}/check`;
  });
  afterAll(() => void tasks.close());

  const parts = () => ({ db: workspaces.service.db, keyring: workspaces.service.env.keyring });
  const sql = async <T>(text: string, values: unknown[] = []): Promise<T[]> =>
    (await workspaces.service.pool.query(text, values)).rows as T[];
  const judge = () => performEvaluations({ ...parts(), engine: objectingEngine() });
  const perform = () => {
    const { db, env: own } = workspaces.service;
    return performTasks({ db, keyring: own.keyring, reach: own.notificationReach, publicUrl: own.publicUrl });
  };
  /** The claims of a dead process end. */
  const claimsEnd = async () => {
    await sql('UPDATE policy_evaluation SET next_at = now() WHERE next_at IS NOT NULL');
    await sql('UPDATE task_result SET next_at = now() WHERE next_at IS NOT NULL AND sent_at IS NULL');
  };
  const jsonPlan = Buffer.from('{"format_version":"1.2"}');
  const fresh = async () => {
    await sql('DELETE FROM run');
    await sql('DELETE FROM policy_dry_run');
    await sql('DELETE FROM policy_set');
    await sql('DELETE FROM policy');
    await sql('DELETE FROM run_task');
    asked = [];
    // The previous workspace may be locked by a waiting run.
    ({ id: runs.workspace } = await workspaces.workspace('acme', `crash-${++count}`));
  };
  const judgedBy = async (name: string, kind = 'opa') =>
    set(
      `${name}-set`,
      { overridable: true, kind },
      {
        policies: [
          await policy(name, kind === 'opa' ? {} : { kind, 'enforcement-level': 'soft-mandatory', query: undefined }),
        ],
        workspaces: [runs.workspace],
      },
    );
  const planned = async () => {
    const id = await runs.started({ 'auto-apply': true });
    await runs.worker.plan({ jsonPlan });
    return id;
  };
  const asksTask = async (stage: string) => {
    const made = resource('tasks', { name: 'check', url, category: 'task' });
    const { id } = (await admin.post('organizations/acme/tasks', made).expect(201)).body.data;
    const attached = resource(
      'workspace-tasks',
      { 'enforcement-level': 'mandatory', stages: [stage] },
      { task: ref('tasks', id) },
    );
    await admin.post(`workspaces/${runs.workspace}/tasks`, attached).expect(201);
  };
  const outcome = { type: 'task-result-outcomes', attributes: { 'outcome-id': 'O-1', description: 'cheap' } };
  const answer = (status: string) => ({
    data: { type: 'task-results', attributes: { status }, relationships: { outcomes: { data: [outcome] } } },
  });
  const callBack = (status: string, by = workspaces.as(asked.at(-1)!.access_token!)) =>
    by.patch(new URL(asked.at(-1)!.task_result_callback_url!).pathname.replace('/api/v2/', ''), answer(status));
  const stageOf = async (id: string) => (await admin.get(`runs/${id}/task-stages`).expect(200)).body.data[0];
  /** Steps of a run that happened twice or did not finish. */
  const wrongOf = async (id: string, status: string): Promise<string[]> => {
    const is = await runs.statusOf(id);
    const { data } = (await admin.get(`runs/${id}/run-events`).expect(200)).body;
    const actions: string[] = data.map((one: { attributes: { action: string } }) => one.attributes.action);
    const events = await sql<{ action: string }>(
      `SELECT action FROM audit_event WHERE after ->> 'runId' = $1 OR target_id = $1
        GROUP BY action, target_id, before, after HAVING count(*) > 1`,
      [id],
    );
    return [
      ...(is === status ? [] : [`the run is ${is}`]),
      ...actions.filter((action, at) => actions.indexOf(action) < at).map((action) => `event ${action} twice`),
      ...events.map(({ action }) => `${action} twice in the trail`),
    ];
  };
  const applied = async (id: string) => {
    if ((await runs.statusOf(id)) === 'apply_queued') await runs.worker.apply();
    return [
      ...(await wrongOf(id, 'applied')),
      ...((await runs.lockOf()).attributes.locked ? ['the workspace is locked'] : []),
    ];
  };
  const evaluationsOf = (id: string) =>
    sql<{ status: string; outcomes: number }>(
      `SELECT e.status, jsonb_array_length(o.outcomes) AS outcomes FROM task_stage s
         JOIN policy_evaluation e ON e.task_stage_id = s.id JOIN policy_set_outcome o ON o.policy_evaluation_id = e.id
        WHERE s.run_id = $1`,
      [id],
    );
  const judgedTo = (id: string, evaluation: string, status: string) => async () => {
    const found = await evaluationsOf(id);
    const [only] = found;
    const isOne = found.length === 1 && only!.status === evaluation && only!.outcomes === 1;
    const judgements = await sql(
      "SELECT FROM audit_event WHERE action = 'policy-evaluation.judge' AND after ->> 'runId' = $1",
      [id],
    );
    return [
      ...(isOne ? [] : [`evaluations: ${JSON.stringify(found)}`]),
      ...(judgements.length === 1 ? [] : [`${judgements.length} judgements in the trail`]),
      ...(await wrongOf(id, status)),
    ];
  };
  const finishJudging = async () => {
    await claimsEnd();
    await judge();
    await settleEvaluations(parts());
  };
  /** A run that fails its only policy. */
  const refused = async () => {
    await fresh();
    await judgedBy('no_way');
    const run = await planned();
    current = {
      run,
      finish: finishJudging,
      wrong: judgedTo(run, 'failed', 'post_plan_awaiting_decision'),
    };
    return run;
  };
  const order = (what: object) => (victim: Victim) => victim.order(what).catch(() => undefined);

  const byNodes: readonly Flow<Victim>[] = [
    {
      name: 'a worker evaluates policies',
      async prepare() {
        await refused();
        return order({ judge: true });
      },
      sample: 'judged',
    },
    {
      name: 'it accepts the verdict of an agent',
      async prepare() {
        const run = await refused();
        let isTaken = false;
        const { wrong } = current;
        current = {
          ...current,
          finish: async () => {
            if (!isTaken) return finishJudging();
            // Answered, so the decision is final.
            expect(await runs.statusOf(run)).toBe('post_plan_awaiting_decision');
          },
          wrong,
        };
        return async ({ url: address }) => {
          const client = new AgentClient(new URL(address), WORKER_TOKEN, undefined);
          const about = { name: 'judge', version: '0.2.0', 'tool-versions': ['1.11.4'], isolation: 'own-user' };
          try {
            const { id } = await register(client, { ...about, protocol: { oldest: 1, newest: 1 } });
            const json = { 'wait-seconds': 0, busy: [] };
            const given = (await client.json({ method: 'POST', path: `/agents/${id}/evaluations`, json })) as {
              id: string;
              lease: string;
              sets: { id: string }[];
            };
            const outcomes = [{ status: 'failed', output: [{ print: 'not so' }] }];
            const { body } = await client.ask({
              method: 'PUT',
              path: `/agents/${id}/evaluations/${given.id}/verdicts`,
              headers: { 'x-agent-lease': given.lease },
              bytes: Buffer.from(JSON.stringify({ sets: [{ id: given.sets[0]!.id, error: '', outcomes }] })),
            });
            body.resume();
            isTaken = true;
          } catch {
            // The process has died.
          } finally {
            client.close();
          }
        };
      },
    },
    {
      name: 'a plan with policies ends',
      async prepare() {
        await fresh();
        await judgedBy('fine');
        const run = await runs.started({ 'auto-apply': true });
        const job = await runs.worker.take('plan');
        await runs.worker.start(job);
        current = {
          run,
          async finish() {
            // The worker repeats an unanswered result; one that was already accepted is refused.
            const planFile = Buffer.from('plan');
            await runs.worker.endPlan(job, { outcome: 'planned', hasChanges: true, additions: 1, planFile, jsonPlan });
            await finishJudging();
          },
          async wrong() {
            return [...(await judgedTo(run, 'passed', 'apply_queued')()), ...(await applied(run))];
          },
        };
        return order({ endPlan: { job, workerId: runs.worker.workerId } });
      },
    },
    {
      name: 'no worker evaluates policies',
      async prepare() {
        await fresh();
        await judgedBy('old', 'sentinel');
        const run = await planned();
        current = { run, finish: finishJudging, wrong: judgedTo(run, 'errored', 'post_plan_awaiting_decision') };
        return order({ job: 'end policy evaluations that nothing judges' });
      },
    },
    {
      name: 'someone overrides policies',
      async prepare() {
        const run = await refused();
        await judge();
        const stage = await stageOf(run);
        const override = (by = admin) => by.post(`task-stages/${stage.id}/actions/override`, { comment: 'agreed' });
        let answered = 0;
        current = {
          run,
          async finish() {
            if (answered === 0) expect([200, 409]).toContain((await override()).status);
          },
          async wrong() {
            const comments = (await admin.get(`runs/${run}/comments`).expect(200)).body.data.length;
            return [
              ...(comments === 1 ? [] : [`${comments} comments`]),
              ...(await judgedTo(run, 'overridden', 'apply_queued')()),
              ...(await applied(run)),
            ];
          },
        };
        return async (node) => {
          answered = await statusOf(override(nodes.at(node).admin));
        };
      },
    },
    {
      name: 'a dry run evaluates policies on earlier runs',
      async prepare() {
        await fresh();
        for (let n = 0; n < 3; n++) {
          await runs.started({ 'plan-only': true });
          await runs.worker.plan({ jsonPlan, hasChanges: false });
        }
        const policies = { data: [{ type: 'policies', id: await policy('no_way') }] };
        const body = resource('policy-dry-runs', {}, { policies });
        const { id } = (await admin.post('organizations/acme/policy-dry-runs', body).expect(201)).body.data;
        current = {
          async finish() {
            for (let n = 0; n < 3; n++) await finishJudging();
          },
          async wrong() {
            const { status, ...counts } = (await admin.get(`policy-dry-runs/${id}`).expect(200)).body.data.attributes;
            const results = (await admin.get(`policy-dry-runs/${id}/results`).expect(200)).body.data.length;
            const seen = [status, counts.runs, counts.failed, counts['would-stop'], results];
            return seen.join() === 'finished,3,3,3,3' ? [] : [seen.join()];
          },
        };
        return order({ judge: true });
      },
    },
    {
      name: 'it asks a task',
      async prepare() {
        await fresh();
        await asksTask('post_plan');
        const run = await planned();
        current = {
          run,
          async finish() {
            await claimsEnd();
            await perform();
            expect(new Set(asked.map((one) => one.task_result_id)).size).toBe(1);
            await callBack('passed').expect(200);
            await callBack('failed').expect(409);
          },
          wrong: () => applied(run),
        };
        return order({ job: 'perform run tasks' });
      },
    },
    ...['passed', 'failed'].map(
      (said): Flow<Victim> => ({
        name: `a task answers that it ${said}`,
        async prepare() {
          await fresh();
          await asksTask('post_plan');
          const run = await planned();
          await perform();
          let answered = 0;
          current = {
            run,
            async finish() {
              if (answered === 0) expect([200, 409]).toContain((await callBack(said)).status);
              await callBack(said).expect(409);
            },
            async wrong() {
              const result = `task-results/${asked[0]!.task_result_id}`;
              const { attributes } = (await admin.get(result).expect(200)).body.data;
              const outcomes = (await admin.get(`${result}/outcomes`).expect(200)).body.data.length;
              return [
                ...(attributes.status === said && outcomes === 1 ? [] : [`${attributes.status} with ${outcomes}`]),
                ...(await (said === 'passed' ? applied(run) : wrongOf(run, 'post_plan_awaiting_decision'))),
              ];
            },
          };
          return async (node) => {
            answered = await statusOf(callBack(said, nodes.at(node).as(asked[0]!.access_token!)));
          };
        },
        ...(said === 'passed' ? { sample: 'commit:after' } : {}),
      }),
    ),
  ];

  const byAgents: readonly Flow<Victim>[] = [
    {
      name: 'an agent evaluates policies',
      async prepare() {
        const run = await refused();
        return async (agent) => {
          await agent.order({}).catch(() => undefined);
          let isOver = false;
          void agent.ended.then(() => {
            isOver = true;
          });
          while (!isOver && (await runs.statusOf(run)) === 'post_plan_running') await sleep(20);
        };
      },
      sample: 'judged',
    },
  ];

  /** The problems after the survivors have finished their work. */
  async function look(): Promise<string[]> {
    await current.finish();
    return current.wrong();
  }

  it.each(flowsOf(byNodes))(
    'changes the end of no run, and repeats no effect, where $name',
    (flow) => nodes.withstands(flow, [], look),
    3_600_000,
  );
  it.each(flowsOf(byAgents))(
    'changes the end of no run, and repeats no effect, where $name',
    (flow) => agents.withstands(flow, [], look),
    3_600_000,
  );
});
