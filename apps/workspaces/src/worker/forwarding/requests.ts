import { setTimeout as sleep } from 'node:timers/promises';
import { outsideCall } from '@keystead/outside';
import { isRefusal } from '@keystead/refusal';
import type { Logger } from '@keystead/server';
import type { z } from 'zod';
import * as wire from '../../resources/runs/agents/protocol';
import { type AgentClient, type AgentRequest, isOver } from '../agent/client';
import { Failing, retry } from '../job/retry';
import type { Forwarding } from './forwarding';

const waitSeconds = 20;
const mostAtOnce = 8;
const longestReason = 300;
const longestCallMs = 30_000;
const shortestPauseMs = 500;
const longestPauseMs = 5000;
const pausesMs = [200, 1000, 3000];

type Given = z.infer<typeof wire.RequestGiven>;

/**
 * Sends a request exactly as the service gave it: with no credential of this machine, through no proxy, and following
 * no redirect.
 */
async function send({ method, url, headers, body, 'timeout-ms': timeoutMs }: Given, forwarding: Forwarding) {
  const refusal = forwarding.refusal(url);
  if (refusal !== undefined) return { reason: refusal };
  const bytes = body === null ? undefined : { type: body.type, content: Buffer.from(body.text, 'utf8') };
  try {
    const { reach } = forwarding;
    const request = { method, headers, bytes, reach };
    return { answer: await outsideCall('the Git host', url, request, Math.min(timeoutMs, longestCallMs)) };
  } catch (error) {
    if (!isRefusal(error)) throw error;
    return { reason: error.message.replace(/^the Git host is unreachable: /, '') };
  }
}

async function carryOut(client: AgentClient, agentId: string, forwarding: Forwarding, request: Given): Promise<void> {
  const about = {
    headers: { [wire.leaseHeader]: request.lease },
    path: `/agents/${agentId}/requests/${request.id}`,
  };
  const { answer, reason } = await send(request, forwarding);
  const query = answer && {
    status: String(answer.status),
    'retry-after': String(Math.floor(answer.retryAfterSeconds)),
  };
  const report: AgentRequest = answer
    ? { ...about, method: 'PUT', path: `${about.path}/answer`, query, bytes: answer.bytes }
    : {
        ...about,
        method: 'POST',
        path: `${about.path}/failure`,
        json: { reason: (reason || 'no reason').slice(0, longestReason) },
      };
  await retry(() => client.json(report), pausesMs).catch((error) => {
    // The caller no longer waits, or the answer was sent before.
    if (!isOver(error)) throw error;
  });
}

/**
 * Carries out requests to Git hosts until it is closed, several at a time. `agentId` is the agent's current
 * registration.
 */
export function startForwarding(
  client: AgentClient,
  agentId: () => string,
  forwarding: Forwarding,
  log: Logger,
): { close(): Promise<void> } {
  const closing = new AbortController();
  const { signal } = closing;
  const underWay = new Set<Promise<void>>();
  const take = async (): Promise<void> => {
    const id = agentId();
    const path = `/agents/${id}/requests`;
    const answer = await client.json({ method: 'POST', path, json: { 'wait-seconds': waitSeconds }, signal });
    if (answer === undefined) return;
    const request = wire.RequestGiven.parse(answer);
    const work: Promise<void> = carryOut(client, id, forwarding, request)
      // The content of the request is not logged.
      .catch((error) => log.error({ err: error, request: request.id }, 'a request was not sent'))
      .finally(() => underWay.delete(work));
    underWay.add(work);
  };
  const failing = new Failing(log, 'no request could be taken');
  let pauseMs = shortestPauseMs;
  const looping = (async () => {
    while (!signal.aborted) {
      if (underWay.size >= mostAtOnce) await Promise.race(underWay);
      try {
        await take();
        failing.worked();
        pauseMs = shortestPauseMs;
      } catch (error) {
        if (signal.aborted) break;
        // The loop that claims jobs registers again if needed.
        if (!isOver(error)) failing.failed(error);
        pauseMs = Math.min(pauseMs * 2, longestPauseMs);
        await sleep(pauseMs, undefined, { signal }).catch(() => undefined);
      }
    }
  })();
  return {
    async close() {
      closing.abort();
      await looping;
      await Promise.all(underWay);
    },
  };
}
