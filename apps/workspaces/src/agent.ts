import { setTimeout as sleep } from 'node:timers/promises';
import { isRefusal } from '@keystead/refusal';
import type { Logger } from '@keystead/server';
import { startTracing } from '@keystead/tracing';
import { version } from './kernel/installation/version';
import { supportedVersions } from './resources/runs/agents/protocol';
import { AgentClient } from './worker/agent/client';
import { HttpSource, register } from './worker/agent/http-source';
import type { AgentConfig } from './worker/agent-config';
import { NoWorker, type WorkerDeps } from './worker/deps';
import { startFetching } from './worker/fetch/fetch-loop';
import { httpFetches } from './worker/fetch/http-fetches';
import { startForwarding } from './worker/forwarding/requests';
import { Failing } from './worker/job/retry';
import { startJudging } from './worker/policies/http-judging';
import { opaEngine } from './worker/policies/opa';
import { startWork } from './worker/work';

const longestPauseMs = 15_000;

/** An agent at work. */
export interface AgentProcess {
  readonly id: string;
  readonly pool: string;
  /** Lets runs end, then interrupts them, and signs off. */
  close(): Promise<void>;
}

/**
 * Builds and starts an agent: a worker without a database, which knows only the service's address and the token of a
 * pool or of the installation. `onRevoked` is called when the token is no longer valid. Throws NoWorker if the service
 * refuses it.
 */
export async function startAgent(
  config: AgentConfig,
  deps: WorkerDeps,
  log: Logger,
  onRevoked: () => void,
): Promise<AgentProcess> {
  const client = new AgentClient(config.address, config.token, config.proxy, config.trust);
  const about = {
    name: config.name,
    version,
    protocol: supportedVersions,
    'tool-versions': deps.binaries.map((one) => one.version),
    isolation: deps.isolation.kind,
    ...(config.forwarding && { forwards: true }),
  };
  const registering = () => register(client, about);
  const agent = await persist(registering, log).catch((error) => {
    client.close();
    throw isRefusal(error) ? new NoWorker(`the service refuses this agent: ${sayOf(error)}`) : error;
  });
  const again = async () => {
    const registered = await registering();
    log.warn({ agent: registered.id }, 'registered again');
    return registered;
  };
  const source = new HttpSource(client, agent, config.leaseSeconds, again, onRevoked);
  const { installation } = agent;
  const { traces } = config;
  const tracing = startTracing(traces && { ...traces, service: 'keystead-agent', version }, log);
  const work = await startWork({ source, config, deps, log, tracing, installation, pollMs: 250 });
  const forwards = agent.forwards ? config.forwarding : undefined;
  const fetching = agent.fetches
    ? startFetching(
        httpFetches(client, () => source.workerId, config, deps.isolation, forwards),
        log,
        250,
      )
    : undefined;
  const forwarding = forwards && startForwarding(client, () => source.workerId, forwards, log);
  const { opa: programs, isolation } = deps;
  const judging =
    agent.judges && programs.length > 0
      ? startJudging(client, () => source.workerId, opaEngine({ programs, isolation, scratch: config.scratch }), log)
      : undefined;
  return {
    id: agent.id,
    pool: agent.pool,
    async close() {
      // Results (commits, responses of Git hosts, and verdicts) are reported before the agent deregisters.
      await Promise.all([fetching?.close(), forwarding?.close(), judging?.close()]);
      await work.close();
      await tracing?.close();
      client.close();
    },
  };
}

/** Retries until the service answers, even with a refusal, because the service may start later than the agent. */
async function persist<T>(work: () => Promise<T>, log: Logger): Promise<T> {
  const failing = new Failing(log, 'the service cannot be reached yet');
  for (let pauseMs = 500; ; pauseMs = Math.min(pauseMs * 2, longestPauseMs)) {
    try {
      return await work();
    } catch (error) {
      if (isRefusal(error)) throw error;
      failing.failed(error);
      await sleep(pauseMs);
    }
  }
}

const sayOf = ({ kind, message }: { kind: string; message: string }): string =>
  kind === 'unauthenticated' ? 'its token is not valid or has been revoked' : message;
