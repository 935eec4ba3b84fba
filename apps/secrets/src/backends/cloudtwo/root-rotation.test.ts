import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { manualClock } from '@keystead/testing';
import { until } from '../../../test/fresh-storage';
import { CloudStandIn } from '../../../test/stand-ins/cloudtwo';
import { startSecrets } from '../../../test/start-secrets';
import { backgroundCalls } from '../../service/background-calls';

const hourMs = 3_600_000;

describe('the scheduled rotation of the root key', () => {
  const cloud = new CloudStandIn();
  const clock = manualClock(Date.UTC(2026, 2, 1, 12));
  cloud.nowMs = () => clock.now();
  beforeAll(() => cloud.start());
  afterAll(() => cloud.stop());
  let hang = false;
  let hung = false;
  const secrets = startSecrets({
    clock,
    fault(name) {
      if (!hang || name !== 'cloudtwo:GetUser:done') return;
      hung = true;
      return new Promise(() => {});
    },
  });
  beforeEach(() => {
    cloud.fail = () => undefined;
    cloud.calls.length = 0;
    hang = false;
  });

  const configure = (terms: object) => {
    const [key] = [...cloud.keys.values()];
    return secrets.root.write('cloudtwo/config/root', {
      access_key: key!.id,
      secret_key: key!.secret,
      region: 'eu-west-1',
      iam_endpoint: cloud.address,
      sts_endpoint: cloud.address,
      max_retries: 0,
      ...terms,
    });
  };
  const read = async () => (await secrets.root.read('cloudtwo/config/root').expect(200)).body.data;
  /** The periodic work of the nodes of an installation, all at the same time. */
  const look = async (nodes = 1) => {
    const { mounts, entries, committer, decisions, namespaces, leases } = secrets.service.kernel;
    const mount = mounts.at(namespaces.root.uuid, 'cloudtwo/')!;
    const inBackground = backgroundCalls({ entries, committer, decisions }, clock, () => leases);
    await Promise.allSettled(Array.from({ length: nodes }, () => inBackground(mount, mount.backend.tick!)));
  };
  const keysCreated = () => cloud.actions().filter((action) => action === 'CreateAccessKey').length;
  const refuse = (action: string) => {
    cloud.fail = (call) =>
      call === action ? { status: 409, code: 'LimitExceeded', message: 'no more keys' } : undefined;
  };

  it('has no schedule before there is a configuration', async () => {
    await secrets.root.read('cloudtwo/config/root/rotation').expect(404);
    await secrets.root
      .write('cloudtwo/config/root/rotation', { rotation_period: '1h' })
      .expect(400, /no configuration/);
  });

  it.each([
    [{ rotation_period: '1h', rotation_schedule: '0 3 * * *' }, "only one of 'rotation_period' and"],
    [{ rotation_period: '5s' }, "'rotation_period' must be at least 10s"],
    [{ rotation_window: '2h' }, "'rotation_window' has no meaning without"],
    [{ rotation_schedule: '0 3 * * *', rotation_window: '10m' }, "'rotation_window' must be at least 1h"],
    [{ rotation_schedule: 'daily' }, "'rotation_schedule' is not a cron line"],
    [{ rotation_schedule: '0 0 30 2 *' }, 'its time never comes'],
    [
      { rotation_period: '1h', access_key: '', secret_key: '', credential_source: 'environment' },
      'only a root credential that is stored here',
    ],
  ])('is refused as %j', async (terms, text) => {
    const { body } = await configure(terms).expect(400);
    expect(body.errors[0]).toContain(text);
  });

  it('happens only if configured, and otherwise shows nothing', async () => {
    await configure({}).expect(204);
    clock.advance(10_000 * hourMs);
    await look();
    expect(keysCreated()).toBe(0);
    expect(Object.keys(await read()).filter((field) => field.includes('rotation'))).toEqual([]);
  });

  it('happens once per period, however many nodes check', async () => {
    await configure({ rotation_period: '24h' }).expect(204);
    const before = await read();
    expect(before).toMatchObject({ rotation_period: 86_400, last_rotation: null, rotation_failures: 0 });
    expect(Date.parse(before.next_rotation)).toBe(clock.now() + 24 * hourMs);
    clock.advance(23 * hourMs);
    await look(5);
    expect(keysCreated()).toBe(0);
    clock.advance(hourMs);
    await look(5);
    await until(async () => (await read()).access_key !== before.access_key);
    await until(async () => (await read()).last_rotation !== null);
    expect(keysCreated()).toBe(1);
    const after = await read();
    expect([...cloud.keys.keys()]).toEqual([after.access_key]);
    expect(Date.parse(after.last_rotation)).toBe(clock.now());
    expect(Date.parse(after.next_rotation)).toBe(clock.now() + 24 * hourMs);
  });

  it('restarts its period when the key is rotated by hand', async () => {
    clock.advance(5 * hourMs);
    await secrets.root.write('cloudtwo/config/rotate-root', {}).expect(200);
    const { last_rotation, next_rotation } = await read();
    expect(Date.parse(last_rotation)).toBe(clock.now());
    expect(Date.parse(next_rotation)).toBe(clock.now() + 24 * hourMs);
  });

  it('shows why it failed, and is tried again after pauses that double', async () => {
    await configure({ rotation_period: '24h' }).expect(204);
    refuse('CreateAccessKey');
    clock.advance(24 * hourMs);
    const key = (await read()).access_key;
    for (const [failures, pauseMs] of [
      [1, 60_000],
      [2, 120_000],
      [3, 240_000],
    ] as const) {
      await look(2);
      await until(async () => (await read()).rotation_failures === failures);
      const plan = await read();
      expect(plan.last_rotation_error).toContain('error calling CreateAccessKey: LimitExceeded: no more keys');
      expect(Date.parse(plan.next_rotation)).toBe(clock.now() + pauseMs);
      expect(plan.access_key).toBe(key);
      clock.advance(pauseMs);
    }
    cloud.fail = () => undefined;
    await look(2);
    await until(async () => (await read()).rotation_failures === 0);
    expect(await read()).toMatchObject({ last_rotation_error: '', access_key: expect.not.stringMatching(key) });
  });

  it('keeps to its window, and reports a missed window', async () => {
    await configure({ rotation_schedule: '0 3 * * *', rotation_window: '1h' }).expect(204);
    const due = Date.parse((await read()).next_rotation);
    expect(new Date(due).toISOString()).toContain('T03:00:00');
    refuse('CreateAccessKey');
    clock.advance(due - clock.now());
    await look();
    await until(async () => (await read()).rotation_failures === 1);
    clock.advance(2 * hourMs);
    cloud.calls.length = 0;
    await look();
    await until(async () => Date.parse((await read()).next_rotation) === due + 24 * hourMs);
    expect(keysCreated()).toBe(0);
    expect((await read()).last_rotation_error).toContain('LimitExceeded');
    cloud.fail = () => undefined;
    clock.advance(22 * hourMs);
    await look();
    await until(async () => (await read()).last_rotation !== null);
    expect((await read()).last_rotation_error).toBe('');
  });

  it('pauses while it is disabled', async () => {
    await configure({ rotation_period: '1h', disable_automated_rotation: true }).expect(204);
    clock.advance(48 * hourMs);
    await look();
    expect(keysCreated()).toBe(0);
    expect(await read()).toMatchObject({ disable_automated_rotation: true, next_rotation: null });
  });

  it('accepts a new schedule without the key', async () => {
    await configure({}).expect(204);
    const terms = 'cloudtwo/config/root/rotation';
    await secrets.root.write(terms, { rotation_schedule: '0 3 * * *', rotation_window: '2h' }).expect(204);
    await secrets.root.write(terms, { rotation_window: '3h' }).expect(204);
    const { data } = (await secrets.root.read(terms).expect(200)).body;
    expect(data).toMatchObject({ rotation_schedule: '0 3 * * *', rotation_window: 3 * 3600, last_rotation: null });
    expect(new Date(data.next_rotation).getTime()).toBeGreaterThan(clock.now());
    expect(await read()).toMatchObject({ rotation_window: 3 * 3600, access_key: expect.stringMatching(/^AKIA/) });
    await secrets.root.write(terms, { rotation_period: '1h' }).expect(400, /only one of/);
    await secrets.root.write(terms, { rotation_schedule: '', rotation_window: 0 }).expect(204);
    expect((await secrets.root.read(terms).expect(200)).body.data.next_rotation).toBeNull();
  });

  it('is taken over a few minutes after its node died', async () => {
    await configure({ rotation_period: '1h' }).expect(204);
    const before = (await read()).access_key;
    clock.advance(hourMs);
    hang = true;
    void look();
    await until(() => hung);
    hang = false;
    await look();
    expect(keysCreated()).toBe(0);
    clock.advance(5 * 60_000);
    await look();
    await until(async () => (await read()).access_key !== before);
    expect(keysCreated()).toBe(1);
  });

  it('happens without a request', async () => {
    await configure({ rotation_period: '1h' }).expect(204);
    const before = (await read()).access_key;
    clock.advance(hourMs);
    await until(async () => (await read()).access_key !== before);
    await until(() => cloud.keys.size === 1);
    expect([...cloud.keys.keys()]).not.toContain(before);
  });
});
