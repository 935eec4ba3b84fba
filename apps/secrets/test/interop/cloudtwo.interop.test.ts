import { randomBytes } from 'node:crypto';
import {
  AddUserToGroupCommand,
  CreateAccessKeyCommand,
  CreateGroupCommand,
  CreatePolicyCommand,
  CreateRoleCommand,
  CreateUserCommand,
  DeleteAccessKeyCommand,
  DeleteGroupCommand,
  DeleteGroupPolicyCommand,
  DeletePolicyCommand,
  DeleteRoleCommand,
  DeleteRolePolicyCommand,
  DeleteUserCommand,
  DeleteUserPolicyCommand,
  GetUserCommand,
  IAMClient,
  ListAccessKeysCommand,
  PutGroupPolicyCommand,
  PutRolePolicyCommand,
  PutUserPolicyCommand,
  paginateListUsers,
} from '@aws-sdk/client-iam';
import { GetCallerIdentityCommand, STSClient } from '@aws-sdk/client-sts';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { until } from '../fresh-storage';
import { startSecrets } from '../start-secrets';
import { noPython, startPythonServer } from './python-server';

// The cloud provider engine against other people's servers: two emulators, each for the parts that it emulates
// correctly, and a real account if the environment names one. On a real account all created objects have one prefix and
// are removed again.

interface Account {
  readonly name: string;
  /** Why this server cannot be used here. */
  readonly absent: string | undefined;
  start(): Promise<{ endpoint: string; accessKeyId: string; secretAccessKey: string; stop(): Promise<void> }>;
  /** Called when all objects of the tests exist: from then on rights are checked. */
  enforce?(endpoint: string): Promise<void>;
  /** How this emulator differs from the provider. */
  readonly lacks: readonly ('enforcement' | 'boundary' | 'federation' | 'own user')[];
}

const python = noPython();
const env = process.env;
const accounts: Account[] = [
  {
    name: 'moto',
    absent: python,
    lacks: ['boundary', 'federation'],
    async start() {
      const server = await startPythonServer({
        requirement: 'moto[server,iam,sts]==5.2.1',
        program: 'moto_server',
        args: (port) => ['-H', '127.0.0.1', '-p', String(port)],
        env: () => ({ MOTO_IAM_LOAD_MANAGED_POLICIES: 'true' }),
        probe: '/moto-api/',
      });
      return { endpoint: server.url, accessKeyId: 'setup', secretAccessKey: 'setup', stop: server.stop };
    },
    async enforce(endpoint) {
      const headers = { 'content-type': 'text/plain' };
      const { status } = await fetch(`${endpoint}/moto-api/reset-auth`, { method: 'POST', headers, body: '0' });
      expect(status).toBe(200);
    },
  },
  {
    name: 'MiniStack',
    absent: python,
    lacks: ['enforcement', 'own user'],
    async start() {
      const server = await startPythonServer({
        requirement: 'ministack==1.5.33',
        program: 'ministack',
        args: () => [],
        env: (port) => ({ BIND_HOST: '127.0.0.1', GATEWAY_PORT: String(port), SERVICES: 'iam,sts' }),
        probe: '/',
      });
      return { endpoint: server.url, accessKeyId: 'test', secretAccessKey: 'test', stop: server.stop };
    },
  },
  {
    name: 'the account of the environment',
    absent: env.KEYSTEAD_AWS_ACCESS_KEY_ID
      ? undefined
      : 'KEYSTEAD_AWS_ACCESS_KEY_ID and KEYSTEAD_AWS_SECRET_ACCESS_KEY name no account (KEYSTEAD_AWS_ENDPOINT may say where)',
    lacks: [],
    start: async () => ({
      endpoint: env.KEYSTEAD_AWS_ENDPOINT ?? '',
      accessKeyId: env.KEYSTEAD_AWS_ACCESS_KEY_ID ?? '',
      secretAccessKey: env.KEYSTEAD_AWS_SECRET_ACCESS_KEY ?? '',
      stop: async () => {},
    }),
  },
];

const allow = (actions: string) =>
  JSON.stringify({ Version: '2012-10-17', Statement: [{ Effect: 'Allow', Action: actions, Resource: '*' }] });
const readOnly = 'arn:aws:iam::aws:policy/ReadOnlyAccess';

describe.each(accounts)('the cloud provider engine on $name', (account) => {
  const tried = account.absent ? it.skip : it;
  if (account.absent) {
    tried(`is not tried: ${account.absent}`, () => {});
    return;
  }
  const secrets = startSecrets();
  const prefix = `keystead-interop-${randomBytes(4).toString('hex')}`;
  const undo: (() => Promise<unknown>)[] = [];
  const region = env.KEYSTEAD_AWS_REGION ?? 'us-east-1';
  let endpoint = '';
  let rootKey = { accessKeyId: '', secretAccessKey: '' };
  let accountId = '';
  let boundary = '';
  let admin: IAMClient;

  const at = (credentials: object) => ({
    region,
    credentials: credentials as never,
    ...(endpoint ? { endpoint } : {}),
  });
  const whoIs = async (credentials: object) =>
    (await new STSClient(at(credentials)).send(new GetCallerIdentityCommand({}))).Arn ?? '';
  const keyOf = (data: { access_key: string; secret_key: string; security_token?: string | null }) => ({
    accessKeyId: data.access_key,
    secretAccessKey: data.secret_key,
    ...(data.security_token ? { sessionToken: data.security_token } : {}),
  });
  /** At a real provider new keys work, and old ones stop working, only after a few seconds. */
  const known = async (data: Parameters<typeof keyOf>[0]): Promise<string> => {
    let arn = '';
    await until(async () => {
      arn = await whoIs(keyOf(data)).catch(() => '');
      return arn !== '';
    }, 60_000);
    return arn;
  };
  const forgotten = (credentials: object) =>
    until(async () => {
      const code = await whoIs(credentials).then(
        () => '',
        (error) => error.Code ?? error.name,
      );
      return code === 'InvalidClientTokenId';
    }, 60_000);
  const unless = (what: Account['lacks'][number]) => (account.lacks.includes(what) ? it.skip : it);
  const role = (name: string, fields: object) => secrets.root.write(`cloudtwo/roles/${name}`, fields).expect(204);
  const revoke = (lease_id: string) => secrets.root.write('sys/leases/revoke', { lease_id, sync: true }).expect(204);

  beforeAll(async () => {
    const { stop, ...started } = await account.start();
    undo.push(stop);
    endpoint = started.endpoint;
    admin = new IAMClient(at(started));
    const UserName = `${prefix}-root`;
    await admin.send(new CreateUserCommand({ UserName }));
    undo.push(async () => {
      const { AccessKeyMetadata = [] } = await admin.send(new ListAccessKeysCommand({ UserName }));
      for (const { AccessKeyId } of AccessKeyMetadata) {
        await admin.send(new DeleteAccessKeyCommand({ UserName, AccessKeyId }));
      }
      await admin.send(new DeleteUserPolicyCommand({ UserName, PolicyName: 'all' }));
      await admin.send(new DeleteUserCommand({ UserName }));
    });
    await admin.send(new PutUserPolicyCommand({ UserName, PolicyName: 'all', PolicyDocument: allow('*') }));
    const { AccessKey } = await admin.send(new CreateAccessKeyCommand({ UserName }));
    rootKey = { accessKeyId: AccessKey!.AccessKeyId!, secretAccessKey: AccessKey!.SecretAccessKey! };
    accountId = (await known({ access_key: rootKey.accessKeyId, secret_key: rootKey.secretAccessKey })).split(':')[4]!;
    const GroupName = `${prefix}-group`;
    await admin.send(new CreateGroupCommand({ GroupName }));
    undo.push(() => admin.send(new DeleteGroupCommand({ GroupName })));
    await admin.send(new PutGroupPolicyCommand({ GroupName, PolicyName: 'list', PolicyDocument: allow('iam:List*') }));
    undo.push(() => admin.send(new DeleteGroupPolicyCommand({ GroupName, PolicyName: 'list' })));
    const made = await admin.send(
      new CreatePolicyCommand({ PolicyName: `${prefix}-boundary`, PolicyDocument: allow('iam:*') }),
    );
    boundary = made.Policy!.Arn!;
    undo.push(() => admin.send(new DeletePolicyCommand({ PolicyArn: boundary })));
    const RoleName = `${prefix}-role`;
    const principal = account.lacks.length > 0 ? '*' : `arn:aws:iam::${accountId}:user/${UserName}`;
    const trust = { Effect: 'Allow', Principal: { AWS: principal }, Action: 'sts:AssumeRole' };
    const AssumeRolePolicyDocument = JSON.stringify({ Version: '2012-10-17', Statement: [trust] });
    await admin.send(new CreateRoleCommand({ RoleName, AssumeRolePolicyDocument }));
    undo.push(() => admin.send(new DeleteRoleCommand({ RoleName })));
    await admin.send(new PutRolePolicyCommand({ RoleName, PolicyName: 'list', PolicyDocument: allow('iam:*') }));
    undo.push(() => admin.send(new DeleteRolePolicyCommand({ RoleName, PolicyName: 'list' })));
    // Rights are checked from here on, also those of the account that cleans up.
    if (account.enforce) {
      await account.enforce(endpoint);
      admin = new IAMClient(at(rootKey));
    }
    await secrets.root
      .write('cloudtwo/config/root', {
        access_key: rootKey.accessKeyId,
        secret_key: rootKey.secretAccessKey,
        region,
        iam_endpoint: endpoint,
        sts_endpoint: endpoint,
        username_template: `{{ printf "${prefix}-%s" (random 10) | truncate 32 }}`,
      })
      .expect(204);
  }, 1_500_000);
  afterAll(async () => {
    // An emulator forgets everything when it ends; a real account must be left as it was.
    const steps = account.lacks.length > 0 ? undo.slice(0, 1) : undo.reverse();
    for (const step of steps) await step().catch((error) => process.stderr.write(`${error}\n`));
  }, 120_000);

  it('creates working users, and deletes them', async () => {
    await role('user', {
      credential_type: 'iam_user',
      policy_arns: readOnly,
      policy_document: allow('iam:GetUser'),
      iam_groups: `${prefix}-group`,
      iam_tags: ['made-by=keystead'],
    });
    const { body } = await secrets.root.read('cloudtwo/creds/user').expect(200);
    expect(await known(body.data)).toBe(body.data.arn);
    const name = body.data.arn.split('/').at(-1)!;
    const { User } = await admin.send(new GetUserCommand({ UserName: name }));
    expect(User?.Tags ?? [{ Key: 'made-by', Value: 'keystead' }]).toEqual([{ Key: 'made-by', Value: 'keystead' }]);
    await revoke(body.lease_id);
    await expect(admin.send(new GetUserCommand({ UserName: name }))).rejects.toMatchObject({ Code: 'NoSuchEntity' });
  }, 240_000);

  unless('enforcement')(
    'deletes the keys of users with them',
    async () => {
      const { body } = await secrets.root.read('cloudtwo/creds/user').expect(200);
      await known(body.data);
      await revoke(body.lease_id);
      await forgotten(keyOf(body.data));
    },
    240_000,
  );

  it('deletes users to whom others added keys and groups', async () => {
    const { body } = await secrets.root.read('cloudtwo/creds/user').expect(200);
    const UserName = body.data.arn.split('/').at(-1)!;
    await admin.send(new CreateAccessKeyCommand({ UserName }));
    await admin.send(new AddUserToGroupCommand({ UserName, GroupName: `${prefix}-group` }));
    await admin.send(new PutUserPolicyCommand({ UserName, PolicyName: 'by-hand', PolicyDocument: allow('s3:*') }));
    await revoke(body.lease_id);
    await expect(admin.send(new GetUserCommand({ UserName }))).rejects.toMatchObject({ Code: 'NoSuchEntity' });
  }, 240_000);

  it('reports refusals of the provider, and leaves nothing behind', async () => {
    await role('broken', {
      credential_type: 'iam_user',
      policy_arns: `arn:aws:iam::${accountId}:policy/${prefix}-none`,
    });
    const { body } = await secrets.root.read('cloudtwo/creds/broken');
    // One of the emulators accepts any policy; then there is a user to delete.
    if (body.lease_id) await revoke(body.lease_id);
    else expect(body.errors[0]).toMatch(/^Error attaching user policy: NoSuchEntity: /);
    await until(async () => {
      const names: string[] = [];
      for await (const { Users = [] } of paginateListUsers({ client: admin }, {})) {
        names.push(...Users.map(({ UserName = '' }) => UserName));
      }
      return names.filter((name) => name.startsWith(prefix)).join() === `${prefix}-root`;
    });
  }, 240_000);

  unless('boundary')(
    'sets the permissions boundary of users',
    async () => {
      await role('bound', { credential_type: 'iam_user', policy_arns: readOnly, permissions_boundary_arn: boundary });
      const { body } = await secrets.root.read('cloudtwo/creds/bound').expect(200);
      const UserName = body.data.arn.split('/').at(-1)!;
      const { User } = await admin.send(new GetUserCommand({ UserName }));
      expect(User?.PermissionsBoundary?.PermissionsBoundaryArn).toBe(boundary);
      await revoke(body.lease_id);
    },
    240_000,
  );

  it('assumes roles', async () => {
    await role('assume', {
      credential_type: 'assumed_role',
      role_arns: `arn:aws:iam::${accountId}:role/${prefix}-role`,
      iam_groups: `${prefix}-group`,
    });
    const { body } = await secrets.root
      .write('cloudtwo/sts/assume', { ttl: '15m', role_session_name: 'the-session' })
      .expect(200);
    expect(body.renewable).toBe(false);
    expect(body.lease_duration).toBeLessThanOrEqual(900);
    expect(await known(body.data)).toContain(`assumed-role/${prefix}-role/the-session`);
    await revoke(body.lease_id);
  }, 240_000);

  it('federates users', async () => {
    await role('federate', { credential_type: 'federation_token', policy_document: allow('s3:*') });
    const { body } = await secrets.root.write('cloudtwo/sts/federate', { ttl: '30m' }).expect(200);
    expect(body.data.security_token).toEqual(expect.any(String));
    expect(body.lease_duration).toBeLessThanOrEqual(1800);
  }, 240_000);

  unless('federation')(
    'federates users under their name at the provider',
    async () => {
      const { body } = await secrets.root.write('cloudtwo/sts/federate', { ttl: '30m' }).expect(200);
      expect(await known(body.data)).toMatch(/:federated-user\//);
    },
    240_000,
  );

  unless('own user')(
    'replaces the root key, and the provider refuses the old one',
    async () => {
      const { body } = await secrets.root.write('cloudtwo/config/rotate-root').expect(200);
      expect(body.data.access_key).not.toBe(rootKey.accessKeyId);
      await forgotten(rootKey);
      const creds = await secrets.root.read('cloudtwo/creds/user').expect(200);
      await revoke(creds.body.lease_id);
    },
    240_000,
  );
});
