import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { until } from '../../../test/fresh-storage';
import { countIntents } from '../../../test/intents';
import { CloudStandIn } from '../../../test/stand-ins/cloudtwo';
import { startSecrets } from '../../../test/start-secrets';

const hourMs = 3_600_000;

// The creation time distinguishes leftovers of a failed call from objects of others. The provider sets it by its own
// clock, and both clocks may be wrong.
describe.each([
  ['an hour ahead', hourMs],
  ['an hour behind', -hourMs],
])('the engine at a provider whose clock is %s', (_apart, apartMs) => {
  const cloud = new CloudStandIn();
  let aheadMs = 0;
  const now = () => Date.now() + aheadMs;
  cloud.nowMs = () => now() + apartMs;
  let failAt = '';
  const secrets = startSecrets({
    clock: { now },
    fault(name) {
      if (name !== failAt) return;
      failAt = '';
      throw new Error(`the node fails at ${name}`);
    },
  });
  beforeAll(async () => {
    await cloud.start();
    const [key] = cloud.keys.values();
    const root = { access_key: key!.id, secret_key: key!.secret, region: 'eu-west-1', max_retries: 0 };
    const at = { iam_endpoint: cloud.address, sts_endpoint: cloud.address };
    await secrets.root.write('cloudtwo/config/root', { ...root, ...at }).expect(204);
    const role = { credential_type: 'iam_user', policy_arns: 'arn:aws:iam::aws:policy/ReadOnlyAccess' };
    await secrets.root.write('cloudtwo/roles/deploy', role).expect(204);
  });
  afterAll(() => cloud.stop());
  beforeEach(() => {
    cloud.denied.clear();
  });

  const rootKeys = () => [...cloud.keys.values()].filter(({ user }) => user === 'root-svc').map(({ id }) => id);
  const configured = async () => (await secrets.root.read('cloudtwo/config/root').expect(200)).body.data.access_key;
  const rotate = () => secrets.root.write('cloudtwo/config/rotate-root');
  /** Waits until nothing is left to undo; an intent that was undone is checked again after minutes. */
  const waitUntilSettled = async () => {
    aheadMs += 6 * 60_000;
    await until(async () => (await countIntents(secrets.database)) === 0);
  };

  it('deletes a root key that was created but never stored', async () => {
    const before = await configured();
    failAt = 'cloudtwo:CreateAccessKey:done';
    await rotate().expect(502);
    await waitUntilSettled();
    expect(rootKeys()).toEqual([before]);
    expect(await configured()).toBe(before);
  });

  it('keeps a root key created by hand after a rotation that created none', async () => {
    const before = await configured();
    failAt = 'cloudtwo:CreateAccessKey';
    cloud.denied.add('iam:ListAccessKeys');
    await rotate().expect(502);
    aheadMs += 10 * 60_000;
    const { id } = cloud.addKey('root-svc');
    cloud.denied.clear();
    await waitUntilSettled();
    expect(rootKeys()).toEqual([before, id]);
    cloud.keys.delete(id);
  });

  it('keeps a root key that was there before the rotation', async () => {
    const before = await configured();
    const { id } = cloud.addKey('root-svc');
    await rotate().expect(400, /LimitExceeded/);
    failAt = 'cloudtwo:CreateAccessKey';
    await rotate().expect(502);
    await waitUntilSettled();
    expect(rootKeys()).toEqual([before, id]);
    cloud.keys.delete(id);
  });

  it('rotates without the right to list keys', async () => {
    const before = await configured();
    cloud.denied.add('iam:ListAccessKeys');
    const { access_key } = (await rotate().expect(200)).body.data;
    expect(access_key).not.toBe(before);
    expect(rootKeys()).toEqual([access_key]);
    await waitUntilSettled();
  });

  it('never makes the lease of a session longer than requested', async () => {
    const role = { credential_type: 'assumed_role', role_arns: 'arn:aws:iam::123456789012:role/one' };
    await secrets.root.write('cloudtwo/roles/session', role).expect(204);
    const { body } = await secrets.root.write('cloudtwo/sts/session', { ttl: '15m' }).expect(200);
    expect(body.lease_duration).toBeLessThanOrEqual(900);
    expect(body.data.ttl).toBe(body.lease_duration);
  });

  it('deletes a user whose creation failed halfway', async () => {
    failAt = 'cloudtwo:CreateUser:done';
    await secrets.root.read('cloudtwo/creds/deploy').expect(502);
    await waitUntilSettled();
    expect(cloud.issued).toEqual([]);
  });
});
