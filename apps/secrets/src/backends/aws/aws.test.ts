import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { manualClock } from '@keystead/testing';
import { loginFields, type SignedRequest, StsStandIn, signedRequest } from '../../../test/stand-ins/sts';
import { startSecrets } from '../../../test/start-secrets';

const base64 = (text: string) => Buffer.from(text).toString('base64');
const account = '123456789012';

describe('login by a signed request', () => {
  const clock = manualClock(Date.now());
  const cloud = new StsStandIn();
  beforeAll(() => cloud.start());
  afterAll(() => cloud.stop());
  const secrets = startSecrets({ clock });

  const sign = (key: string, address = cloud.address, further: Record<string, string> = {}) =>
    signedRequest(key, address, further);
  const sent = (signed: SignedRequest, role?: string) => ({
    ...(role === undefined ? {} : { role }),
    ...loginFields(signed),
  });
  const logIn = (fields: object) => secrets.anonymous.write('auth/aws/login', fields);
  const login = async (key: string, role?: string) => logIn(sent(await sign(key), role));
  const configure = (fields: object) => secrets.root.write('auth/aws/config/client', fields);
  const role = (name: string, fields: object) => secrets.root.write(`auth/aws/role/${name}`, fields);
  const arn = (of: string) => `arn:aws:iam::${account}:${of}`;

  beforeAll(async () => {
    await secrets.root.write('sys/auth/aws', { type: 'aws' }).expect(204);
    await secrets.root.write('sys/mounts/aws', { type: 'aws' }).expect(204);
    const signers: [string, string, string][] = [
      ['AKIAADA', arn('user/people/ada'), 'AIDAADA'],
      ['ASIAWEB', `arn:aws:sts::${account}:assumed-role/web/i-1`, 'AROAWEB:i-1'],
      ['AKIAROOT', arn('root'), account],
      ['AKIALOOK', arn('user/look'), 'AIDALOOK'],
    ];
    for (const [key, of, userId] of signers) {
      cloud.signers.set(key, { secret: `secret of ${key}`, arn: of, userId });
    }
  });
  beforeEach(async () => {
    clock.advance(60_000);
    cloud.instead = undefined;
    cloud.asJson = false;
    cloud.account = account;
    cloud.users.set('ada', { id: 'AIDAADA', path: '/people/' });
    cloud.roles.set('web', { id: 'AROAWEB', path: '/services/' });
    await secrets.root.delete('auth/aws/config/client').expect(204);
    const addresses = { sts_endpoint: cloud.address, iam_endpoint: cloud.address };
    await configure({ ...addresses, access_key: 'AKIALOOK', secret_key: 'secret of AKIALOOK' }).expect(204);
  });

  it('is listed next to the engine of the same name', async () => {
    const { body } = await secrets.root.read('sys/plugins/catalog').expect(200);
    expect(body.data.auth).toContain('aws');
    expect(body.data.secret).toContain('aws');
    await secrets.root.read('aws/config/root').expect(404);
    await secrets.root.write('sys/plugins/reload/backend', { plugin: 'aws' }).expect(200);
  });

  it('keeps its configuration, and shows no secret', async () => {
    const { body, text } = await secrets.root.read('auth/aws/config/client').expect(200);
    expect(body.data).toEqual({
      access_key: 'AKIALOOK',
      iam_endpoint: cloud.address,
      sts_endpoint: cloud.address,
      sts_region: '',
      use_sts_region_from_client: false,
      iam_server_id_header_value: '',
      allowed_sts_header_values: [],
      max_retries: -1,
    });
    expect(text).not.toContain('secret of');
    await secrets.root.delete('auth/aws/config/client').expect(204);
    await secrets.root.read('auth/aws/config/client').expect(404);
  });

  it.each([
    [{ secret_key: '' }, 'access_key and secret_key must be set together'],
    [{ sts_endpoint: 'sts.example' }, 'sts_endpoint must be an https address'],
    [{ iam_endpoint: 'https://a/b' }, 'iam_endpoint must be an https address without a path'],
    [{ sts_region: 'a/b' }, 'sts_region must be'],
    [{ sts_region: 'eu-west-1', use_sts_region_from_client: true }, 'cannot both be set'],
    [{ max_retries: 21 }, 'max_retries must be between'],
    [{ allowed_sts_header_values: 'a b' }, 'is not a name of a header'],
    [{ iam_server_id_header_value: 'ä' }, 'must be printable ASCII'],
    [{ role_arn: arn('role/x') }, 'role_arn is not supported'],
    [{ identity_token_audience: 'x' }, 'identity_token_audience is not supported'],
    [{ endpoint: 'https://ec2' }, 'endpoint is not supported'],
  ])('refuses the configuration %j', async (fields, text) => {
    const { body } = await configure(fields).expect(400);
    expect(body.errors[0]).toContain(text);
  });

  it.each([
    [{}, 'bound_iam_principal_arn'],
    [{ bound_iam_principal_arn: 'ada' }, 'is neither a user nor a role'],
    [{ bound_iam_principal_arn: arn('root') }, 'is neither a user nor a role'],
    [{ bound_iam_principal_arn: 'arn:aws:iam::*' }, 'does not contain an account'],
    [{ bound_iam_principal_arn: arn('*/x') }, '* is allowed only at the end'],
    [{ bound_iam_principal_arn: arn('user/unknown') }, 'NoSuchEntity'],
    [{ bound_iam_principal_arn: 'arn:aws:iam::999999999999:user/ada' }, 'the key belongs to another account'],
    [{ auth_type: 'ec2' }, 'unrecognized auth_type: ec2'],
    [{ bound_iam_principal_arn: arn('user/ada'), role_tag: 'x' }, 'role_tag is not supported'],
    [{ bound_iam_principal_arn: arn('user/ada'), bound_ami_id: 'ami-1' }, 'bound_ami_id is not supported'],
    [{ bound_iam_principal_arn: arn('user/ada'), inferred_entity_type: 'ec2_instance' }, 'inferred_entity_type is'],
    [{ bound_iam_principal_arn: arn('user/ada'), token_period: '9000h' }, 'is greater than'],
  ])('refuses the role %j', async (fields, text) => {
    const { body } = await role('bad', fields).expect(400);
    expect(body.errors[0]).toContain(text);
    await secrets.root.read('auth/aws/role/bad').expect(404);
  });

  it('stores roles with the AWS ids of bound principals', async () => {
    await role('Shown', {
      bound_iam_principal_arn: [arn('user/people/ada'), arn('role/adm*')],
      allow_instance_migration: false,
      token_policies: 'a',
    }).expect(204);
    const { body } = await secrets.root.read('auth/aws/role/shown').expect(200);
    expect(body.data).toMatchObject({
      auth_type: 'iam',
      bound_iam_principal_id: ['AIDAADA'],
      resolve_aws_unique_ids: true,
      token_policies: ['a'],
    });
    await role('shown', { resolve_aws_unique_ids: false }).expect(400, /from true to false is not allowed/);
    await role('shown', { token_ttl: '1h' }).expect(204);
    const after = await secrets.root.read('auth/aws/role/shown').expect(200);
    expect(after.body.data).toMatchObject({ role_id: body.data.role_id, token_ttl: 3600 });
    for (const at of ['role', 'roles']) {
      expect((await secrets.root.list(`auth/aws/${at}`).expect(200)).body.data.keys).toEqual(['shown']);
    }
    await secrets.root.delete('auth/aws/role/shown').expect(204);
  });

  it('refuses to look up ids without a key, with a message', async () => {
    await secrets.root.delete('auth/aws/config/client').expect(204);
    await role('x', { bound_iam_principal_arn: arn('user/ada') }).expect(400, /has no access_key/);
  });

  it.each([true, false])('issues a token to the signer (as JSON: %s)', async (asJson) => {
    cloud.asJson = asJson;
    await role('web', { bound_iam_principal_arn: arn('role/services/web'), token_policies: 'shop' }).expect(204);
    const { body } = await login('ASIAWEB', 'WEB').then((answer) => answer);
    const role_id = (await secrets.root.read('auth/aws/role/web')).body.data.role_id;
    expect(body.auth).toMatchObject({
      token_policies: ['default', 'shop'],
      metadata: { role_id, account_id: account, auth_type: 'iam' },
    });
    const entity = await secrets.root.read(`identity/entity/id/${body.auth.entity_id}`).expect(200);
    expect(entity.body.data.aliases[0].name).toBe(role_id);
    // Without a role in the request, the name of the AWS role selects it.
    expect((await login('ASIAWEB')).status).toBe(200);
  });

  it('refuses other principals, and those that were recreated under the same name', async () => {
    await role('web', { bound_iam_principal_arn: arn('role/services/web') }).expect(204);
    await login('AKIAADA', 'web').then(({ status, text }) =>
      expect([status, text]).toEqual([403, expect.stringContaining('does not belong to the role')]),
    );
    expect((await login('AKIAROOT', 'web')).status).toBe(400);
    expect((await login('AKIANOBODY', 'web')).status).toBe(403);
    expect((await login('AKIAADA', 'absent')).status).toBe(400);
    const { body } = await login('ASIAWEB', 'web');
    cloud.roles.set('web', { id: 'AROANEW', path: '/services/' });
    cloud.signers.set('ASIANEW', {
      secret: 'secret of ASIANEW',
      arn: `arn:aws:sts::${account}:assumed-role/web/i-1`,
      userId: 'AROANEW:i-1',
    });
    expect((await login('ASIANEW', 'web')).status).toBe(403);
    const web = secrets.as(body.auth.client_token);
    await web.write('auth/token/renew-self').expect(200);
    await role('web', { bound_iam_principal_arn: arn('role/services/web') }).expect(204);
    await web.write('auth/token/renew-self').expect(400, /no longer belongs to the role/);
    await secrets.root.delete('auth/aws/role/web').expect(204);
    await web.write('auth/token/renew-self').expect(400, /does not exist during renewal/);
  });

  it('compares wildcards with the full ARN, which it looks up', async () => {
    await role('wild', { bound_iam_principal_arn: arn('role/services/*') }).expect(204);
    expect((await login('ASIAWEB', 'wild')).status).toBe(200);
    expect((await login('AKIAADA', 'wild')).status).toBe(403);
    // A recreated role with the same name but another path, while an old session lives.
    cloud.roles.set('web', { id: 'AROANEW', path: '/services/' });
    expect((await login('ASIAWEB', 'wild')).status).toBe(403);
  });

  it('binds by ARN without looking up principals if configured so', async () => {
    await secrets.root.delete('auth/aws/config/client').expect(204);
    await configure({ sts_endpoint: cloud.address }).expect(204);
    await role('plain', { bound_iam_principal_arn: arn('user/ada'), resolve_aws_unique_ids: false }).expect(204);
    expect((await login('AKIAADA', 'plain')).status).toBe(200);
    expect((await login('ASIAWEB', 'plain')).status).toBe(403);
  });

  it.each([
    ['unique_id', 'AIDAADA'],
    ['canonical_arn', arn('user/ada')],
    ['full_arn', arn('user/people/ada')],
  ])('names the alias by %s', async (iam_alias, name) => {
    await secrets.root
      .write('auth/aws/config/identity', { iam_alias, iam_metadata: 'default,canonical_arn' })
      .expect(204);
    await role('ada', { bound_iam_principal_arn: arn('user/people/ada') }).expect(204);
    const { body } = await login('AKIAADA', 'ada');
    expect(body.auth.metadata).toMatchObject({ canonical_arn: arn('user/ada'), account_id: account });
    const entity = await secrets.root.read(`identity/entity/id/${body.auth.entity_id}`).expect(200);
    expect(entity.body.data.aliases.map((alias: { name: string }) => alias.name)).toContain(name);
    await secrets.root.write('auth/aws/config/identity', { iam_alias: 'role_id', iam_metadata: 'default' }).expect(204);
    // Terraform’s provider writes and reads it, although EC2 logins are not built.
    await secrets.root.write('auth/aws/config/identity', { ec2_alias: 'role_id' }).expect(204);
    const settings = await secrets.root.read('auth/aws/config/identity').expect(200);
    expect(settings.body.data).toMatchObject({ iam_alias: 'role_id', ec2_alias: 'role_id' });
  });

  it.each([
    [{ iam_alias: 'arn' }, 'invalid iam_alias'],
    [{ iam_metadata: 'inferred_entity_id' }, 'contains an unavailable field, please select from'],
    [{ ec2_alias: 'instance_id' }, 'ec2_alias is not supported'],
  ])('refuses the identity %j', async (fields, text) => {
    const { body } = await secrets.root.write('auth/aws/config/identity', fields).expect(400);
    expect(body.errors[0]).toContain(text);
  });

  describe('requests that were not signed for this login', () => {
    const changed = async (change: (signed: SignedRequest) => Partial<SignedRequest> & { fields?: object }) => {
      const signed = await sign('AKIAADA');
      const { fields, ...parts } = change(signed);
      return logIn({ ...sent({ ...signed, ...parts }, 'ada'), ...fields });
    };
    beforeAll(async () => {
      await configure({
        sts_endpoint: cloud.address,
        iam_endpoint: cloud.address,
        access_key: 'AKIALOOK',
        secret_key: 'secret of AKIALOOK',
      });
      cloud.users.set('ada', { id: 'AIDAADA', path: '/people/' });
      await role('ada', { bound_iam_principal_arn: arn('user/people/ada') }).expect(204);
    });
    const authorization = ({ headers }: SignedRequest) => headers.authorization!;

    it.each<[string, number, (signed: SignedRequest) => Partial<SignedRequest> & { fields?: object }]>([
      ['a GET', 400, () => ({ fields: { iam_http_request_method: 'GET' } })],
      ['a wrong host', 400, () => ({ url: 'https://sts.amazonaws.com.evil.example/' })],
      ['a host before an @', 400, (signed) => ({ url: signed.url.replace('//', '//sts.amazonaws.com@') })],
      ['a path', 400, (signed) => ({ url: `${signed.url}mirror` })],
      ['a query', 400, (signed) => ({ url: `${signed.url}?Action=GetCallerIdentity` })],
      ['a wrong host that was signed', 400, ({ headers }) => ({ headers: { ...headers, host: 'sts.amazonaws.com' } })],
      ['a wrong action', 400, () => ({ body: 'Action=GetSessionToken&Version=2011-06-15' })],
      ['a second action', 400, ({ body }) => ({ body: `${body}&Action=GetSessionToken` })],
      ['a wrong body', 400, () => ({ body: '{"GetCallerIdentityResponse":{}}' })],
      ['the same body in another encoding', 403, () => ({ body: 'Version=2011-06-15&Action=GetCallerIdentity' })],
      ['no signature', 400, ({ headers: { authorization: _, ...headers } }) => ({ headers })],
      ['no headers', 400, () => ({ fields: { iam_request_headers: base64('[]') } })],
      ['invalid headers', 400, () => ({ fields: { iam_request_headers: base64('{') } })],
      [
        'a repeated header',
        400,
        (signed) => ({ headers: { ...signed.headers, AUTHORIZATION: authorization(signed) } }),
      ],
      ['line breaks in a header', 400, ({ headers }) => ({ headers: { ...headers, 'x-amz-date': 'a\r\nb: c' } })],
      [
        'a signed header that changes the answer',
        400,
        (signed) => ({
          headers: {
            ...signed.headers,
            accept: 'application/json',
            authorization: authorization(signed).replace('SignedHeaders=', 'SignedHeaders=accept;'),
          },
        }),
      ],
      [
        'a host without a signature',
        400,
        (signed) => ({
          headers: { ...signed.headers, authorization: authorization(signed).replace(';host', '') },
        }),
      ],
      ['a wrong time', 403, ({ headers }) => ({ headers: { ...headers, 'x-amz-date': '20200101T000000Z' } })],
      ['an instance identity document', 400, () => ({ fields: { pkcs7: 'x' } })],
      ['no body', 400, () => ({ fields: { iam_request_body: '' } })],
    ])('%s is refused', async (_what, status, change) => {
      const before = cloud.calls.length;
      expect((await changed(change)).status).toBe(status);
      // Visibly wrong requests are not forwarded.
      if (status === 400) expect(cloud.calls.length).toBe(before);
    });

    it('drops headers that were not signed', async () => {
      const { status } = await changed(({ headers }) => ({
        headers: { ...headers, 'x-forwarded-host': 'evil', cookie: 'a=b' },
      }));
      expect(status).toBe(200);
      expect(cloud.calls.at(-1)!.headers.cookie).toBeUndefined();
      expect(cloud.calls.at(-1)!.headers['x-forwarded-host']).toBeUndefined();
    });

    it('accepts only requests signed for this server, once a name of the server is configured', async () => {
      await configure({ iam_server_id_header_value: 'keystead.example' }).expect(204);
      const name = 'X-Vault-AWS-IAM-Server-ID';
      const signedWith = (value: string) => sign('AKIAADA', cloud.address, { [name]: value });
      expect((await login('AKIAADA', 'ada')).text).toContain('it is missing, or not signed');
      expect((await logIn(sent(await signedWith('other.example'), 'ada'))).text).toContain('meant for another server');
      const unsigned = await sign('AKIAADA');
      unsigned.headers[name] = 'keystead.example';
      expect((await logIn(sent(unsigned, 'ada'))).status).toBe(400);
      expect((await logIn(sent(await signedWith('keystead.example'), 'ada'))).status).toBe(200);
    });

    it('sends requests only to AWS STS in the configured region', async () => {
      await secrets.root.delete('auth/aws/config/client').expect(204);
      const to = async (host: string) => (await logIn(sent(await sign('AKIAADA', `https://${host}`), 'ada'))).text;
      expect(await to('sts.eu-west-1.amazonaws.com')).toContain('must point to sts.amazonaws.com');
      expect(await to('evil.example')).toContain('must point to sts.amazonaws.com');
      await configure({ sts_region: 'eu-west-1' }).expect(204);
      expect(await to('sts.us-east-1.amazonaws.com')).toContain('must point to the token service of eu-west-1');
      expect(await to('sts.amazonaws.com')).toContain('must point to the token service of eu-west-1');
      await configure({ sts_region: '', use_sts_region_from_client: true }).expect(204);
      for (const host of ['sts.eu-west-1.evil.example', 'eu-west-1.amazonaws.com', 'sts.x.y.amazonaws.com']) {
        expect(await to(host)).toContain('must point to AWS STS');
      }
    });
  });

  it('reports that AWS is down or answers nonsense, and accepts logins again afterwards', async () => {
    await role('ada', { bound_iam_principal_arn: arn('user/people/ada') }).expect(204);
    const forged = '<GetCallerIdentityResponse><GetCallerIdentityResult><Arn>a</Arn></GetCallerIdentityResult>';
    for (const [status, text] of [
      [503, ''],
      [429, ''],
      [200, '<html>'],
      [200, '{}'],
      [200, `{"echo":"${forged}"}`],
      [200, `<Error>${forged}</Error>`],
    ] as const) {
      cloud.instead = [status, text];
      expect((await login('AKIAADA', 'ada')).status).toBe(502);
    }
    cloud.instead = undefined;
    expect((await login('AKIAADA', 'ada')).status).toBe(200);
  });
});
