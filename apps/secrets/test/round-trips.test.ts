import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import pg from 'pg';
import { DirectoryStandIn } from './stand-ins/cloudone';
import { CloudStandIn } from './stand-ins/cloudtwo';
import { SchedulerStandIn } from './stand-ins/scheduler';
import { startSecrets } from './start-secrets';

// The cost of one request: statements sent to the database, and calls to the outside system. A change that adds some
// must change the numbers here.

describe('credentials cost', () => {
  const scheduler = new SchedulerStandIn();
  const cloud = new CloudStandIn();
  const directory = new DirectoryStandIn();
  const env: Record<string, string> = {};
  beforeAll(async () => {
    await Promise.all([scheduler.start(), cloud.start(), directory.start()]);
    env.CLOUDONE_AUTHORITY_HOST = directory.address;
  });
  const secrets = startSecrets({ env });
  const sent: string[] = [];
  const { query } = pg.Client.prototype;
  /** Periodic statements of every node. */
  const background =
    /^(node-|SELECT "public"."(quota|seal)"|change-|seal-|quota-|job-|lease-due|lease-free|lease-claim|lease-end-rests|intent-claim|token-due|token-claim|entry-sweep|entry-look|LISTEN)/;
  const open = new WeakMap<pg.Client, string[]>();
  /** Records a statement; a transaction at its end, and only if it had other than periodic statements. */
  const take = (client: pg.Client, name: string) => {
    const within = open.get(client);
    if (/^BEGIN/.test(name)) open.set(client, [name]);
    else if (/^(COMMIT|ROLLBACK)$/.test(name)) {
      open.delete(client);
      if (within && within.length > 1) sent.push(...within, name);
    } else if (!background.test(name)) (within ?? sent).push(name);
  };
  beforeAll(async () => {
    pg.Client.prototype.query = function (this: pg.Client, ...args: unknown[]) {
      const asked = args[0] as string | { name?: string; text?: string };
      take(this, typeof asked === 'string' ? asked : (asked.name ?? asked.text ?? ''));
      return (query as (...all: unknown[]) => unknown).apply(this, args);
    } as never;
    await secrets.root
      .write('scheduler/config/access', { address: scheduler.address, token: scheduler.management })
      .expect(204);
    await secrets.root.write('scheduler/role/ops', { policies: 'read' }).expect(204);
    const { id: access_key, secret: secret_key } = cloud.rootKey;
    await secrets.root
      .write('cloudtwo/config/root', {
        access_key,
        secret_key,
        iam_endpoint: cloud.address,
        sts_endpoint: cloud.address,
      })
      .expect(204);
    await secrets.root
      .write('cloudtwo/roles/user', {
        credential_type: 'iam_user',
        policy_arns: 'arn:aws:iam::aws:policy/ReadOnlyAccess',
      })
      .expect(204);
    await secrets.root
      .write('auth/cloudone/config', { tenant_id: directory.tenant, resource: directory.resource })
      .expect(204);
    await secrets.root.write('auth/cloudone/role/dev', { bound_service_principal_ids: 'oid-1' }).expect(204);
  });
  afterAll(async () => {
    pg.Client.prototype.query = query;
    await Promise.all([scheduler.stop(), cloud.stop(), directory.stop()]);
  });

  /** The statements of a second request of the kind, with everything cached. */
  async function cost(ask: () => Promise<unknown>): Promise<string[]> {
    await ask();
    for (const calls of [scheduler.calls, cloud.calls, directory.calls]) calls.length = 0;
    sent.length = 0;
    await ask();
    // On a machine too busy for heartbeats caches are not used, and everything is read again; new connections are set up.
    return sent.filter((name) => !/^(entry-read|token-find|mounts|entity-view|entity-aliases|SELECT |SET )/.test(name));
  }

  const lease = ['BEGIN', 'token-lock', 'lease-insert', 'intent-settle', 'COMMIT'];

  it('one intent and one transaction, and one call of the scheduler', async () => {
    expect(await cost(() => secrets.root.read('scheduler/creds/ops').expect(200))).toEqual(['intent-insert', ...lease]);
    expect(scheduler.calls).toEqual(['PUT /v1/acl/token']);
  });

  it('one intent and one transaction, and the calls that create a user', async () => {
    expect(await cost(() => secrets.root.read('cloudtwo/creds/user').expect(200))).toEqual(['intent-insert', ...lease]);
    expect(cloud.actions()).toEqual(['CreateUser', 'AttachUserPolicy', 'CreateAccessKey']);
  });

  it('one transaction and one call of the token service', async () => {
    const assume = { credential_type: 'assumed_role', role_arns: 'arn:aws:iam::123456789012:role/x' };
    await secrets.root.write('cloudtwo/roles/assume', assume).expect(204);
    const statements = await cost(() => secrets.root.read('cloudtwo/sts/assume').expect(200));
    expect(statements).toEqual(['BEGIN', 'token-lock', 'lease-insert', 'COMMIT']);
    expect(cloud.actions()).toEqual(['AssumeRole']);
  });

  it('two statements for a login whose keys are known, and no call', async () => {
    const login = {
      role: 'dev',
      jwt: directory.sign(),
      subscription_id: '00000000-0000-4000-8000-000000000000',
      resource_group_name: 'g',
    };
    const statements = await cost(() => secrets.anonymous.write('auth/cloudone/login', login).expect(200));
    expect(statements).toEqual(['identity-logins', 'token-insert']);
    expect(directory.calls).toEqual([]);
  });

  it('no call for objects that were never added, when a user is dropped', async () => {
    const { lease_id } = (await secrets.root.read('cloudtwo/creds/user').expect(200)).body;
    cloud.calls.length = 0;
    await secrets.root.write('sys/leases/revoke', { lease_id, sync: true }).expect(204);
    expect(cloud.actions().sort()).toEqual([
      'DeleteAccessKey',
      'DeleteUser',
      'DetachUserPolicy',
      'ListAccessKeys',
      'ListAttachedUserPolicies',
      'ListGroupsForUser',
      'ListUserPolicies',
    ]);
  });
});
