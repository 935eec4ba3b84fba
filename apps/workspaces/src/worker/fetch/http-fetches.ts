import * as wire from '../../resources/runs/agents/protocol';
import { fromWire } from '../../resources/runs/agents/wire';
import type { Fetch } from '../../resources/runs/vcs/fetches';
import { type AgentClient, type AgentRequest, isOver } from '../agent/client';
import type { Forwarding } from '../forwarding/forwarding';
import type { Isolation } from '../isolation/isolation';
import { retry } from '../job/retry';
import type { FetchSource } from './fetch-loop';
import { type FetchSettings, fetcherOf } from './fetch-parts';

const waitSeconds = 20;
const pausesMs = [500, 2000, 8000];

/**
 * Ignores an error that means that another worker has claimed or answered the commit in the meantime. The service
 * reassigns a commit if its worker sends no report.
 */
const leaveIfOver = (error: unknown): void => {
  if (!isOver(error)) throw error;
};

/**
 * Commits to fetch for the service, over HTTP. `agentId` is the agent's current registration. `forwarding` is set for
 * agents of a pool.
 */
export function httpFetches(
  client: AgentClient,
  agentId: () => string,
  settings: FetchSettings,
  isolation: Isolation,
  forwarding?: Forwarding,
): FetchSource {
  const leases = new Map<string, { agentId: string; lease: string }>();
  const about = (fetch: Fetch, sent: AgentRequest): AgentRequest => {
    const { agentId: id, lease } = leases.get(keyOf(fetch))!;
    const path = `/agents/${id}/fetches/${fetch.configurationVersionId}${sent.path}`;
    return { ...sent, path, headers: { [wire.leaseHeader]: lease } };
  };
  return {
    async claim(signal) {
      const id = agentId();
      const json = { 'wait-seconds': waitSeconds };
      const answer = await client.json({ method: 'POST', path: `/agents/${id}/fetches`, json, signal });
      if (answer === undefined) return undefined;
      const { lease, networks, configurationBytes, ref, sshKey, ...rest } = fromWire(
        wire.FetchAnswer.parse(answer),
      ) as unknown as Omit<Fetch, 'ref' | 'sshKey'> & {
        lease: string;
        networks: string[];
        configurationBytes: number;
        ref: string | null;
        sshKey: string | null;
      };
      const fetch: Fetch = { ...rest, ref: ref ?? undefined, sshKey: sshKey ?? undefined };
      leases.set(keyOf(fetch), { agentId: id, lease });
      const fetcher = fetcherOf(settings, isolation, { networks, configurationBytes });
      return { fetch, fetcher: forwarding ? { ...fetcher, ...forwardingOf(forwarding) } : fetcher };
    },
    async finish(fetch, bytes) {
      await client
        .json(about(fetch, { method: 'PUT', path: '/archive', bytes, silenceMs: 300_000 }))
        .catch(leaveIfOver);
      leases.delete(keyOf(fetch));
    },
    async fail(fetch, reason, again) {
      const sent = about(fetch, { method: 'POST', path: '/failure', json: { reason, again } });
      await retry(() => client.json(sent), pausesMs).catch(leaveIfOver);
      leases.delete(keyOf(fetch));
    },
  };
}

/** A forwarding agent is in its own network and decides itself which hosts it calls. */
const forwardingOf = (forwarding: Forwarding) => ({
  reach: forwarding.reach,
  origins: forwarding.origins,
  refusal: (url: string) => forwarding.refusal(url),
});

const keyOf = ({ configurationVersionId, attempt }: Fetch): string => `${configurationVersionId} ${attempt}`;
