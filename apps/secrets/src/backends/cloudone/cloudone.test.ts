import { createHmac, randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { manualClock } from '@keystead/testing';
import { DirectoryStandIn, newSigner } from '../../../test/stand-ins/cloudone';
import { startSecrets } from '../../../test/start-secrets';

const directory = new DirectoryStandIn();
const env: Record<string, string> = {};
const subscription = randomUUID();
const group = 'rg-One';
const where = { subscription, group };
const body = { subscription_id: subscription, resource_group_name: group };

describe('cloud identity login', () => {
  // The address is only known once the stand-in listens, which is before the service reads its environment.
  beforeAll(async () => {
    const address = await directory.start();
    Object.assign(env, {
      CLOUDONE_AUTHORITY_HOST: address,
      CLOUDONE_RESOURCE_MANAGER: address,
      CLOUDONE_METADATA_HOST: address,
    });
  });
  const clock = manualClock(Date.now());
  directory.nowMs = () => clock.now();
  const secrets = startSecrets({ env, clock });
  afterAll(() => directory.stop());

  const config = () => ({
    tenant_id: directory.tenant,
    resource: directory.resource,
    client_id: 'reader',
    client_secret: directory.clientSecret,
  });
  const role = (name: string, fields: object) => secrets.root.write(`auth/cloudone/role/${name}`, fields);
  const login = (fields: object) => secrets.anonymous.write('auth/cloudone/login', fields);
  const refused = async (fields: object, status = 403): Promise<string> =>
    (await login(fields).expect(status)).body.errors[0];

  describe('configuration', () => {
    it('is absent at first, and needs tenant and resource (S3.1, S3.2)', async () => {
      await secrets.root.read('auth/cloudone/config').expect(404);
      await secrets.root.write('auth/cloudone/config', { resource: 'r' }).expect(400, /tenant_id is required/);
      await secrets.root.write('auth/cloudone/config', { tenant_id: 't' }).expect(400, /resource is required/);
      await secrets.root.read('auth/cloudone/config').expect(404);
    });

    it('is written, merged, read with its credentials, and deleted (S3.1, S3.2, S3.4, S3.5, S16.1-S16.3, SP.11, SP.22)', async () => {
      await secrets.root.write('auth/cloudone/config', config()).expect(204);
      await secrets.root.write('auth/cloudone/config', { client_id: 'other' }).expect(204);
      const read = await secrets.root.read('auth/cloudone/config').expect(200);
      expect(read.body.data).toEqual({ ...config(), client_id: 'other', environment: 'CloudonePublicCloud' });
      expect(read.body.warnings[0]).toContain('client_secret');
      const others = { tenant_id: 'other.example', resource: 'https://other', client_id: 'o', client_secret: 'os' };
      await secrets.root.write('auth/cloudone/config', others).expect(204);
      expect((await secrets.root.read('auth/cloudone/config').expect(200)).body.data).toMatchObject(others);
      await secrets.root.delete('auth/cloudone/config').expect(204);
      await secrets.root.read('auth/cloudone/config').expect(404);
    });

    it.each([
      ['CloudonePublicCloud', 'CloudonePublicCloud'],
      ['AzurePublicCloud', 'AzurePublicCloud'],
      ['azureusgovernmentcloud', 'AzureUSGovernmentCloud'],
      ['cloudoneusgovernmentcloud', 'CloudoneUSGovernmentCloud'],
      ['CLOUDONECHINACLOUD', 'CloudoneChinaCloud'],
      ['CloudoneGermanCloud', 'CloudoneGermanCloud'],
    ])('knows the cloud %s (S3.3)', async (environment, stored) => {
      await secrets.root.write('auth/cloudone/config', { ...config(), environment }).expect(204);
      await secrets.root.read('auth/cloudone/config').expect(200, new RegExp(`"environment":"${stored}"`));
    });

    it('shows no environment on a mount of the type azure unless one was set, and accepts the shown value', async () => {
      await secrets.root.write('sys/auth/quay', { type: 'azure' }).expect(204);
      const shownEnvironment = async () =>
        (await secrets.root.read('auth/quay/config').expect(200)).body.data.environment;
      await secrets.root.write('auth/quay/config', config()).expect(204);
      await expect(shownEnvironment()).resolves.toBe('');
      await secrets.root.write('auth/quay/config', { environment: 'AzureChinaCloud' }).expect(204);
      await expect(shownEnvironment()).resolves.toBe('AzureChinaCloud');
      await secrets.root.write('auth/quay/config', { environment: '' }).expect(204);
      await expect(shownEnvironment()).resolves.toBe('');
      await secrets.root.delete('sys/auth/quay').expect(204);
    });

    it('refuses an unknown cloud', async () => {
      await secrets.root
        .write('auth/cloudone/config', { environment: 'nope' })
        .expect(400, /no cloud configuration matching the name/);
      await secrets.root.write('auth/cloudone/config', { ...config(), environment: 'CloudonePublicCloud' }).expect(204);
    });
  });

  describe('roles', () => {
    it('are written, read and listed (S4.1-S4.10, S16.4-S16.7, SP.11, SP.25, SP.26)', async () => {
      await role('Full', {
        bound_service_principal_ids: 'oid-1, oid-2',
        bound_locations: ['westeurope'],
        token_policies: 'dev,prod',
        token_ttl: '30m',
        token_max_ttl: '1h',
        token_explicit_max_ttl: 7200,
        token_num_uses: 5,
        token_bound_cidrs: '127.0.0.1/32',
        token_no_default_policy: true,
        token_type: 'service',
        max_jwt_exp: 7200,
      }).expect(204);
      const read = await secrets.root.read('auth/cloudone/role/full').expect(200);
      expect(read.body.data).toEqual({
        bound_group_ids: null,
        bound_locations: ['westeurope'],
        bound_resource_groups: null,
        bound_scale_sets: null,
        bound_service_principal_ids: ['oid-1', 'oid-2'],
        bound_subscription_ids: null,
        max_jwt_exp: 7200,
        token_bound_cidrs: ['127.0.0.1/32'],
        token_explicit_max_ttl: 7200,
        token_max_ttl: 3600,
        token_no_default_policy: true,
        token_num_uses: 5,
        token_period: 0,
        token_policies: ['dev', 'prod'],
        token_ttl: 1800,
        token_type: 'service',
        token_strictly_bind_ip: false,
      });
      await role('old', { bound_group_ids: 'g', policies: 'dev', max_ttl: '1h' }).expect(204);
      const old = await secrets.root.read('auth/cloudone/role/old').expect(200);
      expect(old.body.data).toMatchObject({
        policies: ['dev'],
        token_policies: ['dev'],
        max_ttl: 3600,
        token_max_ttl: 3600,
      });
      const { body: list } = await secrets.root.list('auth/cloudone/role').expect(200);
      expect(list.data.keys).toEqual(['full', 'old']);
      await secrets.root.delete('auth/cloudone/role/old').expect(204);
      await secrets.root.delete('auth/cloudone/role/old').expect(204);
      await secrets.root.read('auth/cloudone/role/old').expect(404);
    });

    it('store each given constraint and no other (SP.23, SP.26)', async () => {
      const names = ['service_principal_ids', 'group_ids', 'locations', 'subscription_ids', 'resource_groups'];
      const all = [...names, 'scale_sets'].map((name) => `bound_${name}`);
      for (const round of ['a', 'b']) {
        const bounds = Object.fromEntries(all.map((name) => [name, [`${name}-${round}`]]));
        await role('bound', bounds).expect(204);
        expect((await secrets.root.read('auth/cloudone/role/bound').expect(200)).body.data).toMatchObject(bounds);
      }
      for (const name of all) {
        const at = name.replaceAll('_', '-');
        await role(at, { [name]: 'only, this' }).expect(204);
        const { data } = (await secrets.root.read(`auth/cloudone/role/${at}`).expect(200)).body;
        expect(all.map((one) => data[one])).toEqual(all.map((one) => (one === name ? ['only', 'this'] : null)));
        await secrets.root.delete(`auth/cloudone/role/${at}`).expect(204);
      }
      await secrets.root.delete('auth/cloudone/role/bound').expect(204);
    });

    it('store each given token parameter, and the default of an omitted one (S4.1-S4.10)', async () => {
      const sets = [
        {
          token_ttl: 600,
          token_max_ttl: 1200,
          token_explicit_max_ttl: 1800,
          token_period: 300,
          token_policies: ['one'],
          token_bound_cidrs: ['10.0.0.0/8'],
          token_no_default_policy: true,
          token_num_uses: 3,
          token_type: 'service',
        },
        {
          token_ttl: 700,
          token_max_ttl: 1300,
          token_explicit_max_ttl: 1900,
          token_period: 400,
          token_policies: ['two', 'three'],
          token_bound_cidrs: ['192.168.0.0/16'],
          token_no_default_policy: false,
          token_num_uses: 4,
          token_type: 'default',
        },
      ];
      for (const fields of sets) {
        await role('each', { bound_group_ids: 'g', ...fields }).expect(204);
        const { body: read } = await secrets.root.read('auth/cloudone/role/each').expect(200);
        expect(read.data).toMatchObject(fields);
      }
      await role('least', { bound_group_ids: 'g' }).expect(204);
      const { body: least } = await secrets.root.read('auth/cloudone/role/least').expect(200);
      expect(least.data).toMatchObject({
        token_ttl: 0,
        token_max_ttl: 0,
        token_explicit_max_ttl: 0,
        token_period: 0,
        token_policies: [],
        token_bound_cidrs: [],
        token_no_default_policy: false,
        token_num_uses: 0,
        token_type: 'default',
      });
    });

    it.each([
      [{}, 'must have at least one bound constraint'],
      [{ bound_group_ids: '*', bound_service_principal_ids: '*' }, 'must have at least one bound constraint'],
      [
        { bound_group_ids: 'g', token_ttl: '2h', token_max_ttl: '1h' },
        "'token_ttl' cannot be greater than 'token_max_ttl'",
      ],
      [{ bound_group_ids: 'g', token_period: '9000h' }, 'token period of "9000h0m0s" is greater than'],
      [{ bound_group_ids: 'g', token_num_uses: -1 }, "'token_num_uses' cannot be negative"],
      [{ bound_group_ids: 'g', token_num_uses: 2 ** 31 }, "'token_num_uses' cannot be greater than 2147483647"],
      [{ bound_group_ids: 'g', token_type: 'default-batch' }, `invalid 'token_type' value "default-batch"`],
      [{ bound_group_ids: 'g', token_type: 'zz' }, `invalid 'token_type' value "zz"`],
      [{ bound_group_ids: 'g', token_bound_cidrs: 'zzz' }, 'error parsing address "zzz"'],
      [{ bound_group_ids: 'g', token_ttl: '-5' }, "cannot provide negative value '-5'"],
      [{ bound_group_ids: 'g', max_jwt_exp: -1 }, "'max_jwt_exp' cannot be negative"],
    ])('refuse %j', async (fields, text) => {
      const { body: answer } = await role('bad', fields).expect(400);
      expect(answer.errors[0]).toContain(text);
      await secrets.root.read('auth/cloudone/role/bad').expect(404);
    });

    it('warn of a maximum above the mount’s', async () => {
      const { body: answer } = await role('long', { bound_group_ids: 'g', token_max_ttl: '9000h' }).expect(200);
      expect(answer.warnings[0]).toContain('max_ttl is greater than');
    });
  });

  describe('login', () => {
    beforeAll(async () => {
      await role('people', { bound_service_principal_ids: 'oid-1', token_policies: 'dev', token_ttl: '20m' }).expect(
        204,
      );
    });

    it('issues a token with the role’s parameters (S5.1-S5.5, S16.8, SA.3, SP.11)', async () => {
      const { body: answer } = await login({ ...body, role: 'People', jwt: directory.sign() }).expect(200);
      expect(answer.auth).toMatchObject({
        token_policies: ['default', 'dev'],
        lease_duration: 1200,
        renewable: true,
        orphan: true,
        token_type: 'service',
        metadata: { role: 'people', subscription_id: subscription, resource_group_name: group },
      });
      const self = await secrets.as(answer.auth.client_token).read('auth/token/lookup-self').expect(200);
      expect(self.body.data).toMatchObject({ path: 'auth/cloudone/login', display_name: 'cloudone-oid-1' });
      expect(self.body.data.entity_id).not.toBe('');
    });

    it('applies every token parameter of the role (S4.1-S4.5, S4.7-S4.10, S5.1-S5.5, SA.3)', async () => {
      const mint = async (name: string, fields: object) => {
        await role(name, { bound_service_principal_ids: 'oid-1', ...fields }).expect(204);
        const { auth } = (await login({ ...body, role: name, jwt: directory.sign() }).expect(200)).body;
        const token = secrets.as(auth.client_token);
        return { auth, token, facts: (await token.read('auth/token/lookup-self').expect(200)).body.data };
      };
      const policy = 'path "auth/token/*" { capabilities = ["read", "update"] }';
      await secrets.root.write('sys/policies/acl/looker', { policy }).expect(204);
      const one = await mint('one', {
        token_ttl: '10m',
        token_max_ttl: '30m',
        token_policies: 'looker',
        token_no_default_policy: true,
        token_num_uses: 9,
        token_bound_cidrs: '127.0.0.0/8,::1',
      });
      expect(one.auth).toMatchObject({ token_policies: ['looker'], lease_duration: 600, renewable: true });
      expect(one.facts).toMatchObject({ bound_cidrs: ['127.0.0.0/8', '::1'], num_uses: 8, policies: ['looker'] });
      const renewed = await one.token.write('auth/token/renew-self', { increment: '2h' }).expect(200);
      expect(renewed.body.auth.lease_duration).toBe(1800);
      const two = await mint('two', { token_period: '15m', token_explicit_max_ttl: '2h', token_policies: 'dev' });
      expect(two.facts).toMatchObject({ period: 900, explicit_max_ttl: 7200 });
      expect(two.auth).toMatchObject({ token_policies: ['default', 'dev'], lease_duration: 900 });
      const three = await mint('three', { token_type: 'batch', token_ttl: '5m' });
      expect(three.facts.type).toBe('batch');
      expect(three.auth).toMatchObject({ renewable: false, lease_duration: 300 });
      const four = await mint('four', { token_max_ttl: '20m' });
      expect(four.auth.lease_duration).toBe(1200);
      expect(two.auth.accessor).not.toBe(one.auth.accessor);
      expect(two.facts.accessor).toBe(two.auth.accessor);
    });

    it('finds the same entity again', async () => {
      const ids = new Set<string>();
      for (let i = 0; i < 2; i++) {
        const { body: answer } = await login({ ...body, role: 'people', jwt: directory.sign() }).expect(200);
        ids.add(answer.auth.entity_id);
      }
      expect(ids.size).toBe(1);
    });

    it('renews by the current role, and not once the role is deleted', async () => {
      await role('brief', { bound_service_principal_ids: 'oid-1', token_ttl: '10m' }).expect(204);
      const { body: answer } = await login({ ...body, role: 'brief', jwt: directory.sign() }).expect(200);
      await role('brief', { token_ttl: '25m' }).expect(204);
      const token = secrets.as(answer.auth.client_token);
      const renewed = await token.write('auth/token/renew-self', {}).expect(200);
      expect(renewed.body.auth.lease_duration).toBe(1500);
      await secrets.root.delete('auth/cloudone/role/brief').expect(204);
      const { body: refusal } = await token.write('auth/token/renew-self', {}).expect(400);
      expect(refusal.errors[0]).toContain('role brief does not exist during renewal');
    });

    it('adds the entity to the external groups that the token names', async () => {
      await role('members', { bound_group_ids: 'g-1' }).expect(204);
      const mounts = await secrets.root.read('sys/auth').expect(200);
      const accessor = mounts.body.data['cloudone/'].accessor;
      const created = await secrets.root
        .write('identity/group', { name: 'from-cloud', type: 'external', policies: 'group-policy' })
        .expect(200);
      await secrets.root
        .write('identity/group-alias', { name: 'g-2', mount_accessor: accessor, canonical_id: created.body.data.id })
        .expect(200);
      const sign = (groups: string[]) => directory.sign({ oid: 'oid-member', groups });
      const inside = await login({ ...body, role: 'members', jwt: sign(['g-1', 'g-2']) }).expect(200);
      expect(inside.body.auth.identity_policies).toEqual(['group-policy']);
      const outside = await login({ ...body, role: 'members', jwt: sign(['g-1']) }).expect(200);
      expect(outside.body.auth.identity_policies).toBeUndefined();
    });

    it('updates these external groups at every renewal from the last login', async () => {
      await role('renewing', { bound_group_ids: 'r-1', token_ttl: '1h' }).expect(204);
      const sign = (groups: string[]) => directory.sign({ oid: 'oid-renewing', groups });
      const first = await login({ ...body, role: 'renewing', jwt: sign(['r-1', 'r-late']) }).expect(200);
      const renew = async () =>
        (await secrets.as(first.body.auth.client_token).write('auth/token/renew-self', {}).expect(200)).body.auth;
      const { accessor } = (await secrets.root.read('sys/auth').expect(200)).body.data['cloudone/'];
      const late = { name: 'late', type: 'external', policies: 'late-policy' };
      const canonical_id = (await secrets.root.write('identity/group', late).expect(200)).body.data.id;
      await secrets.root
        .write('identity/group-alias', { name: 'r-late', mount_accessor: accessor, canonical_id })
        .expect(200);
      expect((await renew()).identity_policies).toEqual(['late-policy']);
      // If this failed, the token of an older login would bring back groups that the directory has removed.
      await login({ ...body, role: 'renewing', jwt: sign(['r-1']) }).expect(200);
      expect((await renew()).identity_policies).toBeUndefined();
    });

    it.each([
      [{ role: 'people', ...body }, 'jwt is required'],
      [{ jwt: 'x', ...body }, 'role is required'],
      [{ jwt: 'x', role: 'nope', ...body }, 'invalid role name "nope"'],
      [{ jwt: 'x', role: 'people', resource_group_name: group }, 'subscription_id is required'],
      [{ jwt: 'x', role: 'people', subscription_id: subscription }, 'resource_group_name is required'],
      [{ jwt: 'x', role: 'people', ...body, subscription_id: 'zz' }, 'invalid subscription id "zz"'],
      [{ jwt: 'x', role: 'people', ...body, resource_group_name: 'a/b' }, 'invalid resource group name "a/b"'],
      [{ jwt: 'x', role: 'people', ...body, vm_name: '1bad!' }, 'invalid vm name "1bad!"'],
      [{ jwt: 'x', role: 'people', ...body, vmss_name: '../x' }, 'invalid vmss_name "../x"'],
    ])('refuses %j with 400 (SP.56)', async (fields, text) => {
      expect(await refused(fields, 400)).toBe(text);
    });

    it('is refused from outside the role’s addresses', async () => {
      await role('far', { bound_service_principal_ids: 'oid-1', token_bound_cidrs: '10.1.0.0/16' }).expect(204);
      expect(await refused({ ...body, role: 'far', jwt: directory.sign() })).toBe('permission denied');
    });

    it('accepts only POST', async () => {
      await secrets.anonymous.read('auth/cloudone/login').expect(405, /"unsupported operation"/);
    });
  });

  describe('token verification (SA.2, SP.57)', () => {
    const now = () => Math.floor(clock.now() / 1000);
    const encode = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url');
    const publicPem = () => directory.signer.publicKey.export({ type: 'spki', format: 'pem' }).toString();
    const hmac = (header: object) => {
      const text = `${encode({ alg: 'HS256', typ: 'JWT', ...header })}.${directory.sign().split('.')[1]}`;
      return `${text}.${createHmac('sha256', publicPem()).update(text).digest('base64url')}`;
    };
    const tampered = () => {
      const [head, , signature] = directory.sign().split('.');
      return `${head}.${directory.sign({ oid: 'oid-1', admin: true }).split('.')[1]}.${signature}`;
    };
    const table: [string, () => string][] = [
      ['not a token', () => 'zz'],
      ['two parts', () => directory.sign().split('.').slice(0, 2).join('.')],
      ['four parts', () => `${directory.sign()}.x`],
      ['an empty signature', () => `${directory.sign().split('.').slice(0, 2).join('.')}.`],
      ['a broken header', () => `%%.${directory.sign().split('.').slice(1).join('.')}`],
      ['a payload that is not an object', () => directory.sign().replace(/\.[^.]+\./, `.${encode('text')}.`)],
      ['a payload that was changed after signing', tampered],
      ['alg none', () => `${encode({ alg: 'none' })}.${directory.sign().split('.')[1]}.`],
      ['alg None with a signature', () => directory.sign({}, { alg: 'None' })],
      ['alg HS256 keyed by the public key', () => hmac({ kid: directory.signer.kid })],
      ['alg HS256 without key id', () => hmac({})],
      ['alg RS512', () => directory.sign({}, { alg: 'RS512' })],
      ['alg PS256', () => directory.sign({}, { alg: 'PS256' })],
      ['alg ES256', () => directory.sign({}, { alg: 'ES256' })],
      ['no alg', () => directory.sign({}, { alg: undefined })],
      ['no key id', () => directory.sign({}, { kid: undefined })],
      ['an unknown key id', () => directory.sign({}, { kid: randomUUID() })],
      ['a key id that is not a string', () => directory.sign({}, { kid: 7 })],
      ['another key under a known id', () => directory.sign({}, { kid: directory.signer.kid }, newSigner())],
      [
        'another key in the header',
        () => directory.sign({}, { jwk: newSigner().publicKey.export({ format: 'jwk' }) }, newSigner()),
      ],
      ['a key URL in the header', () => directory.sign({}, { jku: 'http://127.0.0.1:1/keys' }, newSigner())],
      ['another audience', () => directory.sign({ aud: 'other' })],
      ['no audience', () => directory.sign({ aud: undefined })],
      ['the audience without its slash', () => directory.sign({ aud: directory.resource.slice(0, -1) })],
      ['other audiences', () => directory.sign({ aud: ['a', 'b'] })],
      ['another issuer', () => directory.sign({ iss: 'https://evil.example/' })],
      ['no issuer', () => directory.sign({ iss: undefined })],
      ['an expiry in the past', () => directory.sign({ exp: now() - 1 })],
      ['no expiry', () => directory.sign({ exp: undefined })],
      ['an expiry that is a string', () => directory.sign({ exp: 'tomorrow' })],
      ['a start in the future', () => directory.sign({ nbf: now() + 60 })],
      ['no object id', () => directory.sign({ oid: undefined })],
      ['an object id that is not a string', () => directory.sign({ oid: { x: 1 } })],
      ['another object id', () => directory.sign({ oid: 'oid-9' })],
    ];

    it.each(table)('refuses %s without repeating it', async (_what, make) => {
      const jwt = make();
      const text = await refused({ ...body, role: 'people', jwt });
      for (const part of jwt.split('.').filter((piece) => piece.length > 8)) expect(text).not.toContain(part);
    });

    it('accepts one of several audiences', async () => {
      await login({ ...body, role: 'people', jwt: directory.sign({ aud: ['x', directory.resource] }) }).expect(200);
    });

    it('enforces the longest lifetime of the role', async () => {
      await role('quick', { bound_service_principal_ids: 'oid-1', max_jwt_exp: 600 }).expect(204);
      expect(await refused({ ...body, role: 'quick', jwt: directory.sign() })).toContain('max_jwt_exp');
      await login({ ...body, role: 'quick', jwt: directory.sign({ exp: now() + 500 }) }).expect(200);
    });
  });

  describe('resource constraints', () => {
    const machineId = (name: string, kind = 'virtualMachines', rg = group) =>
      `/subscriptions/${subscription}/resourcegroups/${rg}/providers/Microsoft.Compute/${kind}/${name}`;
    beforeAll(async () => {
      const assigned = directory.addIdentity('workload', where, { principalId: 'p-user', clientId: 'c-user' });
      directory.addMachine('vm1', where, {
        principalId: 'p-system',
        userAssignedIdentities: { [assigned]: { principalId: 'p-user' } },
      });
      directory.addMachine('bare', where, undefined);
      directory.addScaleSet('uniform', where, { principalId: 'p-set' });
      directory.addScaleSet('flexible', where, { userAssignedIdentities: { [assigned]: { principalId: null } } });
      const other = { subscription, group: 'rg-two' };
      directory.addIdentity('elsewhere', other, { principalId: 'p-two', clientId: 'c-two' });
      await role('machines', {
        bound_resource_groups: group.toUpperCase(),
        bound_subscription_ids: subscription,
      }).expect(204);
      await role('sets', { bound_scale_sets: 'uniform,flexible', bound_locations: 'westeurope' }).expect(204);
    });
    const as = (claims: object) => directory.sign({ nbf: undefined, ...claims });

    it.each([
      [
        'a machine by its own identity',
        'machines',
        { vm_name: 'vm1' },
        { oid: 'p-system', xms_mirid: machineId('vm1') },
      ],
      [
        'a machine by an assigned identity',
        'machines',
        { vm_name: 'vm1' },
        { oid: 'p-user', xms_az_rid: machineId('VM1') },
      ],
      [
        'a uniform scale set',
        'sets',
        { vmss_name: 'uniform' },
        { oid: 'p-set', xms_mirid: machineId('uniform', 'virtualMachineScaleSets') },
      ],
      [
        'a flexible scale set',
        'sets',
        { vmss_name: 'flexible' },
        { oid: 'p-user', xms_az_rid: machineId('flexible_ab12') },
      ],
      [
        'a set, even if the request also names a machine',
        'sets',
        { vmss_name: 'uniform', vm_name: 'no!name' },
        { oid: 'p-set', xms_mirid: machineId('uniform', 'virtualMachineScaleSets') },
      ],
      ['an identity of the bound group', 'machines', {}, { oid: 'x', appid: 'c-user' }],
    ])('admit %s (SP.24, SP.56)', async (_what, name, fields, claims) => {
      await login({ ...body, ...fields, role: name, jwt: as(claims) }).expect(200);
    });

    it.each([
      [
        'a machine with a similar id',
        'machines',
        { vm_name: 'vm1' },
        { oid: 'p-system', xms_mirid: machineId('vm10') },
        'token claims do not match vm_name vm1',
      ],
      [
        'a machine of another group',
        'machines',
        { vm_name: 'vm1' },
        { oid: 'p-system', xms_mirid: machineId('vm1', 'virtualMachines', 'rg-One-b') },
        'token claims do not match resource_group_name',
      ],
      [
        'no claim about a machine',
        'machines',
        { vm_name: 'vm1' },
        { oid: 'p-system' },
        'xms_az_rid and xms_mirid claims are missing',
      ],
      [
        'another user’s identity',
        'machines',
        { vm_name: 'vm1' },
        { oid: 'p-evil', xms_mirid: machineId('vm1') },
        'no app id was found',
      ],
      [
        'an unknown client',
        'machines',
        { vm_name: 'vm1' },
        { oid: 'p-evil', appid: 'c-evil', xms_mirid: machineId('vm1') },
        'neither token object id nor token app id match',
      ],
      [
        'an identity of an unbound group',
        'machines',
        { resource_group_name: 'rg-two' },
        { oid: 'x', appid: 'c-two' },
        'neither token object id nor token app id match',
      ],
      [
        'a machine without identity',
        'machines',
        { vm_name: 'bare' },
        { oid: 'p-system', xms_mirid: machineId('bare') },
        'vm client did not return identity information',
      ],
      [
        'a missing machine',
        'machines',
        { vm_name: 'gone' },
        { oid: 'p-system', xms_mirid: machineId('gone') },
        'not found',
      ],
      [
        'no machine and no client',
        'machines',
        {},
        { oid: 'p-system' },
        'one of vm_name, vmss_name, or an appid JWT claim must be provided',
      ],
      [
        'another subscription',
        'machines',
        { subscription_id: randomUUID(), vm_name: 'vm1' },
        { oid: 'p-system', xms_mirid: machineId('vm1') },
        'not found',
      ],
      [
        'a machine, if the role binds sets',
        'sets',
        { vm_name: 'vm1' },
        { oid: 'p-system', xms_mirid: machineId('vm1') },
        "bound scale set defined but this vm isn't in a scale set",
      ],
      ['a set that is not bound', 'sets', { vmss_name: 'third' }, { oid: 'p-set' }, 'scale set not authorized'],
      [
        'a set with a similar id',
        'sets',
        { vmss_name: 'uniform' },
        { oid: 'p-set', xms_mirid: machineId('uniform2', 'virtualMachineScaleSets') },
        'token claims do not match vmss_name uniform',
      ],
    ])('refuse %s (SP.24)', async (_what, name, fields, claims, text) => {
      expect(await refused({ ...body, ...fields, role: name, jwt: as(claims) })).toContain(text);
    });

    it('refuse another principal, who is in none of the groups, another subscription, and another resource group (SP.24)', async () => {
      await role('grouped', { bound_group_ids: 'g-in' }).expect(204);
      await login({ ...body, role: 'grouped', jwt: directory.sign({ groups: ['g-in'] }) }).expect(200);
      expect(await refused({ ...body, role: 'grouped', jwt: directory.sign({ groups: ['g-out'] }) })).toBe(
        'groups not authorized',
      );
      expect(await refused({ ...body, role: 'people', jwt: directory.sign({ oid: 'oid-9' }) })).toBe(
        'service principal not authorized',
      );
      const jwt = as({ oid: 'p-system', xms_mirid: machineId('vm1') });
      await role('subscribed', { bound_subscription_ids: randomUUID() }).expect(204);
      expect(await refused({ ...body, vm_name: 'vm1', role: 'subscribed', jwt })).toBe('subscription not authorized');
      await role('housed', { bound_resource_groups: 'rg-two' }).expect(204);
      expect(await refused({ ...body, vm_name: 'vm1', role: 'housed', jwt })).toBe('resource group not authorized');
    });

    it('refuse another location (SP.24)', async () => {
      await role('north', { bound_locations: 'northeurope' }).expect(204);
      const jwt = as({ oid: 'p-system', xms_mirid: machineId('vm1') });
      expect(await refused({ ...body, vm_name: 'vm1', role: 'north', jwt })).toBe('location not authorized');
    });

    it('answer 502 when our own credentials are refused, without showing them', async () => {
      await secrets.root.write('auth/cloudone/config', { client_secret: 'wrong-secret' }).expect(204);
      const jwt = as({ oid: 'p-system', xms_mirid: machineId('vm1') });
      const text = await refused({ ...body, vm_name: 'vm1', role: 'machines', jwt }, 502);
      expect(text).toContain('no token for the compute API');
      expect(text).not.toContain('wrong-secret');
      await secrets.root.write('auth/cloudone/config', config()).expect(204);
    });
  });

  describe('keys of the directory', () => {
    it('are fetched again when they rotate, while forged key ids cause few requests', async () => {
      clock.advance(31_000);
      directory.rotate();
      await login({ ...body, role: 'people', jwt: directory.sign() }).expect(200);
      const keyRequests = () => directory.calls.filter((call) => call.endsWith('/keys')).length;
      const before = keyRequests();
      for (let i = 0; i < 10; i++)
        await refused({ ...body, role: 'people', jwt: directory.sign({}, { kid: randomUUID() }) });
      expect(keyRequests() - before).toBeLessThanOrEqual(5);
    });

    it('are fetched again once the configuration is written, because a key may have been withdrawn', async () => {
      const keyRequests = () => directory.calls.filter((call) => call.endsWith('/keys')).length;
      await role('asks-again', { bound_service_principal_ids: 'oid-1' }).expect(204);
      const enter = () => login({ role: 'asks-again', jwt: directory.sign(), ...body }).expect(200);
      await enter();
      const before = keyRequests();
      await enter();
      expect(keyRequests()).toBe(before);
      await secrets.root.write('auth/cloudone/config', config()).expect(204);
      await enter();
      expect(keyRequests()).toBe(before + 1);
    });

    it('stay in use for a day while the directory is down', async () => {
      clock.advance(3 * 3_600_000);
      directory.down = true;
      await login({
        ...body,
        role: 'people',
        jwt: directory.sign(),
      }).expect(200);
      clock.advance(24 * 3_600_000);
      const late = directory.sign();
      expect(await refused({ ...body, role: 'people', jwt: late }, 502)).toContain('the directory answered 503');
      directory.down = false;
    });
  });
});
