import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import type { Test } from 'supertest';
import { until } from './fresh-storage';
import { SchedulerStandIn } from './stand-ins/scheduler';
import { startSecrets } from './start-secrets';

// If this failed, credentials would outlive their lease for minutes or a day after an outage of their system.

describe('a lease, after an outage of its outside system,', () => {
  let aheadMs = 0;
  const secrets = startSecrets({ clock: { now: () => Date.now() + aheadMs } });
  const scheduler = new SchedulerStandIn();
  let away = false;
  const MINUTE = 60_000;
  /** Longer than the pause of a system that does not answer. */
  const TRIED_AGAIN_MS = 16_000;

  beforeAll(async () => {
    await scheduler.start();
    scheduler.interfere = (_method, _path, response) => {
      if (away) response.destroy();
      return away;
    };
    await configure();
    await secrets.root.write('scheduler/role/ops', { policies: 'read' }).expect(204);
  });
  afterEach(async () => {
    back();
    await configure();
    await soon(revokeAll, 204);
  });
  afterAll(() => scheduler.stop());

  const configure = (address = scheduler.address) =>
    secrets.root.write('scheduler/config/access', { address, token: scheduler.management }).expect(204);
  /** The system is back, and its pause is over. */
  const back = () => {
    away = false;
    aheadMs += TRIED_AGAIN_MS;
  };
  /** Asks again if a call from before the end of the outage was still running. */
  const soon = async (ask: () => Test, status: number) => {
    const first = await ask();
    if (first.status === status) return first;
    back();
    const { body, status: second } = await ask();
    expect([second, body.errors]).toEqual([status, undefined]);
    return { body };
  };
  const issue = async (): Promise<string> =>
    (await soon(() => secrets.root.read('scheduler/creds/ops'), 200)).body.data.accessor_id;
  const revokeAll = () => secrets.root.write('sys/leases/revoke-prefix/scheduler/creds', { sync: true });
  const lives = (accessor: string) => scheduler.tokens.has(accessor);
  const irrevocable = async () =>
    (await secrets.root.read('sys/leases?type=irrevocable').expect(200)).body.data.lease_count;

  /** Lets leases come due while their system does not answer; a long outage lasts until each pauses for a day. */
  async function outage(how: 'short' | 'long'): Promise<string[]> {
    const made = [await issue(), await issue(), await issue()];
    away = true;
    const asked = scheduler.calls.length;
    await secrets.root.write('sys/leases/revoke-prefix/scheduler/creds', { sync: false }).expect(204);
    await until(async () => {
      if (how === 'short') return scheduler.calls.length >= asked + 6;
      aheadMs += MINUTE;
      return (await irrevocable()) === made.length;
    });
    expect(made.every(lives)).toBe(true);
    return made;
  }

  it('is revoked as soon as one call to that system succeeds', async () => {
    const made = await outage('long');
    back();
    const later = await issue();
    await until(() => !made.some(lives));
    expect(lives(later)).toBe(true);
  });

  it('is revoked as soon as the configuration is written again', async () => {
    const made = await outage('long');
    away = false;
    await configure();
    await until(() => !made.some(lives));
  });

  it('is revoked with its prefix', async () => {
    const made = await outage('short');
    back();
    await soon(revokeAll, 204);
    expect(made.some(lives)).toBe(false);
  });

  it('is revoked with its mount', async () => {
    await secrets.root.write('sys/mounts/passing', { type: 'scheduler' }).expect(204);
    await secrets.root
      .write('passing/config/access', { address: scheduler.address, token: scheduler.management })
      .expect(204);
    await secrets.root.write('passing/role/ops', { policies: 'read' }).expect(204);
    const { body } = await secrets.root.read('passing/creds/ops').expect(200);
    const accessor = body.data.accessor_id;
    away = true;
    await secrets.root.delete('sys/mounts/passing').expect(400, /unreachable|did not answer/);
    expect(lives(accessor)).toBe(true);
    back();
    await soon(() => secrets.root.delete('sys/mounts/passing'), 204);
    expect(lives(accessor)).toBe(false);
  });

  it('is revoked in time if it was created afterwards, while others wait', async () => {
    await secrets.root.write('scheduler/config/lease', { ttl: 3600, max_ttl: 7200 }).expect(204);
    await outage('short');
    back();
    const later = await issue();
    aheadMs += 3601_000;
    await until(() => !lives(later));
  });

  it('that was created before and expired afterwards is revoked without a request', async () => {
    await secrets.root.write('scheduler/config/lease', { ttl: 3600, max_ttl: 7200 }).expect(204);
    const early = await issue();
    away = true;
    // Other calls get no answer, and the system is not called for a while.
    for (let n = 0; n < 8; n++) await secrets.root.read('scheduler/creds/ops').expect(502);
    away = false;
    aheadMs += 3601_000;
    await until(() => !lives(early));
  });
});
