import { isRefusal } from '@keystead/refusal';
import type { Logger } from '@keystead/server';
import { version } from './kernel/installation/version';
import { spoken } from './resources/runs/agents/protocol';
import { AgentClient } from './worker/agent/client';
import { HttpSource, register } from './worker/agent/http-source';
import type { AgentConfig } from './worker/agent-config';
import { type Means, NoWorker } from './worker/means';
import { startWork } from './worker/work';

/** An agent at work. */
export interface AgentProcess {
  readonly id: string;
  readonly pool: string;
  /** Lets runs end, then interrupts them, and signs off. */
  close(): Promise<void>;
}

/**
 * Builds an agent and starts it: a worker that knows no database, only the service's address and the token of a pool.
 * `over` is called when the token is none any more. Throws NoWorker where the service refuses it.
 */
export async function startAgent(
  config: AgentConfig,
  means: Means,
  log: Logger,
  over: () => void,
): Promise<AgentProcess> {
  const client = new AgentClient(config.address, config.token, config.proxy);
  const about = {
    name: config.name,
    version,
    protocol: spoken,
    'tool-versions': means.binaries.map((one) => one.version),
    isolation: means.isolation.kind,
  };
  const registering = () => register(client, about);
  const agent = await registering().catch((error) => {
    client.close();
    throw isRefusal(error) ? new NoWorker(`the service refuses this agent: ${sayOf(error)}`) : error;
  });
  const again = async () => {
    const anew = await registering();
    log.warn({ agent: anew.id }, 'registered again');
    return anew;
  };
  const source = new HttpSource(client, agent, config.leaseSeconds, again, over);
  const { installation } = agent;
  const work = await startWork({ source, config, means, log, installation, pollMs: 250 });
  return {
    id: agent.id,
    pool: agent.pool,
    async close() {
      await work.close();
      client.close();
    },
  };
}

const sayOf = ({ kind, message }: { kind: string; message: string }): string =>
  kind === 'unauthenticated' ? 'its token is none, or has been revoked' : message;
