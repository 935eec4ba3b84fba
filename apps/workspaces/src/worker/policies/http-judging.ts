import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from '@keystead/server';
import * as wire from '../../resources/runs/agents/protocol';
import type { PolicyEngine } from '../../resources/runs/policy-evaluations/perform';
import { type AgentClient, type AgentRequest, isOver } from '../agent/client';
import { startLoop } from '../fetch/fetch-loop';
import { retry } from '../job/retry';

const waitSeconds = 20;
const keepEveryMs = 10_000;
/** How often the worker looks for plans of other organizations while it evaluates one. */
const busyLookMs = 1000;
const pausesMs = [500, 2000, 8000];
/** The number of plans, each of a different organization, that are evaluated at the same time. */
const mostAtOnce = 4;

type GivenPlan = (typeof wire.EvaluationGiven)['_output'];

/**
 * Evaluates policies for the plans that the service assigns over HTTP, until it is closed. `agentId` is the agent's
 * current registration. If an agent disappears, another agent gets its plan.
 */
export function startJudging(
  client: AgentClient,
  agentId: () => string,
  engine: PolicyEngine,
  log: Logger,
): { close(): Promise<void> } {
  const underWay = new Map<string, Promise<void>>();
  const loop = startLoop(
    async (signal) => {
      while (underWay.size >= mostAtOnce) await Promise.race(underWay.values());
      // Busy organizations may have more plans before a long wait is over.
      const isIdle = underWay.size === 0;
      const id = agentId();
      const json = { 'wait-seconds': isIdle ? waitSeconds : 0, busy: [...underWay.keys()] };
      const answer = await client.json({ method: 'POST', path: `/agents/${id}/evaluations`, json, signal });
      if (answer === undefined) {
        if (!isIdle) await Promise.race([...underWay.values(), sleep(busyLookMs)]);
        return !isIdle;
      }
      const evaluation = wire.EvaluationGiven.parse(answer);
      const organization = evaluation['organization-id'];
      const judging = judgeOne(client, id, engine, evaluation)
        .catch((error) =>
          log.error({ err: error, evaluation: evaluation.id }, 'the policies for a plan were not evaluated'),
        )
        .finally(() => underWay.delete(organization));
      underWay.set(organization, judging);
      return true;
    },
    { log, pollMs: 250, problem: 'no plan could be taken to evaluate' },
  );
  return {
    async close() {
      await loop.close();
      await Promise.all(underWay.values());
    },
  };
}

async function judgeOne(
  client: AgentClient,
  agentId: string,
  engine: PolicyEngine,
  evaluation: GivenPlan,
): Promise<void> {
  const { id, lease } = evaluation;
  const about = (sent: AgentRequest): AgentRequest => ({
    ...sent,
    path: `/agents/${agentId}/evaluations/${id}${sent.path}`,
    headers: { [wire.leaseHeader]: lease },
  });
  const say = (path: string) => client.json(about({ method: 'POST', path })).catch(() => undefined);
  const keeping = setInterval(() => void say('/keep'), keepEveryMs);
  try {
    const { body: plan } = await client.ask(about({ method: 'GET', path: '/plan' }));
    const sets = evaluation.sets.map(
      ({ 'tool-version': toolVersion, 'disabled-versions': disabledVersions, policies, ...set }) => ({
        ...set,
        toolVersion,
        disabledVersions,
        policies: policies.map(({ name, query }) => ({
          name,
          query,
          enforcementLevel: '',
          description: '',
          digest: '',
        })),
      }),
    );
    const verdicts = await engine.judge(sets, { run: evaluation.run, plan }).finally(() => plan.destroy());
    const verdictSets = verdicts.map(({ id: set, error, outcomes }) => ({
      id: set,
      error,
      outcomes: outcomes.map(({ status, output }) => ({ status, output })),
    }));
    const bytes = Buffer.from(JSON.stringify({ sets: verdictSets }));
    await retry(() => client.json(about({ method: 'PUT', path: '/verdicts', bytes })), pausesMs);
  } catch (error) {
    if (isOver(error)) return;
    await say('/release');
    throw error;
  } finally {
    clearInterval(keeping);
  }
}
