import { expect, it } from '@jest/globals';
import { startSecrets } from './start-secrets';

const dayMs = 86_400_000;
const time = { offsetMs: 0 };
const secrets = startSecrets({ clock: { now: () => Date.now() + time.offsetMs } });
const root = () => secrets.root;
type Listed = { keys: string[]; key_info: Record<string, Record<string, unknown>> };
const within = async (path: string, time: string, client = root()): Promise<Listed> => {
  const { status, body } = await client.read(`${path}${path.includes('?') ? '&' : '?'}expires_within=${time}`);
  return status === 404 ? { keys: [], key_info: {} } : body.data;
};

it('a listing shows certificates by expiry, without revoked ones, up to the requested number', async () => {
  await root()
    .write('sys/mounts/pki', { type: 'pki', config: { max_lease_ttl: '87600h' } })
    .expect(204);
  await root().write('pki/root/generate/internal', { common_name: 'Root', ttl: '87600h', key_type: 'ec' }).expect(200);
  await root().write('pki/roles/a', { allow_any_name: true, key_type: 'ec' }).expect(200);
  const issue = async (common_name: string, ttl: string): Promise<string> =>
    (await root().write('pki/issue/a', { common_name, ttl }).expect(200)).body.data.serial_number;
  const week = await issue('week.test', '160h');
  const day = await issue('day.test', '20h');
  const serial_number = await issue('revoked.test', '30h');
  await root().write('pki/revoke', { serial_number }).expect(200);
  await issue('month.test', '700h');
  const list = 'pki/certs/detailed?list=true';
  const found = await within(list, '7d');
  expect(found.keys).toEqual([day, week]);
  expect(found.key_info[day]).toMatchObject({ common_name: 'day.test' });
  expect((await within(`${list}&limit=1`, '90d')).keys).toEqual([day]);
  const { errors } = (await root().read(`${list}&after=${day}&expires_within=7d`).expect(400)).body;
  expect(errors).toEqual(['after and expires_within cannot be used together']);
  time.offsetMs += dayMs;
  expect((await within(list, '7d')).keys).toEqual([week]);
  time.offsetMs = 0;
});

it('a listing shows secrets by the deletion time of their newest versions, to callers who may scan', async () => {
  await root()
    .write('sys/mounts/kv', { type: 'kv', options: { version: '2' } })
    .expect(204);
  const put = async (path: string, after?: string) => {
    if (after !== undefined) await root().write(`kv/metadata/${path}`, { delete_version_after: after }).expect(204);
    await root()
      .write(`kv/data/${path}`, { data: { a: path } })
      .expect(200);
  };
  const scan = 'kv/detailed-metadata/?scan=true';
  const names = async (time: string) => (await within(scan, time)).keys;
  await put('app/late', '144h');
  await put('app/soon', '10h');
  await put('other', '20h');
  await put('for-ever');
  const found = await within(scan, '7d');
  expect(found.keys).toEqual(['app/soon', 'other', 'app/late']);
  expect(found.key_info['app/soon']).toMatchObject({ current_version: 1, delete_version_after: '10h0m0s' });
  expect(await names('11h')).toEqual(['app/soon']);
  expect((await within('kv/detailed-metadata/app/?scan=true', '7d')).keys).toEqual(['soon', 'late']);

  // Each change of a secret moves it in the list, or removes it.
  await put('app/soon', '30h');
  expect(await names('7d')).toEqual(['other', 'app/soon', 'app/late']);
  await root().delete('kv/data/other').expect(204);
  expect(await names('7d')).toEqual(['app/soon', 'app/late']);
  await root().write('kv/move', { from: 'app/', to: 'moved/' }).expect(200);
  expect(await names('7d')).toEqual(['moved/soon', 'moved/late']);
  await root()
    .write('kv/destroy/moved/soon', { versions: [2] })
    .expect(204);
  expect(await names('7d')).toEqual(['moved/late']);
  await root().delete('kv/metadata/moved/late').expect(204);
  expect(await names('7d')).toEqual([]);

  const lists = await secrets.withPolicy('path "kv/*" { capabilities = ["read", "list"] }');
  await lists.read(`${scan}&expires_within=7d`).expect(403);
});

it('a listing shows tokens with a lifetime of a day or longer, by expiry', async () => {
  const create = async (display_name: string, body: object, path = 'create'): Promise<string> =>
    (
      await root()
        .write(`auth/token/${path}`, { display_name, ...body })
        .expect(200)
    ).body.auth.accessor;
  const list = 'auth/token/accessors?list=true';
  const week = await create('week', { ttl: '150h' });
  const day = await create('day', { ttl: '30h' }, 'create-orphan');
  await create('hour', { ttl: '1h' });
  await create('month', { ttl: '700h' });
  const revoked = await create('revoked', { ttl: '40h' });
  await root().write('auth/token/revoke-accessor', { accessor: revoked }).expect(204);
  await root().write('sys/auth/userpass', { type: 'userpass' }).expect(204);
  await root().write('auth/userpass/users/ana', { password: 'long-enough', token_ttl: '50h' }).expect(204);
  await secrets.anonymous.write('auth/userpass/login/ana', { password: 'long-enough' }).expect(200);
  const found = await within(list, '7d');
  expect(found.keys).toEqual([day, week]);
  expect(found.key_info[day]).toMatchObject({ display_name: 'token-day', path: 'auth/token/create-orphan' });
  time.offsetMs += 2 * dayMs;
  expect((await within(list, '7d')).keys).toEqual([week]);
  time.offsetMs = 0;
  const { data } = (await root().read(`${list}&detailed=true`).expect(200)).body;
  expect(data.keys).toEqual(Object.keys(data.key_info));
  expect(data.key_info[week]).toMatchObject({ display_name: 'token-week', expire_time: expect.any(String) });
  expect((await root().read(list).expect(200)).body.data).toEqual({ keys: data.keys });
  const weak = await secrets.withPolicy('path "auth/token/accessors" { capabilities = ["list"] }');
  await weak.read(`${list}&expires_within=7d`).expect(403);
});

it('a listing shows the tokens of a namespace only there', async () => {
  await root().write('sys/namespaces/team', {}).expect(200);
  const { body } = await root().write('team/auth/token/create', { display_name: 'inner', ttl: '48h' }).expect(200);
  const found = await within('team/auth/token/accessors?list=true', '7d');
  expect(found.keys).toEqual([body.auth.accessor]);
  expect((await within('auth/token/accessors?list=true', '7d')).keys).not.toContain(body.auth.accessor);
});
