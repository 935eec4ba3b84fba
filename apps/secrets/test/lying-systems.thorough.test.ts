import http from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { CloudTwo } from '../src/backends/cloudtwo/cloud';
import { createUser } from '../src/backends/cloudtwo/iam-user';
import type { CloudTwoRole } from '../src/backends/cloudtwo/role-fields';
import { SchedulerClient } from '../src/backends/scheduler/scheduler-client';
import { attempt } from '../src/sdk/cloud-error';
import { until } from './fresh-storage';
import { countIntents } from './intents';
import { DirectoryStandIn } from './stand-ins/cloudone';
import { CloudStandIn } from './stand-ins/cloudtwo';
import { SchedulerStandIn } from './stand-ins/scheduler';
import { startSecrets } from './start-secrets';

// Outside systems that send invalid answers, or none. The caller gets an error that names the system, in time; anything
// the call may have created there is undone; and not every request calls a system that does not answer.

type Lie = (response: http.ServerResponse) => void;
let elsewhere = 0;
const trap = http.createServer((_request, response) => {
  elsewhere++;
  response.end('{}');
});
const trapAddress = () => `http://127.0.0.1:${(trap.address() as AddressInfo).port}`;

const lies: Record<string, Lie> = {
  'a page for people': (response) => {
    response.writeHead(200, { 'content-type': 'text/html' }).end('<html><body>Sign in to the proxy</body>');
  },
  'a redirect': (response) => {
    response.writeHead(302, { location: `${trapAddress()}/v1/acl/token` }).end();
  },
  'half an answer': (response) => {
    response.writeHead(200, { 'content-length': '1000', 'content-type': 'application/json' });
    response.write('{"AccessorID":"a","SecretID":"', () => response.destroy());
  },
  'an answer without end': (response) => {
    response.writeHead(200, { 'content-type': 'application/json' });
    const page = Buffer.alloc(256 * 1024, 'x');
    const more = () => {
      while (!response.destroyed && response.write(page));
      if (!response.destroyed) response.once('drain', more);
    };
    more();
  },
  'an empty object': (response) => {
    response.writeHead(200, { 'content-type': 'application/json' }).end('{}');
  },
  'an empty body': (response) => {
    response.writeHead(200).end();
  },
  'a broken connection': (response) => {
    response.destroy();
  },
};

describe('outside systems that answer wrongly', () => {
  let aheadMs = 0;
  const now = () => Date.now() + aheadMs;
  const scheduler = new SchedulerStandIn();
  const cloud = new CloudStandIn();
  const directory = new DirectoryStandIn();
  cloud.nowMs = now;
  directory.nowMs = now;
  const env: Record<string, string> = {};
  beforeAll(async () => {
    await Promise.all([scheduler.start(), cloud.start(), directory.start()]);
    await new Promise<void>((resolve) => trap.listen(0, '127.0.0.1', resolve));
    env.CLOUDONE_AUTHORITY_HOST = directory.address;
    env.CLOUDONE_RESOURCE_MANAGER = directory.address;
  });
  const secrets = startSecrets({ env, clock: { now } });
  beforeAll(async () => {
    await configure();
    await secrets.root.write('scheduler/role/ops', { policies: 'read' }).expect(204);
    const policy = { policy_arns: 'arn:aws:iam::aws:policy/ReadOnlyAccess' };
    await secrets.root.write('cloudtwo/roles/user', { credential_type: 'iam_user', ...policy }).expect(204);
    await secrets.root
      .write('cloudtwo/roles/assume', {
        credential_type: 'assumed_role',
        role_arns: 'arn:aws:iam::123456789012:role/x',
      })
      .expect(204);
    await secrets.root.write('sys/auth/cloudone', { type: 'cloudone' });
  });
  afterEach(async () => {
    scheduler.interfere = () => false;
    cloud.interfere = () => false;
    directory.interfere = () => false;
    elsewhere = 0;
    for (const prefix of ['scheduler', 'cloudtwo']) await secrets.root.write(`sys/leases/revoke-force/${prefix}`);
  });
  afterAll(async () => {
    trap.closeAllConnections();
    await Promise.all([scheduler.stop(), cloud.stop(), directory.stop(), new Promise((done) => trap.close(done))]);
  });

  /** Writes the configurations, which also closes every circuit. */
  async function configure(): Promise<void> {
    await secrets.root
      .write('scheduler/config/access', { address: scheduler.address, token: scheduler.management })
      .expect(204);
    const { id: access_key, secret: secret_key } = cloud.rootKey;
    await secrets.root
      .write('cloudtwo/config/root', {
        access_key,
        secret_key,
        iam_endpoint: cloud.address,
        sts_endpoint: cloud.address,
        max_retries: 0,
      })
      .expect(204);
  }

  const nothingIsLeft = async () => {
    aheadMs += 6 * 60_000;
    await until(async () => {
      const { text } = await secrets.root.read('sys/metrics?format=prometheus').expect(200);
      return /^secrets_leases 0$/m.test(text) && (await countIntents(secrets.database)) === 0;
    });
    expect([scheduler.issued, cloud.issued]).toEqual([[], []]);
  };

  const calls: [name: string, path: string, tell: (lie: Lie) => void, says: RegExp][] = [
    [
      'the scheduler about a new token',
      'scheduler/creds/ops',
      (lie) => {
        scheduler.interfere = (method, _path, response) => method === 'PUT' && told(lie, response);
      },
      /scheduler/,
    ],
    [
      'the scheduler about its policies',
      'scheduler/creds/ops',
      (lie) => {
        scheduler.interfere = (_method, path, response) => path === '/v1/acl/policies' && told(lie, response);
      },
      /scheduler/,
    ],
    [
      'the identity API about a new key',
      'cloudtwo/creds/user',
      (lie) => {
        cloud.interfere = (action, response) => action === 'CreateAccessKey' && told(lie, response);
      },
      /Error creating access keys/,
    ],
    [
      'the token service',
      'cloudtwo/sts/assume',
      (lie) => {
        cloud.interfere = (action, response) => action === 'AssumeRole' && told(lie, response);
      },
      /assuming role|no credentials/,
    ],
  ];

  describe.each(calls)('%s', (_name, path, tell, says) => {
    it.each(Object.entries(lies))('with %s is reported to the caller, and nothing is left', async (_what, lie) => {
      await configure();
      tell(lie);
      const { body } = await secrets.root.read(path).expect(502);
      expect(body.errors[0]).toMatch(says);
      expect(body.errors[0].length).toBeLessThan(800);
      expect(elsewhere).toBe(0);
      scheduler.interfere = () => false;
      cloud.interfere = () => false;
      await nothingIsLeft();
    });
  });

  it.each(Object.entries(lies))('include a directory with %s, which accepts no login', async (_what, lie) => {
    const at = `auth/lied-to-${Object.keys(lies).findIndex((name) => lies[name] === lie)}`;
    await secrets.root.write(`sys/${at}`, { type: 'cloudone' }).expect(204);
    // A different tenant each time, so that nothing is cached.
    await secrets.root.write(`${at}/config`, {
      tenant_id: `${directory.tenant}-${at.at(-1)}`,
      resource: directory.resource,
    });
    await secrets.root.write(`${at}/role/dev`, { bound_service_principal_ids: 'oid-1' }).expect(204);
    directory.interfere = (_path, response) => told(lie, response);
    const { body } = await secrets.anonymous
      .write(`${at}/login`, {
        role: 'dev',
        jwt: directory.sign(),
        subscription_id: '00000000-0000-4000-8000-000000000000',
        resource_group_name: 'g',
      })
      .expect(502);
    expect(body.errors[0]).toContain('directory');
    expect(elsewhere).toBe(0);
  });

  it('such as an unresponsive directory get a pause as well', async () => {
    const at = 'auth/silent';
    await secrets.root.write(`sys/${at}`, { type: 'cloudone' }).expect(204);
    await secrets.root.write(`${at}/config`, { tenant_id: `${directory.tenant}-z`, resource: directory.resource });
    await secrets.root.write(`${at}/role/dev`, { bound_service_principal_ids: 'oid-1' }).expect(204);
    directory.interfere = (_path, response) => told(lies['a broken connection']!, response);
    const login = {
      role: 'dev',
      jwt: directory.sign(),
      subscription_id: '00000000-0000-4000-8000-000000000000',
      resource_group_name: 'g',
    };
    directory.calls.length = 0;
    for (let n = 0; n < 10; n++) {
      const { body } = await secrets.anonymous.write(`${at}/login`, login).expect(502);
      expect(body.errors[0]).toContain('the directory is unreachable: ECONNRESET');
    }
    expect(directory.calls.length).toBeLessThan(5);
  });

  it('are called less often while they do not answer, and again afterwards', async () => {
    await configure();
    scheduler.interfere = (_method, _path, response) => told(lies['a broken connection']!, response);
    for (let n = 0; n < 3; n++) await secrets.root.read('scheduler/creds/ops').expect(502);
    scheduler.calls.length = 0;
    const { body } = await secrets.root.read('scheduler/creds/ops').expect(502);
    expect(body.errors[0]).toMatch(
      /scheduler at .* did not answer \d+ calls in a row \(ECONNRESET\); it is tried again in \d+ s/,
    );
    expect(scheduler.calls).toEqual([]);
    scheduler.interfere = () => false;
    aheadMs += 61_000;
    const { lease_id } = (await secrets.root.read('scheduler/creds/ops').expect(200)).body;
    await secrets.root.write('sys/leases/revoke', { lease_id, sync: true }).expect(204);

    cloud.interfere = (_action, response) => told(lies['a broken connection']!, response);
    for (let n = 0; n < 5; n++) await secrets.root.read('cloudtwo/creds/user').expect(502);
    cloud.calls.length = 0;
    const refused = await secrets.root.read('cloudtwo/creds/user').expect(502);
    expect(refused.body.errors[0]).toMatch(/the identity API at .* did not answer \d+ calls in a row/);
    expect(cloud.calls).toEqual([]);
    cloud.interfere = () => false;
    await configure();
    await nothingIsLeft();
  });

  it('that stay silent are given up in time', async () => {
    scheduler.interfere = () => true;
    cloud.interfere = () => true;
    const access = { address: scheduler.address, token: 't', caCert: '', clientCert: '', clientKey: '' };
    const client = new SchedulerClient(access, { timeoutMs: 300 });
    await expect(client.policyNames()).rejects.toThrow('no answer in time');
    await expect(client.createToken({ name: 'n', type: 'client', policies: ['p'], global: false })).rejects.toThrow(
      'is unreachable: PUT /v1/acl/token: no answer in time',
    );
    const { clock, fault } = { clock: Date, fault: () => {} };
    const silent = new CloudTwo({ accessKey: '', secretKey: '', region: '' }, { clock, fault }, 300).of({
      region: 'us-east-1',
      maxRetries: 3,
      iamEndpoint: cloud.address,
      stsEndpoint: cloud.address,
      credentials: { accessKeyId: 'a', secretAccessKey: 's' },
    } as never);
    const role = { policy_arns: [], iam_groups: [], iam_tags: {} } as unknown as CloudTwoRole;
    await expect(attempt('x', () => createUser(silent.iam, 'n', 'r', role, async () => {}))).rejects.toThrow(
      'Error creating IAM user: the cloud provider cannot be reached: no answer in time',
    );
  });
});

function told(lie: Lie, response: http.ServerResponse): boolean {
  lie(response);
  return true;
}
