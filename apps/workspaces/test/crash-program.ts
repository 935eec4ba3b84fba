import { once } from 'node:events';
import { createLogger, createServer } from '@keystead/server';
import pg from 'pg';
import { faultPoints } from '../../../packages/testing/src/fault-points';
import { readConfig } from '../src/config';
import { jobsOf } from '../src/housekeeping';
import { performEvaluations } from '../src/resources/runs/policy-evaluations/perform';
import { createService } from '../src/service';
import { AgentClient } from '../src/worker/agent/client';
import { register } from '../src/worker/agent/http-source';
import { startJudging } from '../src/worker/policies/http-judging';
import { fakeWorker } from './fake-worker';
import { objectingEngine } from './objecting-engine';

// A process that a test kills: a node of the service with its jobs, or, given the address of a node, an agent that
// evaluates plans. Its fault points are its commits, its calls to the service, and the moment after it has evaluated a
// plan.

type Query = (...args: unknown[]) => unknown;

/** Calls the fault points around everything that a connection commits. */
function watchCommits(fault: (name: string) => void): void {
  const query = pg.Client.prototype.query as Query;
  const inside = new WeakSet<object>();
  const textOf = (statement: unknown): string =>
    typeof statement === 'string' ? statement : ((statement as { text?: string } | null)?.text ?? '');
  pg.Client.prototype.query = function (this: pg.Client, ...args: unknown[]) {
    const text = textOf(args[0]);
    const verb = /^\s*(\w+)/.exec(text)?.[1]?.toUpperCase();
    if (verb === 'BEGIN') inside.add(this);
    const commits = verb === 'COMMIT' || (!inside.has(this) && /\b(INSERT INTO|UPDATE|DELETE FROM)\b/i.test(text));
    if (verb === 'COMMIT' || verb === 'ROLLBACK') inside.delete(this);
    if (!commits) return query.apply(this, args);
    fault('commit:before');
    const done = args.at(-1);
    if (typeof done === 'function') {
      const after = (...given: unknown[]) => {
        fault('commit:after');
        done(...given);
      };
      return query.apply(this, [...args.slice(0, -1), after]);
    }
    return (query.apply(this, args) as Promise<unknown>).finally(() => fault('commit:after'));
  } as pg.Client['query'];
}

interface Orders {
  /** Runs a job of the service once. */
  readonly job?: string;
  /** Evaluates plans like a worker with access to the database. */
  readonly judge?: true;
  /** Ends a plan as the worker that has its job. */
  readonly endPlan?: {
    readonly job: Parameters<ReturnType<typeof fakeWorker>['endPlan']>[0];
    readonly workerId: string;
  };
}

async function runNode(): Promise<void> {
  let obey = async (_: Orders): Promise<unknown> => undefined;
  const fault = faultPoints((order) => obey(order));
  watchCommits(fault);
  const config = readConfig(process.env);
  const log = createLogger({ name: 'workspaces', level: 'silent' });
  const service = await createService(config, { log });
  const { db, env } = service;
  const { keyring } = env;
  const { vcsReach: reach, notificationReach, mailer, publicUrl, settings } = env;
  const jobs = jobsOf(db, {
    ...{ log, outage: service.outage, keyring, notificationReach, mailer, publicUrl, now: env.now },
    ...{ clockTrouble: service.clockTrouble, consoleIdleMinutes: config.console.idleMinutes },
    vcs: config.vcs && reach && { reach, publicUrl, settings, uploads: env, pollSeconds: config.vcs.pollSeconds },
  });
  obey = async ({ job, judge, endPlan }) => {
    if (job !== undefined) await jobs.find(({ name }) => name === job)!.run();
    if (judge) await performEvaluations({ db, keyring, engine: objectingEngine(() => fault('judged')) });
    if (endPlan) {
      const jsonPlan = Buffer.from('{"format_version":"1.2"}');
      const result = {
        outcome: 'planned',
        hasChanges: true,
        additions: 1,
        planFile: Buffer.from('plan'),
        jsonPlan,
      } as const;
      await fakeWorker({ service }, endPlan.workerId).endPlan(endPlan.job, result);
    }
  };
  const server = createServer(service.app).listen(0, '127.0.0.1');
  await once(server, 'listening');
  process.send?.({ url: `http://127.0.0.1:${(server.address() as { port: number }).port}` });
}

async function runAgent(address: string, token: string): Promise<void> {
  const fault = faultPoints(async () => {
    const log = createLogger({ name: 'agent', level: 'silent' });
    startJudging(
      client,
      () => agent.id,
      objectingEngine(() => fault('judged')),
      log,
    );
  });
  const client = new AgentClient(new URL(address), token, undefined);
  const about = { name: 'judge', version: '0.2.0', 'tool-versions': ['1.11.4'], isolation: 'own-user' };
  const agent = await register(client, { ...about, protocol: { oldest: 1, newest: 1 } });
  const ask = client.ask.bind(client);
  client.ask = async (sent) => {
    fault('call:before');
    const answer = await ask(sent);
    fault('call:after');
    return answer;
  };
  process.send?.({ url: '' });
}

const { AGENT_ADDRESS, AGENT_TOKEN } = process.env;
(AGENT_ADDRESS ? runAgent(AGENT_ADDRESS, AGENT_TOKEN ?? '') : runNode()).catch((error) => {
  process.stderr.write(`${(error as Error).stack}\n`);
  process.exit(1);
});
