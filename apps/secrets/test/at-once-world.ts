import { generateKeyPairSync } from 'node:crypto';
import { afterAll, beforeAll } from '@jest/globals';
import type { Verb } from '../src/sdk/call';
import type { World } from './at-once-examples';
import { SchedulerStandIn } from './stand-ins/scheduler';
import type { Secrets } from './start-secrets';
import { mountEveryKind } from './visits';

/** The raw answer to a call. */
export interface Sent {
  readonly status: number;
  readonly text: string;
}

/** HTTP methods of the verbs that examples call. */
export const methodOf: Partial<Record<Verb, string>> = { write: 'POST', patch: 'PATCH', delete: 'DELETE' };

/**
 * The surroundings of the examples: a mount of every kind, and a scheduler behind one of them. `send` with `WRAP` is a POST that asks for a wrapped answer.
 */
export function worldOf(
  secrets: Secrets,
  send: (method: string, path: string, token: string, body?: object) => Promise<Sent>,
): World {
  const scheduler = new SchedulerStandIn();
  beforeAll(async () => {
    await scheduler.start();
    await mountEveryKind(secrets);
    const access = { address: scheduler.address, token: scheduler.management };
    await secrets.root.write('scheduler/config/access', access).expect(204);
    await secrets.root.write('scheduler/role/ops', { policies: 'read' }).expect(204);
    const policy =
      'path "*" { capabilities = ["create", "read", "update", "delete", "list", "scan", "patch", "sudo"] }';
    await secrets.root.write('sys/policies/acl/everything', { policy }).expect(204);
  });
  afterAll(() => scheduler.stop());
  const publicKey = String(
    generateKeyPairSync('ec', { namedCurve: 'P-256' }).publicKey.export({ type: 'spki', format: 'pem' }),
  );
  // All names are equally long.
  let made = 1000;
  const world: World = {
    root: (method, path, body) => world.as(secrets.rootToken, method, path, body),
    async as(token, method, path, body) {
      const { status, text } = await send(method, path, token, body);
      if (status >= 300) {
        throw Object.assign(new Error(`${method} ${path} was answered ${status}: ${text}`), { status });
      }
      return text === '' ? undefined : JSON.parse(text);
    },
    fresh: () => `thing${++made}`,
    get schedulerAddress() {
      return scheduler.address;
    },
    get schedulerToken() {
      return scheduler.management;
    },
    publicKey,
  };
  return world;
}

/** Sends the calls of a walk one after the other. */
export function senderTo(secrets: Secrets) {
  return async (method: string, path: string, token: string, body?: object): Promise<Sent> => {
    const { port } = secrets.server.address() as { port: number };
    const verb = method === 'WRAP' ? 'POST' : method;
    const answer = await fetch(`http://127.0.0.1:${port}/v1/${path}`, {
      method: verb,
      headers: {
        'X-Service-Token': token,
        'Content-Type': verb === 'PATCH' ? 'application/merge-patch+json' : 'application/json',
        ...(method === 'WRAP' ? { 'X-Service-Wrap-TTL': '5m' } : {}),
      },
      body: body === undefined || verb === 'GET' ? undefined : JSON.stringify(body),
      signal: AbortSignal.timeout(60_000),
    });
    const text = await answer.text();
    // This test ignores answers that only an overloaded machine gives.
    if (answer.status === 503 && text.includes('storage is unavailable')) {
      return senderTo(secrets)(method, path, token, body);
    }
    return { status: answer.status, text };
  };
}
