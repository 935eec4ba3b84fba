import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { until } from '../../../test/fresh-storage';
import { countIntents } from '../../../test/intents';
import { CloudStandIn } from '../../../test/stand-ins/cloudtwo';
import { startSecrets } from '../../../test/start-secrets';

const readOnly = 'arn:aws:iam::aws:policy/ReadOnlyAccess';
const document = JSON.stringify({
  Version: '2012-10-17',
  Statement: [{ Effect: 'Allow', Action: '*', Resource: '*' }],
});

describe('cloud provider engine', () => {
  let aheadMs = 0;
  const now = () => Date.now() + aheadMs;
  const secrets = startSecrets({ clock: { now } });
  const cloud = new CloudStandIn();
  cloud.nowMs = now;
  beforeAll(() => cloud.start());
  afterAll(() => cloud.stop());
  beforeEach(() => {
    cloud.fail = () => undefined;
    cloud.calls.length = 0;
  });

  const rootConfig = () => ({
    access_key: cloud.rootKey.id,
    secret_key: cloud.rootKey.secret,
    iam_endpoint: cloud.address,
    sts_endpoint: cloud.address,
    region: 'eu-west-1',
    max_retries: 0,
  });
  const configure = (more: object = {}) => secrets.root.write('cloudtwo/config/root', { ...rootConfig(), ...more });
  /** Waits until the effects of failed calls have been undone; until then the provider may be called at any time. */
  const intentsAreGone = () => {
    aheadMs += 6 * 60_000;
    return until(async () => (await countIntents(secrets.database)) === 0);
  };
  const refused = async (test: ReturnType<typeof secrets.root.write>, status = 400): Promise<string> =>
    (await test.expect(status)).body.errors[0];
  const role = (name: string, fields: object) => secrets.root.write(`cloudtwo/roles/${name}`, fields);
  const revoke = (lease_id: string) => secrets.root.write('sys/leases/revoke', { lease_id, sync: true }).expect(204);

  describe('root configuration', () => {
    it('is absent at first', async () => {
      await secrets.root.read('cloudtwo/config/root').expect(404);
      expect(await refused(secrets.root.write('cloudtwo/config/rotate-root'))).toContain('no configuration found');
    });

    it.each([
      [{ secret_key: 's' }, 'access_key'],
      [{ access_key: 'a' }, 'secret_key'],
      [{ access_key: 'pasted\n', secret_key: 's' }, 'access_key'],
      [{ credential_source: 'environment', access_key: 'a' }, 'credential_source environment'],
      [{ access_key: 'a', secret_key: 's', iam_endpoint: 'ftp://nowhere' }, 'iam_endpoint'],
      [{ access_key: 'a', secret_key: 's', sts_endpoint: 'no where' }, 'sts_endpoint'],
      [{ access_key: 'a', secret_key: 's', max_retries: 'abc' }, 'for field "max_retries"'],
      [{ access_key: 'a', secret_key: 's', max_retries: 99 }, 'max_retries must be'],
      [{ access_key: 'a', secret_key: 's', region: '*' }, 'region must be'],
      [{ access_key: 'a', secret_key: 's', username_template: '{{ nope }}' }, 'unable to parse template'],
    ])('refuses %j (S12.1, S12.2)', async (fields, text) => {
      expect(await refused(secrets.root.write('cloudtwo/config/root', fields))).toContain(text);
      await secrets.root.read('cloudtwo/config/root').expect(404);
    });

    it('is written whole and read without its secret (S12.1-S12.7, S22.1, S22.2, SP.42, SP.43)', async () => {
      await configure({ region: 'eu-west-1' }).expect(204);
      const { body } = await secrets.root.read('cloudtwo/config/root').expect(200);
      expect(body.data).toEqual({
        access_key: cloud.rootKey.id,
        iam_endpoint: cloud.address,
        max_retries: 0,
        region: 'eu-west-1',
        sts_endpoint: cloud.address,
        username_template: '',
      });
      await secrets.root
        .write('cloudtwo/config/root', { access_key: 'a', secret_key: 's', max_retries: null })
        .expect(204);
      const again = await secrets.root.read('cloudtwo/config/root').expect(200);
      expect(again.body.data).toMatchObject({
        ...{ access_key: 'a', region: '', max_retries: -1, iam_endpoint: '', sts_endpoint: '' },
      });
      await configure({ username_template: 'constant-name' }).expect(204);
      expect((await secrets.root.read('cloudtwo/config/root')).body.data.username_template).toBe('constant-name');
      await configure().expect(204);
    });

    it('warns of a template that can give too long names', async () => {
      const { body } = await configure({ username_template: '{{ .DisplayName }}' }).expect(200);
      expect(body.warnings[0]).toContain('IAM names of 128 characters; the limit is 64');
      await configure().expect(204);
    });
  });

  describe('lease configuration', () => {
    it('is written and read as duration text (S22.4, S22.5, SP.44, SP.46)', async () => {
      await secrets.root.read('cloudtwo/config/lease').expect(404);
      await secrets.root.write('cloudtwo/config/lease', { lease: '1800', lease_max: '12h' }).expect(204);
      const { body } = await secrets.root.read('cloudtwo/config/lease').expect(200);
      expect(body.data).toEqual({ lease: '30m0s', lease_max: '12h0m0s' });
    });

    it.each([
      [{ lease_max: '1h' }, "'lease' is a required parameter"],
      [{ lease: '1h' }, "'lease_max' is a required parameter"],
      [{ lease: 'xx', lease_max: '1h' }, 'Invalid lease: time: invalid duration "xx"'],
      [{ lease: '1h', lease_max: '1d' }, 'Invalid lease_max: time: invalid duration "1d"'],
      [{ lease: '2h', lease_max: '1h' }, "'lease' cannot be greater than 'lease_max'"],
    ])('refuses %j (SP.44)', async (fields, text) => {
      expect(await refused(secrets.root.write('cloudtwo/config/lease', fields))).toBe(text);
    });
  });

  describe('roles', () => {
    it('are created, merged and read (S13.1, S13.3-S13.6, S13.9, S13.10, S22.6, S22.7, SP.16, SP.48)', async () => {
      await role('deploy', {
        credential_type: 'iam_user',
        policy_arns: `${readOnly}, `,
        policy_document: `${document}  `,
        iam_tags: ['team=a', 'cost=b'],
        user_path: '/svc/',
        permissions_boundary_arn: 'arn:aws:iam::aws:policy/PB',
      }).expect(204);
      await role('deploy', { iam_groups: ['g1'] }).expect(204);
      const { body } = await secrets.root.read('cloudtwo/roles/deploy').expect(200);
      expect(body.data).toEqual({
        credential_type: 'iam_user',
        credential_types: ['iam_user'],
        default_sts_ttl: 0,
        iam_groups: ['g1'],
        iam_tags: { team: 'a', cost: 'b' },
        max_sts_ttl: 0,
        permissions_boundary_arn: 'arn:aws:iam::aws:policy/PB',
        policy_arns: [readOnly],
        policy_document: document,
        role_arns: null,
        user_path: '/svc/',
      });
    });

    it('keep each field they are given (S13.1-S13.10, SP.48)', async () => {
      const sts = {
        credential_type: 'assumed_role',
        role_arns: ['arn:aws:iam::1:role/a'],
        policy_arns: ['arn:aws:iam::aws:policy/Other'],
        policy_document: document.replace('Allow', 'Deny'),
        iam_groups: ['g2', 'g3'],
        default_sts_ttl: 1800,
        max_sts_ttl: 3600,
      };
      const user = {
        credential_type: 'iam_user',
        policy_arns: [readOnly],
        policy_document: document,
        iam_groups: ['g1'],
        iam_tags: { team: 'a' },
        user_path: '/svc/',
        permissions_boundary_arn: 'arn:aws:iam::aws:policy/PB',
      };
      const boundary = 'arn:aws:iam::aws:policy/PB2';
      const otherUser = { ...user, iam_tags: { team: 'b' }, user_path: '/o/', permissions_boundary_arn: boundary };
      const otherSts = { ...sts, role_arns: ['arn:aws:iam::1:role/b'], default_sts_ttl: 900, max_sts_ttl: 2700 };
      for (const [at, fields] of [sts, user, otherUser, otherSts].entries()) {
        await role(`kept-${at}`, fields).expect(204);
        const { body } = await secrets.root.read(`cloudtwo/roles/kept-${at}`).expect(200);
        expect(body.data).toMatchObject({ ...fields, credential_types: [fields.credential_type] });
        await secrets.root.delete(`cloudtwo/roles/kept-${at}`).expect(204);
      }
      await role('least', { credential_type: 'iam_user', policy_arns: [readOnly] }).expect(204);
      const { body } = await secrets.root.read('cloudtwo/roles/least').expect(200);
      expect(body.data).toMatchObject({ user_path: '', permissions_boundary_arn: '', iam_tags: null, role_arns: null });
      await secrets.root.delete('cloudtwo/roles/least').expect(204);
    });

    it.each([
      [{}, 'did not supply credential_type'],
      [{ credential_type: 'zz' }, 'unrecognized credential type: zz'],
      [{ credential_type: 'iam_user' }, 'must specify at least one of policy_arns or policy_document'],
      [{ credential_type: 'federation_token' }, 'must specify at least one of policy_arns or policy_document'],
      [{ credential_type: 'assumed_role' }, 'role_arns is required'],
      [{ credential_type: 'iam_user', policy_document: '{bad' }, 'cannot parse policy document: "{bad"'],
      [
        { credential_type: 'iam_user', policy_arns: readOnly, role_arns: 'arn:x' },
        "cannot supply role_arns when credential_type isn't assumed_role",
      ],
      [
        { credential_type: 'iam_user', policy_arns: readOnly, default_sts_ttl: '1h' },
        'default_sts_ttl parameter only valid for',
      ],
      [
        { credential_type: 'iam_user', policy_arns: readOnly, max_sts_ttl: '1h' },
        'max_sts_ttl parameter only valid for',
      ],
      [
        {
          credential_type: 'assumed_role',
          role_arns: 'arn:aws:iam::1:role/a',
          default_sts_ttl: '2h',
          max_sts_ttl: '1h',
        },
        'value must be less than or equal to',
      ],
      [
        { credential_type: 'assumed_role', role_arns: 'arn:aws:iam::1:role/a', user_path: '/x/' },
        'user_path parameter only valid for iam_user',
      ],
      [
        { credential_type: 'iam_user', policy_arns: readOnly, user_path: 'x' },
        'The specified value for user_path is invalid',
      ],
      [
        {
          credential_type: 'federation_token',
          policy_arns: readOnly,
          permissions_boundary_arn: 'arn:aws:iam::aws:policy/PB',
        },
        "cannot supply permissions_boundary_arn when credential_type isn't iam_user",
      ],
      [
        { credential_type: 'iam_user', policy_arns: readOnly, permissions_boundary_arn: 'arn:aws:iam::aws:role/X' },
        'expected a resource type of policy but got role/X',
      ],
      [
        { credential_type: 'iam_user', policy_arns: readOnly, permissions_boundary_arn: 'arn:aws:s3::aws:policy/X' },
        'expected a service of iam but got s3',
      ],
      [{ credential_type: 'iam_user', policy_arns: readOnly, permissions_boundary_arn: 'zz' }, 'arn: invalid prefix'],
      [{ credential_type: 'iam_user', policy_arns: readOnly, iam_tags: ['novalue'] }, 'invalid key pair "novalue"'],
      [{ policy: document, arn: readOnly }, 'only one of policy or arn should be provided'],
      [
        { policy: document, credential_type: 'iam_user' },
        'cannot supply deprecated role or policy parameters with an explicit credential_type',
      ],
      [{ arn: readOnly, policy_arns: readOnly }, 'cannot supply deprecated role or policy parameters with policy_arns'],
      [{ arn: readOnly, iam_groups: 'g' }, 'cannot supply deprecated role or policy parameters with iam_groups'],
      [{ arn: readOnly, iam_tags: 'a=b' }, 'cannot supply deprecated role or policy parameters with iam_tags'],
      [
        { credential_type: 'iam_user', policy_arns: 'arn:aws:iam::1:role/x' },
        'invalid policy_arns parameter: "arn:aws:iam::1:role/x": expected a resource type of policy but got role/x',
      ],
      [
        { credential_type: 'assumed_role', role_arns: 'arn:aws:iam::1:user/x' },
        'invalid role_arns parameter: "arn:aws:iam::1:user/x": expected a resource type of role but got user/x',
      ],
      [
        { credential_type: 'iam_user', policy_arns: readOnly, external_id: 'ours' },
        "cannot supply external_id when credential_type isn't assumed_role",
      ],
      [
        { credential_type: 'session_token', session_tags: 'a=b' },
        "cannot supply session_tags when credential_type isn't assumed_role",
      ],
      [
        { credential_type: 'federation_token', policy_arns: readOnly, mfa_serial_number: 'GAHT12345678' },
        "cannot supply mfa_serial_number when credential_type isn't session_token",
      ],
      [
        { credential_type: 'assumed_role', role_arns: 'arn:aws:iam::1:role/a', external_id: 'a b' },
        'external_id must have 2 to 1224 characters',
      ],
      [
        { credential_type: 'session_token', policy_arns: readOnly },
        'cannot supply policy_arns when credential_type is session_token',
      ],
      [
        { credential_type: 'session_token', mfa_serial_number: 'GAHT12345678', reuse_percent_left: 50 },
        'cannot supply reuse_percent_left with mfa_serial_number',
      ],
      [{ arn: readOnly, external_id: 'e1' }, 'deprecated role or policy parameters with external_id'],
      [{ arn: 'arn:aws:iam::1:group/x' }, 'unable to parse supplied data: "arn:aws:iam::1:group/x"'],
      [{ policy: 'zz' }, 'unable to parse supplied data: "zz"'],
    ])('refuses %j (S13.1, S13.2, S13.7, S13.8, SP.47)', async (fields, text) => {
      const message = await refused(role('bad', fields));
      expect(message.replace(/\\"/g, '"')).toContain(text);
      await secrets.root.read('cloudtwo/roles/bad').expect(404);
    });

    it('are refused with every broken rule and their number', async () => {
      const message = await refused(
        role('bad', { credential_type: 'iam_user', max_sts_ttl: 60, role_arns: 'arn:aws:iam::1:role/a' }),
      );
      expect(message).toMatch(/^error\(s\) validating supplied role data: "3 errors occurred:\\n\\t\* /);
    });

    it('are listed, and absent ones answer 404 (S22.8, S22.9, S23.2)', async () => {
      const { body } = await secrets.root.list('cloudtwo/roles').expect(200);
      expect(body.data.keys).toEqual(['deploy']);
      await secrets.root.read('cloudtwo/roles/absent').expect(404, '{"errors":[]}\n');
      await secrets.root.delete('cloudtwo/roles/absent').expect(404, '{"errors":[]}\n');
      await role('gone', { credential_type: 'iam_user', policy_arns: [readOnly] }).expect(204);
      await secrets.root.delete('cloudtwo/roles/gone').expect(204);
      await secrets.root.read('cloudtwo/roles/gone').expect(404);
    });

    it('accept the older parameters, which tie each type to its path (S13.11, S13.12, SP.61)', async () => {
      const { body } = await role('old', { policy: document }).expect(200);
      expect(body.warnings[0]).toContain('Detected use of legacy role or policy parameter');
      const read = await secrets.root.read('cloudtwo/roles/old').expect(200);
      expect(read.body.data).toMatchObject({
        credential_types: ['iam_user', 'federation_token'],
        policy_document: document,
      });
      await role('old-role', { arn: 'arn:aws:iam::123456789012:role/r' }).expect(200);
      expect(await refused(secrets.root.read('cloudtwo/creds/old-role'))).toBe(
        'attempted to retrieve assumed_role credentials through the creds path; this is not allowed for legacy roles',
      );
      await role('old-user', { arn: readOnly }).expect(200);
      expect(await refused(secrets.root.write('cloudtwo/sts/old-user', {}))).toBe(
        'attempted to retrieve iam_user credentials through the sts path; this is not allowed for legacy roles',
      );
      const sts = await secrets.root.write('cloudtwo/sts/old', {}).expect(200);
      expect(sts.body.data.access_key).toMatch(/^ASIA/);
    });
  });

  describe('user credentials', () => {
    beforeAll(async () => {
      cloud.groups.set('g1', { attached: [], inline: new Map() });
      await configure().expect(204);
    });

    it('are created in an order that leaves no key behind, and deleted completely (S22.10, SP.16, SP.41, SP.49)', async () => {
      const { body } = await secrets.root.read('cloudtwo/creds/deploy').expect(200);
      const [first, ...rest] = cloud.actions();
      expect([first, ...rest.slice(0, -1).sort(), rest.at(-1)]).toEqual([
        'CreateUser',
        'AddUserToGroup',
        'AttachUserPolicy',
        'PutUserPolicy',
        'CreateAccessKey',
      ]);
      const [user] = cloud.issued;
      expect(user).toMatchObject({
        path: '/svc/',
        boundary: 'arn:aws:iam::aws:policy/PB',
        tags: { team: 'a', cost: 'b' },
      });
      expect(body).toMatchObject({ renewable: true, lease_duration: 1800 });
      expect(body.lease_id).toMatch(/^cloudtwo\/creds\/deploy\/[0-9A-Za-z]{24}$/);
      expect(body.data).toMatchObject({
        security_token: null,
        arn: `arn:aws:iam::123456789012:user/svc/${user?.name}`,
      });
      expect(cloud.keys.get(body.data.access_key)?.secret).toBe(body.data.secret_key);
      await revoke(body.lease_id);
      expect(cloud.issued).toEqual([]);
      expect(cloud.keys.has(body.data.access_key)).toBe(false);
    });

    it('have the lease lifetime of the mount if none is configured (SP.45)', async () => {
      await secrets.root.write('sys/mounts/unleased', { type: 'cloudtwo' }).expect(204);
      await secrets.root.write('unleased/config/root', rootConfig()).expect(204);
      await secrets.root
        .write('unleased/roles/r', { credential_type: 'iam_user', policy_arns: [readOnly] })
        .expect(204);
      await secrets.root.read('unleased/config/lease').expect(404);
      const { body } = await secrets.root.read('unleased/creds/r').expect(200);
      expect(body.lease_duration).toBe(2_764_800);
      await revoke(body.lease_id);
      await secrets.root.delete('sys/mounts/unleased').expect(204);
    });

    it('are deleted with everything that was added by hand', async () => {
      const { body } = await secrets.root.read('cloudtwo/creds/deploy').expect(200);
      const [user] = cloud.issued;
      const added = ['LoginProfile', 'MFADevices', 'Certificates', 'SSHPublicKeys', 'ServiceSpecificCredentials'];
      for (const kind of added) user!.extras.set(kind, new Set([kind === 'LoginProfile' ? 'console' : `${kind}-1`]));
      cloud.groups.set('by-hand', { attached: [], inline: new Map() });
      user!.groups.add('by-hand');
      user!.inline.set('by-hand', '{}');
      cloud.addKey(user!.name);
      await revoke(body.lease_id);
      expect(cloud.issued).toEqual([]);
    });

    it('do not touch a user that was there before under the same name', async () => {
      await configure({ username_template: 'constant-name' }).expect(204);
      const first = await secrets.root.read('cloudtwo/creds/deploy').expect(200);
      expect(await refused(secrets.root.read('cloudtwo/creds/deploy'))).toContain('EntityAlreadyExists');
      await intentsAreGone();
      expect(cloud.issued.map(({ name }) => name)).toEqual(['constant-name']);
      expect(cloud.keys.has(first.body.data.access_key)).toBe(true);
      await revoke(first.body.lease_id);
      await configure().expect(204);
    });

    it('that the provider does not show at first are looked up again within minutes', async () => {
      const { body } = await secrets.root.read('cloudtwo/creds/deploy').expect(200);
      const [user] = cloud.issued;
      const key = cloud.keys.get(body.data.access_key)!;
      cloud.users.delete(user!.name);
      cloud.keys.delete(key.id);
      await revoke(body.lease_id);
      // The provider shows the user and its key only now.
      cloud.users.set(user!.name, user!);
      cloud.keys.set(key.id, key);
      aheadMs += 6 * 60_000;
      await until(() => cloud.issued.length === 0);
      expect(cloud.keys.has(key.id)).toBe(false);
    });

    it('warn of parameters that mean nothing to them', async () => {
      const { body } = await secrets.root.write('cloudtwo/creds/deploy', { ttl: '15m', role_arn: 'arn:x' }).expect(200);
      expect(body.warnings).toEqual([
        'ttl does not apply to iam_user credentials and is ignored',
        'role_arn does not apply to iam_user credentials and is ignored',
      ]);
      await revoke(body.lease_id);
    });

    it('renew up to the configured maximum', async () => {
      const { body } = await secrets.root.read('cloudtwo/creds/deploy').expect(200);
      const renewed = await secrets.root
        .write('sys/leases/renew', { lease_id: body.lease_id, increment: '24h' })
        .expect(200);
      expect(renewed.body.lease_duration).toBeGreaterThan(11 * 3600);
      expect(renewed.body.lease_duration).toBeLessThanOrEqual(12 * 3600);
      await revoke(body.lease_id);
    });

    it.each([
      ['CreateUser', 'Error creating IAM user: '],
      ['AttachUserPolicy', 'Error attaching user policy: '],
      ['PutUserPolicy', 'Error putting user policy: '],
      ['AddUserToGroup', 'Error adding user to group: '],
      ['CreateAccessKey', 'Error creating access keys: '],
    ])('say which step failed: %s', async (action, text) => {
      cloud.fail = (called) =>
        called === action ? { status: 409, code: 'LimitExceeded', message: 'Cannot exceed quota' } : undefined;
      const message = await refused(secrets.root.read('cloudtwo/creds/deploy'));
      expect(message).toBe(`${text}LimitExceeded: Cannot exceed quota\n\tstatus code: 409, request id: r-1`);
    });

    it.each([
      ['Throttling', 400],
      ['AccessDenied', 403],
      ['ServiceFailure', 500],
    ])('answer 502 on %s', async (code, status) => {
      cloud.fail = (action) => (action === 'CreateUser' ? { status, code, message: 'no' } : undefined);
      expect(await refused(secrets.root.read('cloudtwo/creds/deploy'), 502)).toContain(
        `Error creating IAM user: ${code}`,
      );
    });

    it.each(['http://127.0.0.1:1', '127.0.0.1:1'])('answer 502 when %s cannot be reached', async (iam_endpoint) => {
      // Otherwise their calls to this address count, too, and after five the service does not call it for a while.
      await intentsAreGone();
      await configure({ iam_endpoint }).expect(204);
      expect((await secrets.root.read('cloudtwo/config/root').expect(200)).body.data).toMatchObject({ iam_endpoint });
      expect(await refused(secrets.root.read('cloudtwo/creds/deploy'), 502)).toContain('cannot be reached');
      await configure().expect(204);
    });

    it('answer 500 for a name above the cap (S23.4)', async () => {
      await intentsAreGone();
      cloud.calls.length = 0;
      await configure({ username_template: '{{ random 65 }}' }).expect(200);
      const { body } = await secrets.root.read('cloudtwo/creds/deploy').expect(500);
      expect(body.errors[0]).toContain('exceeds the IAM username length limits of 64 chars');
      expect(cloud.actions()).toEqual([]);
      await configure().expect(204);
    });

    it('are refused for an unknown role', async () => {
      expect(await refused(secrets.root.read('cloudtwo/creds/absent'))).toBe('Role "absent" not found');
    });
  });

  describe('credentials of STS', () => {
    const one = 'arn:aws:iam::123456789012:role/one';
    const two = 'arn:aws:iam::123456789012:role/two';
    beforeAll(async () => {
      await intentsAreGone();
      await role('assume', { credential_type: 'assumed_role', role_arns: [one], max_sts_ttl: '2h' }).expect(204);
      await role('choose', {
        credential_type: 'assumed_role',
        role_arns: `${one},${two}`,
        default_sts_ttl: '20m',
      }).expect(204);
      await role('federate', { credential_type: 'federation_token', policy_document: document }).expect(204);
    });
    const formOf = (action: string) => cloud.calls.find((call) => call.action === action)?.form ?? {};

    it('name the user that they represent', async () => {
      const { body } = await secrets.root.read('cloudtwo/creds/federate').expect(200);
      expect(body.data.arn).toMatch(/^arn:aws:sts::123456789012:federated-user\/service-/);
    });

    it('assume the only role, for an hour unless said otherwise (S24.5, S22.11, SP.49, SP.60)', async () => {
      const { body } = await secrets.root.write('cloudtwo/sts/assume', {}).expect(200);
      expect(formOf('AssumeRole')).toMatchObject({ RoleArn: one, DurationSeconds: '3600' });
      expect(body.renewable).toBe(false);
      expect(body.lease_duration).toBeGreaterThan(3000);
      expect(Object.keys(body.data).sort()).toEqual([
        'access_key',
        'arn',
        'secret_key',
        'security_token',
        'session_token',
        'ttl',
      ]);
      expect(body.data.arn).toMatch(/^arn:aws:sts::123456789012:assumed-role\/one\/service-/);
      expect(body.data).toMatchObject({
        access_key: expect.stringMatching(/^ASIA/),
        secret_key: expect.any(String),
        security_token: body.data.session_token,
      });
      expect(body.data.security_token).not.toBe('');
      await secrets.root.write('sys/leases/renew', { lease_id: body.lease_id }).expect(400, /lease is not renewable/);
      cloud.calls.length = 0;
      await revoke(body.lease_id);
      expect(cloud.actions()).toEqual([]);
    });

    it('prefer the ttl of the request to the role’s, capped by the role (SP.60)', async () => {
      await secrets.root.read('cloudtwo/sts/choose?role_arn=arn:aws:iam::123456789012:role/two').expect(200);
      expect(formOf('AssumeRole')).toMatchObject({ RoleArn: two, DurationSeconds: '1200' });
      cloud.calls.length = 0;
      const { body } = await secrets.root.write('cloudtwo/creds/assume', { ttl: '5h' }).expect(200);
      expect(formOf('AssumeRole')).toMatchObject({ DurationSeconds: '7200' });
      expect(body.warnings[0]).toContain('exceeds the maximum');
    });

    it('cut a session name to 64 characters and replace forbidden characters (S24.4, SP.60)', async () => {
      await secrets.root.write('cloudtwo/sts/assume', { role_session_name: `a b${'x'.repeat(88)}` }).expect(200);
      expect(formOf('AssumeRole').RoleSessionName).toBe(`a_b${'x'.repeat(61)}`);
      expect(await refused(secrets.root.write('cloudtwo/sts/assume', { role_session_name: 'a' }))).toContain(
        'role_session_name',
      );
    });

    it('refuse roles that are not allowed or not named (SP.60)', async () => {
      expect(await refused(secrets.root.write('cloudtwo/sts/choose', {}))).toBe(
        'did not supply a role_arn parameter and unable to determine one',
      );
      expect(await refused(secrets.root.write('cloudtwo/sts/assume', { role_arn: two }))).toBe(
        `role_arn "${two}" not in allowed role arns for Service role "assume"`,
      );
      expect(await refused(secrets.root.write('cloudtwo/sts/assume', { ttl: '-1s' }))).toContain('for field "ttl"');
      expect(cloud.actions()).toEqual([]);
    });

    it('merge the policies of groups into the filter', async () => {
      const inline = JSON.stringify({ Statement: { Effect: 'Allow', Action: 's3:Get%20*', Resource: '*' } });
      cloud.groups.set('g2', { attached: [readOnly], inline: new Map([['p', inline]]) });
      await role('grouped', {
        credential_type: 'assumed_role',
        role_arns: one,
        iam_groups: 'g2',
        policy_document: document,
      }).expect(204);
      await secrets.root.write('cloudtwo/sts/grouped', {}).expect(200);
      const form = formOf('AssumeRole');
      expect(JSON.parse(form.Policy ?? '').Statement).toHaveLength(2);
      expect(form['PolicyArns.member.1.arn']).toBe(readOnly);
    });

    it('pass on the values that a trust policy requires', async () => {
      cloud.externalIds.set(one, 'agreed');
      expect(await refused(secrets.root.read('cloudtwo/creds/assume'), 502)).toContain('AccessDenied');
      const fields = { credential_type: 'assumed_role', role_arns: one };
      await role('trusted', { ...fields, external_id: 'agreed', session_tags: ['team=a', 'cost=b'] }).expect(204);
      const { body } = await secrets.root.read('cloudtwo/roles/trusted').expect(200);
      expect(body.data).toMatchObject({ external_id: 'agreed', session_tags: { team: 'a', cost: 'b' } });
      cloud.calls.length = 0;
      await secrets.root.read('cloudtwo/creds/trusted').expect(200);
      expect(formOf('AssumeRole')).toMatchObject({
        ExternalId: 'agreed',
        'Tags.member.1.Key': 'team',
        'Tags.member.1.Value': 'a',
        'Tags.member.2.Key': 'cost',
      });
      const check = await secrets.root.read('cloudtwo/config/root/check?role=trusted').expect(200);
      expect(check.body.data).toMatchObject({ missing: [], unknown: [] });
      cloud.externalIds.clear();
    });

    it('are sessions of the root user, with a code of its MFA device if the role names one', async () => {
      await role('own', { credential_type: 'session_token', default_sts_ttl: '15m' }).expect(204);
      const { body } = await secrets.root.write('cloudtwo/sts/own', { role_arn: one }).expect(200);
      expect(formOf('GetSessionToken')).toMatchObject({ DurationSeconds: '900' });
      expect(formOf('GetSessionToken')).not.toHaveProperty('SerialNumber');
      expect(body.data).toMatchObject({ session_token: body.data.security_token });
      expect(body.data).not.toHaveProperty('arn');
      expect(body.warnings).toEqual(['role_arn does not apply to session_token credentials and is ignored']);
      const device = 'arn:aws:iam::123456789012:mfa/root-svc';
      await role('own', { mfa_serial_number: device }).expect(204);
      cloud.calls.length = 0;
      expect(await refused(secrets.root.read('cloudtwo/creds/own'))).toContain('mfa_code is required');
      expect(cloud.actions()).toEqual([]);
      await refused(secrets.root.read('cloudtwo/creds/own?mfa_code=000000'), 502);
      cloud.calls.length = 0;
      await secrets.root.write('cloudtwo/creds/own', { mfa_code: '123456' }).expect(200);
      expect(formOf('GetSessionToken')).toMatchObject({ SerialNumber: device, TokenCode: '123456' });
    });

    it('warn of parameters that mean nothing to a federated user', async () => {
      const { body } = await secrets.root
        .write('cloudtwo/sts/federate', { role_arn: one, role_session_name: 'me' })
        .expect(200);
      expect(body.warnings).toEqual([
        'role_arn does not apply to federation_token credentials and is ignored',
        'role_session_name does not apply to federation_token credentials and is ignored',
      ]);
    });

    it('federate a user under a short name', async () => {
      const { body } = await secrets.root.write('cloudtwo/sts/federate', { ttl: '30m' }).expect(200);
      expect(formOf('GetFederationToken')).toMatchObject({ DurationSeconds: '1800', Policy: document });
      expect(formOf('GetFederationToken').Name).toMatch(/^service-\d{10}-\w{13}$/);
      expect(Object.keys(body.data).sort()).toEqual([
        'access_key',
        'arn',
        'secret_key',
        'security_token',
        'session_token',
        'ttl',
      ]);
    });
  });

  describe('rotation of the root key', () => {
    it('switches to a new key and deletes the old one (S22.3, SP.62)', async () => {
      cloud.keyDelayMs = 700;
      await configure().expect(204);
      const { body } = await secrets.root.write('cloudtwo/config/rotate-root').expect(200);
      // The old key is deleted after the provider knows the new one.
      const lastAttempt = cloud.actions().lastIndexOf('GetCallerIdentity');
      expect(lastAttempt).toBeGreaterThan(cloud.actions().indexOf('CreateAccessKey'));
      expect(cloud.actions().indexOf('DeleteAccessKey')).toBeGreaterThan(lastAttempt);
      expect(body.data.access_key).not.toBe(cloud.rootKey.id);
      expect(cloud.keys.has(cloud.rootKey.id)).toBe(false);
      await secrets.root.read('cloudtwo/config/root').expect(200, new RegExp(body.data.access_key));
      const creds = await secrets.root.read('cloudtwo/creds/deploy').expect(200);
      await revoke(creds.body.lease_id);
    });

    it('says when the old key could not be deleted, and deletes it later', async () => {
      const { access_key: old } = (await secrets.root.read('cloudtwo/config/root').expect(200)).body.data;
      cloud.fail = (action) =>
        action === 'DeleteAccessKey' ? { status: 500, code: 'Away', message: 'no' } : undefined;
      const { body } = await secrets.root.write('cloudtwo/config/rotate-root').expect(200);
      expect(body.warnings).toEqual([expect.stringContaining('it is tried again later')]);
      expect(body.data.access_key).not.toBe(old);
      expect(cloud.keys.has(old)).toBe(true);
      cloud.fail = () => undefined;
      aheadMs += 6 * 60_000;
      await until(() => !cloud.keys.has(old));
      expect(cloud.keys.has(body.data.access_key)).toBe(true);
      await intentsAreGone();
    });

    it('changes nothing if two keys exist already (S23.6, SP.62)', async () => {
      const before = await secrets.root.read('cloudtwo/config/root').expect(200);
      const second = cloud.addKey('root-svc');
      expect(await refused(secrets.root.write('cloudtwo/config/rotate-root'))).toContain(
        'error calling CreateAccessKey: LimitExceeded',
      );
      const after = await secrets.root.read('cloudtwo/config/root').expect(200);
      expect(after.body.data).toEqual(before.body.data);
      cloud.keys.delete(second.id);
    });

    it('needs static credentials (SP.62)', async () => {
      await secrets.root.write('cloudtwo/config/root', { credential_source: 'environment' }).expect(204);
      expect(await refused(secrets.root.write('cloudtwo/config/rotate-root'))).toBe(
        'Cannot call config/rotate-root when either access_key or secret_key is empty',
      );
    });
  });
});
