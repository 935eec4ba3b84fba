import http, { type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { type Secrets, startSecrets } from '../../secrets/test/start-secrets';
import { keystead, type Ran } from './run-keystead';
import {
  confidential,
  exact,
  expectAllHere,
  expectEnginesHere,
  expectNamed,
  furnish,
  furnishEngines,
  ofEngines,
  type Write,
} from './vault-scenario';

const addressOf = (server: http.Server) => `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
type Mood = (response: ServerResponse, path: string) => boolean;

/** A service of the same API behind an unreliable proxy without paging, like some servers. */
function otherServer() {
  const secrets = startSecrets();
  const asked: string[] = [];
  const state: { mood: Mood; moods: Mood[] } = { mood: () => false, moods: [] };
  const proxy = http.createServer((request, response) => {
    const url = new URL(String(request.url), 'http://other');
    asked.push(`${request.method} ${url.pathname}${url.searchParams.get('list') ? '/' : ''}`);
    if ((state.moods.shift() ?? state.mood)(response, url.pathname)) return;
    url.searchParams.delete('limit');
    url.searchParams.delete('after');
    const { port } = secrets.server.address() as AddressInfo;
    const { method, headers } = request;
    const path = url.pathname + url.search;
    const onward = http.request({ host: '127.0.0.1', port, method, path, headers, agent: false }, (answer) => {
      response.writeHead(answer.statusCode ?? 502, answer.headers);
      answer.pipe(response);
    });
    request.pipe(onward);
  });
  beforeAll(() => new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve)));
  afterAll(() => {
    proxy.closeAllConnections();
    proxy.close();
  });
  return { secrets, state, asked, address: () => addressOf(proxy) };
}

function importer(other: ReturnType<typeof otherServer>, here: Secrets) {
  return (...more: string[]) =>
    keystead(['import', 'vault', '-from', other.address(), '-rate=0', '-format=json', ...more], {
      IMPORT_TOKEN: other.secrets.rootToken,
      SERVICE_TOKEN: here.rootToken,
      SERVICE_ADDR: addressOf(here.server as http.Server),
      HOME: '/nonexistent',
    });
}

const writer =
  ({ as, rootToken }: Secrets): Write =>
  async (path, body, namespace, method) => {
    const client = namespace ? as(rootToken, { 'X-Vault-Namespace': namespace }) : as(rootToken);
    const answer = await (method === 'PUT' ? client.put(encodeURI(path), body) : client.write(encodeURI(path), body));
    if (answer.status >= 300) throw new Error(`${path}: ${answer.status} ${JSON.stringify(answer.body)}`);
    return answer.body;
  };

describe('an import from a secrets server', () => {
  const other = otherServer();
  const here = startSecrets();
  const run = importer(other, here);
  let interrupted: Ran;

  beforeAll(async () => {
    const { root } = other.secrets;
    await furnish(writer(other.secrets), async (path) => (await root.read(path).expect(200)).body, 'scheduler');
    for (const type of ['github', 'aws']) await root.write(`sys/auth/${type}`, { type }).expect(204);
    await root.write('auth/github/config', { organization: 'acme', organization_id: 7, token_ttl: '1h' }).expect(204);
    await root.write('auth/github/map/teams/crew', { value: 'reader,writer' }).expect(204);
    await root.write('auth/github/map/users/ada', { value: 'reader' }).expect(204);
    await root
      .write('auth/aws/config/client', { access_key: 'AKIDEXAMPLE', secret_key: confidential, sts_region: 'eu-west-1' })
      .expect(204);
    await root.write('auth/aws/config/identity', { iam_alias: 'unique_id' }).expect(204);
    const machine = {
      auth_type: 'iam',
      bound_iam_principal_arn: 'arn:aws:iam::123456789012:role/web',
      resolve_aws_unique_ids: false,
      token_policies: 'reader',
    };
    await root.write('auth/aws/role/web', machine).expect(204);
    await root.write('old/exact', exact).expect(204);
    await root.write('kv/data/exact', `{"data":${exact}}`).expect(200);
  });
  beforeEach(() => {
    other.asked.length = 0;
    other.state.mood = () => false;
  });

  it('can be a dry run: it writes nothing here, and reads no value there', async () => {
    const { code, printed, said } = await run('-dry-run');
    expect([code, said.includes(confidential)]).toEqual([0, false]);
    const { created, plan } = JSON.parse(printed);
    expect(plan).toBe(true);
    expect(created).toMatchObject({ 'secrets engine': 3, secret: 9, version: 11, entity: 1, group: 3, namespace: 1 });
    expect(other.asked.filter((line) => /kv\/data|GET \/v1\/old\/[^/]+$/.test(line))).toEqual([]);
    expect((await here.root.read('sys/mounts').expect(200)).body.data['kv/']).toBeUndefined();
  });

  it('stops if the other server becomes unavailable, and reports how far it got', async () => {
    const gone: Mood = (response, path) => {
      if (!path.includes('/kv/data/many')) return false;
      response.writeHead(503, { 'retry-after': '0.01' }).end('{"errors":["Vault is sealed"]}');
      return true;
    };
    other.state.mood = gone;
    interrupted = await run();
    const { code, printed, said } = interrupted;
    expect([code, said]).toEqual([2, expect.stringContaining('Vault is sealed')]);
    expect(JSON.parse(printed).created).toMatchObject({ 'auth method': 8 });
  });

  it('continues where it stopped, waits after limits and faults, and copies everything', async () => {
    const limited: Mood = (response) => {
      response.writeHead(429, { 'retry-after': '0.01' }).end('{"errors":["rate limit"]}');
      return true;
    };
    const broken: Mood = (response) => {
      response.destroy();
      return true;
    };
    other.state.moods.push(limited, () => false, broken, limited);
    const ran = await run();
    expect([ran.code, JSON.parse(ran.printed).failed]).toEqual([0, []]);
    const team = here.as(here.rootToken, { 'X-Service-Namespace': 'team' });
    await expectAllHere(here.root, team);
    for (const path of ['old/exact', 'kv/data/exact']) {
      expect((await here.root.read(path).expect(200)).text).toContain(exact);
    }
    const read = async (path: string) => (await here.root.read(path).expect(200)).body.data;
    expect(await read('auth/github/config')).toMatchObject({
      organization: 'acme',
      organization_id: 7,
      token_ttl: 3600,
    });
    expect((await read('auth/github/map/teams/crew')).value).toBe('reader,writer');
    expect((await read('auth/github/map/users/ada')).value).toBe('reader');
    expect(await read('auth/aws/config/client')).toMatchObject({ access_key: '', sts_region: 'eu-west-1' });
    expect(await read('auth/aws/config/identity')).toMatchObject({ iam_alias: 'unique_id' });
    expect(await read('auth/aws/role/web')).toMatchObject({
      bound_iam_principal_arn: ['arn:aws:iam::123456789012:role/web'],
      resolve_aws_unique_ids: false,
      token_policies: ['reader'],
    });
    expect([interrupted, ran].map(({ printed }) => printed).join()).toContain(
      'auth/aws/config/client: secret_key of access_key is not shown',
    );
    expectNamed([interrupted, ran], 'scheduler');
    expect(ran.printed + ran.said).not.toContain(confidential);
  });

  it('names skipped content each time, and copies nothing twice', async () => {
    const ran = await run();
    expect([ran.code, JSON.parse(ran.printed).created]).toEqual([0, {}]);
    expect(JSON.parse(ran.printed).present).toMatchObject({ secret: 9, version: 11, entity: 1, 'entity alias': 1 });
  });

  it('copies new versions and deletion marks, and does not change secrets written here', async () => {
    await other.secrets.root.write('kv/data/many', { data: { n: 9 } }).expect(200);
    await other.secrets.root.write('kv/destroy/many', { versions: [6] }).expect(204);
    await here.root.write('kv/data/app', { data: { mine: true } }).expect(200);
    await here.root.write('old/plain', { password: 'of here' }).expect(204);
    const { code, printed } = await run();
    const { created, left } = JSON.parse(printed);
    expect([code, created]).toEqual([0, { version: 1 }]);
    expect(left).toEqual(
      expect.arrayContaining([
        'kv/app: has more versions here, which stay',
        'old/plain: has another value here, which stays',
      ]),
    );
    const many = (await here.root.read('kv/metadata/many').expect(200)).body.data;
    expect([many.current_version, many.versions[6].destroyed, many.max_versions]).toEqual([9, true, 0]);
    expect((await here.root.read('old/plain').expect(200)).body.data).toEqual({ password: 'of here' });
  });

  it('names items that it cannot copy, and continues', async () => {
    const { root } = other.secrets;
    for (let n = 0; n < 3; n += 1) await root.write('kv/data/rotated', { data: { n } }).expect(200);
    await root.write('kv/metadata/rotated', { max_versions: 1 }).expect(204);
    await root.write('kv/data/rotated', { data: { n: 4 } }).expect(200);
    const short = await run('-longest-gap=2');
    expect([short.code, JSON.parse(short.printed).failed]).toEqual([
      2,
      ['kv/rotated: begins with version 4: -longest-gap=3 skips the numbers before it'],
    ]);
    const { code } = await run();
    const { current_version, versions } = (await here.root.read('kv/metadata/rotated').expect(200)).body.data;
    expect([code, current_version, Object.keys(versions)]).toEqual([0, 4, ['4']]);
  });

  it('follows no name that points outside its folder', async () => {
    other.state.mood = (response, path) => {
      const isList = path === '/v1/old/';
      const keys = ['../sys/policies/acl/evil', '..', './plain'];
      if (isList) response.end(JSON.stringify({ data: { keys } }));
      else if (path.endsWith('/evil'))
        response.end('{"data":{"policy":"path \\"*\\" { capabilities = [\\"sudo\\"] }"}}');
      return isList || path.endsWith('/evil');
    };
    const { code, printed } = await run();
    expect([code, JSON.parse(printed).failed]).toEqual([
      2,
      Array(3).fill(expect.stringContaining('a name that leads elsewhere is not followed')),
    ]);
    await here.root.read('sys/policies/acl/evil').expect(404);
  });

  it('does nothing twice if two imports run at the same time', async () => {
    for (let n = 0; n < 6; n += 1) await other.secrets.root.write(`kv/data/both/${n}`, { data: { n } }).expect(200);
    const both = await Promise.all([run(), run()]);
    // One of the two imports may find the version number taken, and then reports it.
    expect(both.every(({ code }) => code === 0 || code === 2)).toBe(true);
    for (let n = 0; n < 6; n += 1) {
      const { data } = (await here.root.read(`kv/metadata/both/${n}`).expect(200)).body;
      expect(data.current_version).toBe(1);
    }
    expect(JSON.parse((await run()).printed).created).toEqual({});
  });

  it.each([
    [
      'redirects to another server',
      307,
      { location: 'https://active.example.com/v1/x' },
      '',
      'https://active.example.com',
    ],
    ['serves a web page', 200, {}, '<html>', 'not JSON'],
    ['does not know the token', 403, {}, '{"errors":["permission denied"]}', 'does not know the token'],
  ])('ends at once if the other server %s', async (_, status, headers, text, said) => {
    other.state.mood = (response) => {
      response.writeHead(status, headers).end(text);
      return true;
    };
    const ran = await run();
    expect([ran.code, ran.said]).toEqual([2, expect.stringContaining(said)]);
    expect(other.asked).toHaveLength(1);
  });
});

describe('an import of engines', () => {
  const other = otherServer();
  const here = startSecrets();
  const run = importer(other, here);

  it('copies keys of transit with their versions, and the settings of engines, once', async () => {
    const engines = await furnishEngines(writer(other.secrets));
    const dry = await run('-dry-run');
    expect(JSON.parse(dry.printed).created).toMatchObject({
      key: 1,
      issuer: 1,
      certificate: 2,
      connection: 1,
      role: 4,
    });
    expect(other.asked.filter((line) => line.includes('/backup/'))).toEqual([]);
    const ran = await run();
    expect([ran.code, JSON.parse(ran.printed).failed]).toEqual([0, []]);
    await expectEnginesHere(here.root, engines);
    expect(JSON.parse(ran.printed).left).toEqual(expect.arrayContaining([...ofEngines]));
    expect(ran.printed + ran.said).not.toContain(confidential);
    expect(JSON.parse((await run()).printed).created).toEqual({});
  });
});
