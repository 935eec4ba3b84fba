import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { until } from './fresh-storage';
import { CloudStandIn } from './stand-ins/cloudtwo';
import { SchedulerStandIn } from './stand-ins/scheduler';
import { startSecrets } from './start-secrets';

// Credentials are created and revoked while one call in twenty fails: throttled, with an internal error, or without an
// answer, before or after it took effect. Normally sixty; the long form makes five thousand and prints the results.

const long = process.env.KEYSTEAD_LONG === '1';
const EACH = long ? 2500 : 30;
const AT_ONCE = 20;
const FAILING = 0.05;

describe('outside systems with one failing call in twenty', () => {
  let aheadMs = 0;
  const now = () => Date.now() + aheadMs;
  const secrets = startSecrets({ clock: { now } });
  const scheduler = new SchedulerStandIn();
  const cloud = new CloudStandIn();
  cloud.nowMs = now;
  const random = numbers(20_261_121);
  const failures = { throttled: 0, faults: 0, unanswered: 0, calls: 0 };
  /** Credentials that cannot be deleted until the provider is repaired. */
  const stubborn = new Set<string>();
  let failing = false;

  beforeAll(async () => {
    await Promise.all([scheduler.start(), cloud.start()]);
    await secrets.root
      .write('scheduler/config/access', { address: scheduler.address, token: scheduler.management })
      .expect(204);
    await secrets.root.write('scheduler/role/ops', { policies: 'read' }).expect(204);
    const root = { access_key: cloud.rootKey.id, secret_key: cloud.rootKey.secret };
    await secrets.root
      .write('cloudtwo/config/root', { ...root, iam_endpoint: cloud.address, sts_endpoint: cloud.address })
      .expect(204);
    await secrets.root
      .write('cloudtwo/roles/user', {
        credential_type: 'iam_user',
        policy_arns: 'arn:aws:iam::aws:policy/ReadOnlyAccess',
      })
      .expect(204);
    scheduler.fail = (method, path) => {
      const id = path.split('/').at(-1)!;
      if (method === 'DELETE' && stubborn.has(id)) return { status: 500, text: `no deleting of ${id}` };
      const how = chance();
      if (how === 'throttled') return { status: 429, text: 'ACL requests are limited' };
      return how === 'fault' ? { status: 500, text: 'No cluster leader' } : undefined;
    };
    scheduler.interfere = (_method, _path, response) => unanswered(response);
    cloud.fail = (action, form) => {
      if (action === 'DeleteUser' && stubborn.has(form.UserName ?? '')) {
        return { status: 409, code: 'DeleteConflict', message: `${form.UserName} cannot be deleted` };
      }
      const how = chance();
      if (how === 'throttled') return { status: 400, code: 'Throttling', message: 'Rate exceeded' };
      return how === 'fault' ? { status: 500, code: 'ServiceFailure', message: 'try again' } : undefined;
    };
    cloud.interfere = (_action, response) => unanswered(response);
  });
  afterAll(async () => {
    await Promise.all([scheduler.stop(), cloud.stop()]);
  });

  function chance(): 'throttled' | 'fault' | undefined {
    if (!failing || random() >= (FAILING * 2) / 3) return undefined;
    const how = random() < 0.5 ? 'throttled' : 'fault';
    failures[how === 'fault' ? 'faults' : how]++;
    return how;
  }

  /** Half of the calls without an answer still take effect. */
  function unanswered(response: import('node:http').ServerResponse): boolean {
    failures.calls++;
    if (!failing || random() >= FAILING / 3) return false;
    failures.unanswered++;
    if (random() < 0.5) {
      response.destroy();
      return true;
    }
    response.end = (() => response.destroy()) as typeof response.end;
    return false;
  }

  async function issue(path: string): Promise<void> {
    for (;;) {
      const { status } = await secrets.root.read(path);
      if (status === 200) return;
      expect(status).toBe(502);
    }
  }

  const irrevocable = async () => (await secrets.root.read('sys/leases?type=irrevocable').expect(200)).body.data;
  const counts = async () => {
    const { text } = await secrets.root.read('sys/metrics?format=prometheus').expect(200);
    const gauge = (name: string) => Number(new RegExp(`^secrets_${name} (\\d+)$`, 'm').exec(text)?.[1]);
    return { leases: gauge('leases'), irrevocable: gauge('irrevocable'), intents: gauge('intents') };
  };
  /** Time passes faster than in reality. */
  const passing = (holds: () => Promise<boolean>) =>
    until(async () => {
      aheadMs += 5000;
      return holds();
    }, 1_200_000);

  it('leave nothing on either side', async () => {
    failing = true;
    const paths = Array.from({ length: EACH }, () => ['scheduler/creds/ops', 'cloudtwo/creds/user']).flat();
    await Promise.all(
      Array.from({ length: AT_ONCE }, async () => {
        for (let path = paths.pop(); path !== undefined; path = paths.pop()) await issue(path);
      }),
    );
    // Failed creations are undone; then every credential in the outside systems has a lease.
    await passing(async () => (await counts()).intents === 0);
    expect((await counts()).leases).toBe(2 * EACH);
    expect([scheduler.issued.length, cloud.issued.length]).toEqual([EACH, EACH]);

    const some = Math.ceil(EACH / 100);
    for (const { AccessorID } of scheduler.issued.slice(0, some)) stubborn.add(AccessorID);
    for (const { name } of cloud.issued.slice(0, some)) stubborn.add(name);
    await secrets.root.write('sys/leases/revoke-prefix/scheduler/creds', { sync: false });
    await secrets.root.write('sys/leases/revoke-prefix/cloudtwo/creds', { sync: false });
    await passing(async () => {
      const left = await counts();
      return left.leases === stubborn.size && left.irrevocable === stubborn.size;
    });
    const stuck = await irrevocable();
    expect(stuck.lease_count).toBe(stubborn.size);
    for (const { error } of stuck.leases) expect(error).toMatch(/no deleting of|cannot be deleted/);

    stubborn.clear();
    failing = false;
    expect((await secrets.root.write('sys/leases/replay').expect(200)).body.data.lease_count).toBe(stuck.lease_count);
    await passing(async () => {
      const left = await counts();
      return left.leases + left.intents === 0;
    });
    expect([scheduler.issued.length, cloud.issued.length]).toEqual([0, 0]);
    expect([...cloud.keys.values()].filter(({ user }) => user !== 'root-svc')).toEqual([]);
    if (long) {
      const { calls, throttled, faults, unanswered: lost } = failures;
      process.stdout.write(
        `${2 * EACH} credentials, ${calls} calls: ${throttled} throttled, ${faults} faults, ${lost} unanswered; ` +
          `${stuck.lease_count} irrevocable and replayed; nothing left on either side\n`,
      );
    }
    expect(failures.throttled * failures.faults * failures.unanswered).toBeGreaterThan(0);
  }, 2_400_000);
});

/** Numbers from 0 to 1, the same in every run. */
function numbers(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 4_294_967_296;
  };
}
