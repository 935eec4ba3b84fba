import { createHash } from 'node:crypto';
import { beforeAll, describe, expect, it } from '@jest/globals';
import request from 'supertest';
import type { Endpoint, HttpMethod } from '../src/kernel/endpoints/endpoint';
import { resources } from '../src/resources/registry';
import { announced, archiveOf, configured, startRun } from './configurations';
import { fakeWorker } from './fake-worker';
import { grant, team, teamToken } from './members';
import { stateOf } from './run-fixture';
import { addKey, providerZip, publishProvider, signatureOf, signingKey, sumOf, sumsOf } from './signed-provider';
import { type Client, ref, resource, startWorkspaces } from './start-workspaces';

interface Link {
  readonly endpoint: Endpoint;
  /** The URL of the link, below the host. */
  readonly url: URL;
  readonly body: Buffer;
}

const methods: readonly HttpMethod[] = ['GET', 'PUT', 'POST', 'PATCH', 'DELETE'];
/** Other spellings of a number that some reader may accept. */
const spellings = (expires: string): string[] => [
  ...[
    ` ${expires}`,
    `${expires} `,
    `${expires}.0`,
    `${expires}e0`,
    `0${expires}`,
    `+${expires}`,
    `0x${Number(expires).toString(16)}`,
  ],
  ...[`${expires},${expires}`, `${Number(expires) + 3600}`, '9999999999', ''],
];

const md5 = (bytes: Buffer) => createHash('md5').update(bytes).digest('hex');

describe('links that hold their own secret', () => {
  const workspaces = startWorkspaces();
  const { admin } = workspaces;
  const declared = resources.flatMap(({ endpoints }) => endpoints).filter(({ link }) => link !== undefined);
  const links: Link[] = [];
  let reader: Client;
  let workspaceId = '';

  const add = (verb: HttpMethod, text: string, body: Buffer = Buffer.alloc(0)) => {
    const url = new URL(text);
    const segments = url.pathname.replace('/api/v2', '').split('/');
    const endpoint = declared.find(({ method, path }) => {
      const parts = path.split('/');
      return (
        method === verb && parts.length === segments.length && parts.every((p, i) => p[0] === ':' || p === segments[i])
      );
    });
    if (endpoint === undefined) throw new Error(`${verb} ${url.pathname} is not an endpoint for links`);
    links.push({ endpoint, url, body });
  };
  const ask = (method: HttpMethod, url: URL, body: Buffer, token?: string) => {
    const word = method.toLowerCase() as 'get' | 'put' | 'post' | 'patch' | 'delete';
    const test = request(workspaces.server)
      [word](url.pathname + url.search)
      .buffer(true);
    if (token !== undefined) test.set('Authorization', `Bearer ${token}`);
    return method === 'GET' ? test : test.set('Content-Type', 'application/octet-stream').send(body);
  };
  const announce = async (serial: number, state: Buffer) => {
    const body = resource('state-versions', { serial, md5: md5(state) });
    return (await admin.post(`workspaces/${workspaceId}/state-versions`, body).expect(201)).body.data;
  };

  beforeAll(async () => {
    await workspaces.organization('acme');
    ({ id: workspaceId } = await workspaces.workspace('acme', 'web'));
    const readers = await team(workspaces, 'acme', 'readers');
    await grant(workspaces, readers, workspaceId, 'read');
    reader = await teamToken(workspaces, readers);

    await configured(workspaces, workspaceId);
    const worker = fakeWorker(workspaces);
    await worker.claim();
    const { body: run } = await startRun(admin, workspaceId).expect(201);
    const full = { jsonPlan: Buffer.from('{"full":1}'), redactedJsonPlan: Buffer.from('{"redacted":1}') };
    const { planId } = await worker.plan(full);
    await admin.post(`runs/${run.data.id}/actions/apply`, {}).expect(202);
    const { applyId } = await worker.apply({ outcome: 'errored', erroredState: stateOf(9) });
    for (const path of [`plans/${planId}`, `applies/${applyId}`]) {
      add('GET', (await admin.get(path).expect(200)).body.data.attributes['log-read-url']);
    }
    for (const path of [
      `plans/${planId}/json-output`,
      `plans/${planId}/json-output-redacted`,
      `plans/${planId}/json-schema`,
      `applies/${applyId}/errored-state`,
    ]) {
      add('GET', (await admin.get(path).expect(307)).headers.location!);
    }
    const form = { 'data-type': 'sentinel-mock-bundle-v0' };
    const { body: made } = await admin
      .post('plan-exports', resource('plan-exports', form, { plan: ref('plans', planId) }))
      .expect(201);
    add('GET', (await admin.get(`plan-exports/${made.data.id}/download`).expect(302)).headers.location!);

    await admin.post(`workspaces/${workspaceId}/actions/lock`, {}).expect(200);
    const first = await announce(1, stateOf(1));
    for (const name of ['hosted-state-upload-url', 'hosted-json-state-upload-url']) {
      await ask('PUT', new URL(first.attributes[name]), stateOf(1)).expect(200);
    }
    const { attributes } = (await admin.get(`state-versions/${first.id}`).expect(200)).body.data;
    add('GET', attributes['hosted-state-download-url']);
    add('GET', attributes['hosted-json-state-download-url']);
    const second = await announce(2, stateOf(2));
    add('PUT', second.attributes['hosted-state-upload-url'], stateOf(2));
    add('PUT', second.attributes['hosted-json-state-upload-url'], stateOf(2));

    const id = await configured(workspaces, workspaceId, { speculative: true });
    add('GET', (await admin.get(`configuration-versions/${id}/download`).expect(302)).headers.location!);
    await admin
      .post('organizations/acme/registry-modules', resource('registry-modules', { name: 'net', provider: 'aws' }))
      .expect(201);
    const publish = async (version: string): Promise<string> => {
      const path = 'registry-modules/acme/net/aws/versions';
      return (await admin.post(path, resource('registry-module-versions', { version })).expect(201)).body.data.links
        .upload;
    };
    await ask('PUT', new URL(await publish('1.0.0')), await archiveOf()).expect(200);
    const found = await admin.get('/api/registry/v1/modules/acme/net/aws/1.0.0/download').expect(204);
    add('GET', found.headers['x-terraform-get']!);
    add('PUT', await publish('1.1.0'), await archiveOf());

    const sets = resource('policy-sets', { name: 'set', kind: 'opa' });
    const { id: setId } = (await admin.post('organizations/acme/policy-sets', sets).expect(201)).body.data;
    const rules = await archiveOf([
      ['policies.hcl', ''],
      ['a.rego', 'package a'],
    ]);
    add('PUT', (await admin.post(`policy-sets/${setId}/versions`).expect(201)).body.data.links.upload, rules);
    const providers = 'organizations/acme/registry-providers';
    const crane = { name: 'crane', namespace: 'acme', 'registry-name': 'private' };
    await admin.post(providers, resource('registry-providers', crane)).expect(201);
    const own = await signingKey('acme');
    const key = { ...own, keyId: await addKey(admin, 'acme', own) };
    await publishProvider(workspaces, 'acme', 'crane', '1.0.0', key);
    const given = (await admin.get('/api/registry/v1/providers/acme/crane/1.0.0/download/linux/amd64').expect(200))
      .body;
    for (const name of ['download_url', 'shasums_url', 'shasums_signature_url']) add('GET', given[name]);
    const versions = `${providers}/private/acme/crane/versions`;
    const announcedProvider = async (version: string) => {
      const body = resource('registry-provider-versions', { version, 'key-id': key.keyId });
      return (await admin.post(versions, body).expect(201)).body.data.links;
    };
    const zip = providerZip('crane', '2.0.0');
    const sums = sumsOf([['crane.zip', zip]]);
    const signature = await signatureOf(sums, key);
    // Once both files are uploaded, neither can change.
    const [two, three] = [await announcedProvider('2.0.0'), await announcedProvider('3.0.0')];
    await ask('PUT', new URL(two['shasums-sig-upload']), signature).expect(200);
    add('PUT', two['shasums-upload'], Buffer.from(sums));
    await ask('PUT', new URL(three['shasums-upload']), Buffer.from(sums)).expect(200);
    add('PUT', three['shasums-sig-upload'], signature);
    const platform = { os: 'linux', arch: 'amd64', shasum: sumOf(zip), filename: 'crane.zip' };
    const { body: placed } = await admin
      .post(`${versions}/2.0.0/platforms`, resource('registry-provider-platforms', platform))
      .expect(201);
    add('PUT', placed.data.links['provider-binary-upload'], zip);

    const ofRuns = async (path: string, type: string, relationships: object) => {
      const { id: made } = (await admin.post(path, resource(type, {}, relationships)).expect(201)).body.data;
      add('GET', (await admin.get(`${path}/${made}`).expect(200)).body.data.attributes['log-read-url']);
    };
    const named = {
      workspace: ref('workspaces', workspaceId),
      'configuration-version': ref('configuration-versions', id),
    };
    await ofRuns('queries', 'queries', named);
    const tests = 'organizations/acme/tests/registry-modules/private/acme/tested/crane/test-runs';
    const tested = { name: 'tested', provider: 'crane', 'test-config': { 'tests-enabled': true } };
    await admin.post('organizations/acme/registry-modules', resource('registry-modules', tested)).expect(201);
    const { body: ofTests } = await admin.post(`${tests}/configuration-versions`).expect(201);
    await ask('PUT', new URL(ofTests.data.attributes['upload-url']), await archiveOf()).expect(200);
    await ofRuns(tests, 'test-runs', { 'configuration-version': ref('configuration-versions', ofTests.data.id) });

    const pending = await announced(admin, workspaceId, { speculative: true });
    add('PUT', pending.attributes['upload-url'], await archiveOf());
  });

  it('are all tested here', () => {
    const names = (all: readonly Endpoint[]) => [...new Set(all.map(({ method, path }) => `${method} ${path}`))].sort();
    expect(names(links.map(({ endpoint }) => endpoint))).toEqual(names(declared));
  });

  it('open one path, by one verb, in one spelling, and nothing else', async () => {
    const wrong: string[] = [];
    const refuse = async (what: string, method: HttpMethod, url: URL, body: Buffer) => {
      const { status } = await ask(method, url, body);
      if (status !== 404 && status !== 401) wrong.push(`${what}: ${method} ${url.pathname}${url.search}: ${status}`);
    };
    for (const { endpoint, url, body } of links) {
      const inPath = url.search === '';
      for (const method of methods.filter((other) => other !== endpoint.method))
        await refuse('verb', method, url, body);
      const expires = inPath ? url.pathname.split('/').at(-2)! : url.searchParams.get('expires')!;
      for (const spelling of spellings(expires)) {
        const other = new URL(url.href.replace(expires, encodeURIComponent(spelling)));
        await refuse('spelling', endpoint.method, other, body);
      }
      for (const other of links.filter((one) => one.url !== url && inPath === (one.url.search === ''))) {
        const swapped = new URL(url.href);
        if (inPath)
          swapped.pathname = [...url.pathname.split('/').slice(0, -2), ...other.url.pathname.split('/').slice(-2)].join(
            '/',
          );
        else swapped.search = other.url.search;
        await refuse('swapped', endpoint.method, swapped, body);
      }
      const cut = new URL(url.href.slice(0, -1));
      await refuse('cut', endpoint.method, cut, body);
      await refuse('padded', endpoint.method, new URL(`${url.href}=`), body);
      await refuse('trailing', endpoint.method, new URL(`${url.href}%20`), body);
    }
    expect(wrong).toEqual([]);
  });

  it('for writing are shown to the creator of the resource, and to no one else', async () => {
    const shown = async (client: Client) => {
      const { body: current } = await client.get(`workspaces/${workspaceId}/current-state-version`).expect(200);
      const filter = 'filter[organization][name]=acme&filter[workspace][name]=web';
      const { body: list } = await client.get(`state-versions?${filter}`).expect(200);
      const { body: configurations } = await client.get(`workspaces/${workspaceId}/configuration-versions`).expect(200);
      const versions = [current.data, ...list.data];
      for (const { id } of list.data) versions.push((await client.get(`state-versions/${id}`).expect(200)).body.data);
      const all = [...versions, ...configurations.data];
      expect(all.length).toBeGreaterThan(6);
      return all.flatMap(({ attributes }) =>
        Object.entries(attributes).filter(([name]) => name.includes('upload-url')),
      );
    };
    for (const client of [reader, admin]) {
      expect((await shown(client)).filter(([, url]) => url !== null)).toEqual([]);
    }
    // A client that got no answer may send the create again.
    const again = async (path: string, body: object, name: string) => {
      const send = () => admin.post(path, body).set('Idempotency-Key', name).expect(201);
      const [one, two] = [(await send()).body.data, (await send()).body.data];
      expect(two.id).toBe(one.id);
      expect(two.attributes[name]).toEqual(expect.stringContaining('signature='));
      expect(two.attributes[name]).toBe(one.attributes[name]);
    };
    const state = resource('state-versions', { serial: 7, md5: md5(stateOf(7)) });
    await again(`workspaces/${workspaceId}/state-versions`, state, 'hosted-state-upload-url');
    const configuration = resource('configuration-versions', { speculative: true });
    await again(`workspaces/${workspaceId}/configuration-versions`, configuration, 'upload-url');
  });

  it('for writing cannot be derived from those for reading, nor replaced by the token of a reader', async () => {
    for (const { endpoint, url, body } of links.filter(({ endpoint: { method } }) => method === 'PUT')) {
      const path = new URL(`${url.origin}${url.pathname}`);
      await ask('PUT', path, body, reader.token).expect(404);
      await ask('PUT', path, body, admin.token).expect(404);
      expect(endpoint.link).toBe('only');
    }
  });

  // How the holder of a link loses the right that it uses, and how they get it back.
  const losses: readonly (readonly [how: string, lose: string, restore: string])[] = [
    [
      'is suspended',
      'UPDATE user_account SET suspended_at = now() WHERE id = $1',
      'UPDATE user_account SET suspended_at = NULL WHERE id = $1',
    ],
    [
      'is no longer an active member',
      "UPDATE membership SET status = 'inactive' WHERE user_id = $1",
      "UPDATE membership SET status = 'active' WHERE user_id = $1",
    ],
    [
      'is no longer in a team with the right',
      `CREATE TABLE left_teams AS SELECT t.* FROM team_member t JOIN membership m ON m.id = t.membership_id WHERE m.user_id = $1;
       DELETE FROM team_member t USING left_teams l WHERE l.membership_id = t.membership_id`,
      'INSERT INTO team_member SELECT * FROM left_teams WHERE $1 IS NOT NULL',
    ],
    [
      'is in a suspended organization',
      "UPDATE organization SET is_disabled = true WHERE name = 'acme' AND $1 IS NOT NULL",
      "UPDATE organization SET is_disabled = false WHERE name = 'acme' AND $1 IS NOT NULL",
    ],
    [
      'lacks the second factor that the organization now requires',
      "UPDATE organization SET collaborator_auth_policy = 'two_factor_mandatory' WHERE name = 'acme' AND $1 IS NOT NULL",
      "UPDATE organization SET collaborator_auth_policy = 'password' WHERE name = 'acme' AND $1 IS NOT NULL",
    ],
  ];

  it.each(losses)(
    'open nothing, and leave a line in the audit trail, if their holder %s',
    async (how, lose, restore) => {
      const { id } = (await admin.get('account/details').expect(200)).body.data;
      const run = async (statements: string) => {
        for (const one of statements.split(';')) await workspaces.service.pool.query(one.replaceAll('$1', `'${id}'`));
      };
      const refused = () => workspaces.service.db.prisma.auditEvent.count({ where: { action: 'link.refuse' } });
      const before = await refused();
      await run(lose);
      const opened: string[] = [];
      // Every member reads modules.
      const lost = links.filter(
        ({ endpoint: { method, path } }) =>
          !(how.includes('no longer in a team') && method === 'GET' && path.startsWith('/registry-')),
      );
      for (const { endpoint, url, body } of lost) {
        const { status } = await ask(endpoint.method, url, body);
        if (status !== 404) opened.push(`${endpoint.method} ${endpoint.path}: ${status}`);
      }
      await run(restore);
      expect(opened).toEqual([]);
      expect((await refused()) - before).toBe(lost.length);
    },
  );

  it('are valid, and those for writing only once', async () => {
    for (const { endpoint, url, body } of links) {
      await ask(endpoint.method, url, body).expect(200);
      // Nothing has used these uploads, so another archive could replace them; but this body is not an archive.
      const refused = /^\/(configuration|registry-module|policy-set)-versions|^\/registry-provider-platforms/.test(
        endpoint.path,
      )
        ? 422
        : 409;
      if (endpoint.method === 'PUT') await ask('PUT', url, Buffer.concat([body, Buffer.from('\n')])).expect(refused);
    }
  });
});
