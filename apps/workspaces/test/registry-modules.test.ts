import { createHash, createPublicKey, randomBytes, verify } from 'node:crypto';
import { gzipSync } from 'node:zlib';
import { beforeAll, describe, expect, it } from '@jest/globals';
import type request from 'supertest';
import { archiveOf, configured, fetchUrl, putUrl, startRun } from './configurations';
import { fakeWorker } from './fake-worker';
import { member, organizationToken, team } from './members';
import { type Client, resource, startWorkspaces } from './start-workspaces';

const files = [
  ['README.md', '# Quay <script>'],
  [
    'main.tf',
    `variable "size" {
  type        = list(object({ x = string, y = optional(number, 3) }))
  description = "How many \${var.x}"
  default     = [1, "2"]
}
variable "name" {}
output "id" {
  value       = crane_load.one[0].id
  description = "the id"
}
terraform {
  required_providers {
    crane = {
      source  = "acme/crane"
      version = "~> 1.0"
    }
  }
}
resource "crane_load" "one" {}
module "sub" {
  source  = "./modules/sub"
}`,
  ],
  ['more.tf.json', '{"output":{"more":{"value":"x"}}}'],
  ['modules/sub/main.tf', 'variable "inner" { default = null }'],
  ['modules/sub/deep/main.tf', 'not read at all {{{'],
  ['examples/plain/README.md', 'plain'],
] as const;

const asText = (response: request.Response, done: (error: Error | null, text: string) => void) => {
  response.text = '';
  response.on('data', (piece: Buffer) => (response.text += piece));
  response.on('end', () => done(null, response.text));
};

describe('modules of the registry', () => {
  const workspaces = startWorkspaces({ env: { WORKSPACES_CONFIGURATION_LIMIT_MIB: '1' } });
  const { admin } = workspaces;
  const worker = fakeWorker(workspaces);
  const under = 'organizations/acme/registry-modules';
  const protocol = '/api/registry/v1/modules';

  beforeAll(async () => {
    await workspaces.organization('acme');
    await workspaces.organization('other');
  });

  const create = async (name: string, by: Client = admin, organization = 'acme') => {
    const body = resource('registry-modules', { name, provider: 'crane', 'registry-name': 'private' });
    return (await by.post(`organizations/${organization}/registry-modules`, body).expect(201)).body.data;
  };
  const announce = (name: string, version: string, organization = 'acme', by: Client = admin) =>
    by.post(
      `registry-modules/${organization}/${name}/crane/versions`,
      resource('registry-module-versions', { version }),
    );
  const publish = async (name: string, version: string, archive?: Buffer, organization = 'acme') => {
    const { body } = await announce(name, version, organization).expect(201);
    await putUrl(workspaces, body.data.links.upload, archive ?? (await archiveOf())).expect(200);
    return body.data;
  };
  const locate = async (by: Client, address: string) =>
    (await by.get(`${protocol}/${address}/download`)).headers['x-terraform-get'];

  it('have tags, which updates replace, and which are deleted with them', async () => {
    const { id } = await create('tagged');
    const at = `${under}/private/acme/tagged/crane`;
    const tags = (all: Record<string, string>) => {
      const data = Object.entries(all).map(([key, value]) => ({ type: 'tag-bindings', attributes: { key, value } }));
      return admin.patch(at, resource('registry-modules', {}, { 'tag-bindings': { data } }));
    };
    const shown = async (by: Client = admin) =>
      (await by.get(`registry-modules/${id}/tag-bindings`).expect(200)).body.data.map(
        (one: { attributes: { key: string; value: string } }) => [one.attributes.key, one.attributes.value],
      );
    await tags({ env: 'prod', team: '' }).expect(200);
    expect(await shown(await member(workspaces, 'acme'))).toEqual([
      ['env', 'prod'],
      ['team', ''],
    ]);
    await tags({ env: 'test' }).expect(200);
    expect(await shown()).toEqual([['env', 'test']]);
    await admin.patch(at, resource('registry-modules', { 'no-code': true })).expect(200);
    expect(await shown()).toEqual([['env', 'test']]);
    await tags(Object.fromEntries(Array.from({ length: 11 }, (_, n) => [`k${n}`, 'v']))).expect(422);
    await tags({ 'hcp:x': 'v' }).expect(422);
    await (await member(workspaces, 'other')).get(`registry-modules/${id}/tag-bindings`).expect(404);
    await tags({}).expect(200);
    expect(await shown()).toEqual([]);
    await tags({ env: 'prod' }).expect(200);
    await admin.delete(at).expect(204);
    expect(await workspaces.service.db.prisma.tagBinding.count({ where: { moduleId: id } })).toBe(0);
  });

  it('that come from the public registry can be offered and tagged, but neither tested nor published from a repository', async () => {
    const names = { name: 'vault', provider: 'aws', 'registry-name': 'public', namespace: 'hashicorp' };
    await admin.post(under, resource('registry-modules', names)).expect(201);
    const change = (attributes: object) =>
      admin.patch(`${under}/public/hashicorp/vault/aws`, resource('registry-modules', attributes));
    expect((await change({ 'no-code': true }).expect(200)).body.data.attributes['no-code']).toBe(true);
    await change({ 'test-config': { 'tests-enabled': true } }).expect(422);
    await change({ 'vcs-repo': { branch: 'main' } }).expect(422);
  });

  it('are created, published by upload, described, and fetched by the protocol of the tools (WV.31)', async () => {
    const made = await create('quay');
    expect(made).toMatchObject({
      id: expect.stringMatching(/^mod-/),
      type: 'registry-modules',
      attributes: {
        name: 'quay',
        provider: 'crane',
        namespace: 'acme',
        'registry-name': 'private',
        status: 'pending',
        'version-statuses': [],
        'no-code': false,
        permissions: { 'can-delete': true, 'can-resync': true, 'can-retry': true },
      },
      relationships: { organization: { data: { type: 'organizations', id: 'acme' } } },
    });
    const archive = await archiveOf(files);
    const version = await publish('quay', '1.2.3', archive);
    expect(version).toMatchObject({
      attributes: { version: '1.2.3', status: 'pending' },
      relationships: { 'registry-module': { data: { id: made.id } } },
    });
    const shown = await admin.get(`registry-modules/${made.id}`).expect(200);
    expect(shown.body.data.attributes).toMatchObject({
      status: 'setup_complete',
      'version-statuses': [{ version: '1.2.3', status: 'ok' }],
    });
    const { body: discovered } = await admin.get('/.well-known/terraform.json').expect(200);
    expect(discovered['modules.v1']).toBe(`${protocol}/`);
    const { body: versions } = await admin.get(`${protocol}/acme/quay/crane/versions`).expect(200);
    expect(versions).toEqual({ modules: [{ source: 'acme/quay/crane', versions: [{ version: '1.2.3' }] }] });
    const link = await locate(admin, 'acme/quay/crane/1.2.3');
    expect(link).toMatch(/^https:\/\/workspaces\.test\/.*\/module\.tar\.gz\?/);
    expect((await fetchUrl(workspaces, link!).expect(200)).body.equals(archive)).toBe(true);
    const { body: docs } = await admin.get(`${protocol}/acme/quay/crane/1.2.3`).expect(200);
    expect(docs).toMatchObject({
      id: 'acme/quay/crane/1.2.3',
      versions: ['1.2.3'],
      root: {
        name: 'quay',
        readme: '# Quay <script>',
        empty: false,
        inputs: [
          { name: 'name', type: '', description: '', default: '', required: true },
          {
            name: 'size',
            type: 'list(object({ x = string, y = optional(number, 3) }))',
            description: `How many \${var.x}`,
            default: '[1,"2"]',
            required: false,
          },
        ],
        outputs: [
          { name: 'id', description: 'the id' },
          { name: 'more', description: '' },
        ],
        provider_dependencies: [{ name: 'crane', namespace: 'acme', source: 'acme/crane', version: '~> 1.0' }],
        resources: [{ name: 'one', type: 'crane_load' }],
        dependencies: [{ name: 'sub', source: './modules/sub', version: '' }],
      },
      submodules: [{ path: 'modules/sub', name: 'sub', inputs: [{ name: 'inner', default: 'null', required: false }] }],
      examples: [{ path: 'examples/plain', readme: 'plain' }],
    });
  });

  it('never change a version once it was downloaded', async () => {
    await create('once');
    const first = await archiveOf();
    const { body } = await announce('once', '1.0.0').expect(201);
    const { upload } = body.data.links;
    await putUrl(workspaces, upload, first).expect(200);
    // A client that got no answer sends the same again.
    await putUrl(workspaces, upload, first).expect(200);
    const second = await archiveOf([['main.tf', 'output "second" { value = 2 }']]);
    await putUrl(workspaces, upload, second).expect(200);
    await fetchUrl(workspaces, (await locate(admin, 'acme/once/crane/1.0.0'))!).expect(200);
    await putUrl(workspaces, upload, second).expect(200);
    await putUrl(workspaces, upload, first).expect(409);
    const bytes = await fetchUrl(workspaces, (await locate(admin, 'acme/once/crane/1.0.0'))!).expect(200);
    expect(bytes.body.equals(second)).toBe(true);
    const shown = await admin.get(`${under}/private/acme/once/crane/version?module_version=1.0.0`).expect(200);
    expect(shown.body.data.links?.upload).toBeUndefined();
  });

  it.each([
    ['no archive', Buffer.from('no archive')],
    ['a decompression bomb', gzipSync(Buffer.alloc(8 * 1024 * 1024))],
    ['a path that leads outside', archiveOf([['../main.tf', 'x = 1']])],
    ['an absolute path', archiveOf([['/etc/main.tf', 'x = 1']])],
    ['a link that leads outside', archiveOf([[{ name: 'l', type: 'symlink', linkname: '../../etc/passwd' }, '']])],
    ['a device', archiveOf([[{ name: 'd', type: 'character-device' }, '']])],
    ['a string that is not a configuration', archiveOf([['main.tf', 'resource "x" {{']])],
    ['invalid JSON', archiveOf([['main.tf.json', '{']])],
    ['an expression that is nested too deeply', archiveOf([['main.tf', `x = ${'['.repeat(100_000)}`]])],
    ['no configuration in the root', archiveOf([['modules/a/main.tf', 'variable "x" {}']])],
  ])('refuse %s with the reason, and can be uploaded again', async (what, archive) => {
    const name = what.replace(/\W+/g, '-');
    await create(name);
    const { body } = await announce(name, '1.0.0').expect(201);
    const answer = await putUrl(workspaces, body.data.links.upload, await archive).expect(422);
    const [{ detail }] = answer.body.errors;
    const { body: shown } = await admin.get(`${under}/private/acme/${name}/crane`).expect(200);
    expect(shown.data.attributes['version-statuses']).toEqual([
      { version: '1.0.0', status: 'reg_ingress_failed', error: detail },
    ]);
    await admin.get(`${protocol}/acme/${name}/crane/1.0.0/download`).expect(404);
    const { body: none } = await admin.get(`${protocol}/acme/${name}/crane/versions`).expect(200);
    expect(none.modules[0].versions).toEqual([]);
    await putUrl(workspaces, body.data.links.upload, await archiveOf()).expect(200);
    await admin.get(`${protocol}/acme/${name}/crane/1.0.0/download`).expect(204);
  });

  it('refuse an archive that is too large', async () => {
    await create('large');
    const { body } = await announce('large', '1.0.0').expect(201);
    const large = await archiveOf([['data.txt', randomBytes(1024 * 1024).toString('base64')]]);
    await putUrl(workspaces, body.data.links.upload, large).expect(413);
  });

  it('treat spellings of a name or version as equal, even in simultaneous requests', async () => {
    const body = (name: string) => resource('registry-modules', { name, provider: 'crane' });
    const both = await Promise.all(['Twin', 'tWIN'].map((name) => admin.post(under, body(name))));
    expect(both.map(({ status }) => status).sort()).toEqual([201, 422]);
    const refused = both.find(({ status }) => status === 422)!;
    expect(refused.body.errors[0]).toMatchObject({ detail: 'Name has already been taken' });
    const versions = await Promise.all(['1.0.0-RC1', '1.0.0-rc1'].map((version) => announce('twin', version)));
    expect(versions.map(({ status }) => status).sort()).toEqual([201, 422]);
    expect(versions.find(({ status }) => status === 422)!.body.errors[0].source.pointer).toBe(
      '/data/attributes/version',
    );
  });

  it.each([
    ['name', { name: 'ünicode' }],
    ['name', { name: '../up' }],
    ['provider', { provider: 'Upper' }],
    ['namespace', { namespace: 'other' }],
    ['namespace', { 'registry-name': 'public' }],
    ['registry-name', { 'registry-name': 'PRIVATE' }],
  ])('refuse a wrong %s by name', async (attribute, given) => {
    const body = resource('registry-modules', { name: 'wrong', provider: 'crane', ...given });
    const { body: answer } = await admin.post(under, body).expect(422);
    expect(answer.errors[0].source.pointer).toBe(`/data/attributes/${attribute}`);
  });

  it('refuse invalid versions', async () => {
    await create('numbers');
    for (const version of ['1', 'v1.0.0', '1.0', 'latest', '1.0.0 ', '01.0.0']) {
      await announce('numbers', version).expect(422);
    }
    for (const version of ['1.2.3-alpha+feature', '10.0.0']) await announce('numbers', version).expect(201);
  });

  it('report whether a name is free and valid', async () => {
    await create('taken');
    const isFree = async (query: string) =>
      (await admin.get(`${under}/validation?${query}`).expect(200)).body.data.attributes;
    expect(await isFree('name=free&provider=crane')).toEqual({
      'module-name': 'free',
      'provider-name': 'crane',
      valid: true,
    });
    for (const query of ['name=TAKEN&provider=crane', 'name=a%20b&provider=crane', 'name=free&provider=CRANE', '']) {
      expect((await isFree(query)).valid).toBe(false);
    }
    await (await workspaces.person('stranger-to-names')).get(`${under}/validation?name=a&provider=b`).expect(404);
  });

  it('are listed, searched and deleted, by version, provider or name, with their bytes', async () => {
    const blobs = () => workspaces.service.db.prisma.blob.count();
    const before = await blobs();
    await create('gone');
    for (const version of ['1.0.0', '1.1.0']) await publish('gone', version);
    const names = async (query: string) =>
      (await admin.get(`${under}?${query}`).expect(200)).body.data.map(
        ({ attributes: { name } }: { attributes: { name: string } }) => name,
      );
    await expect(names('q=GON&filter[provider]=crane&filter[registry_name]=private')).resolves.toEqual(['gone']);
    await expect(names('q=%25')).resolves.toEqual([]);
    await expect(names('filter[organization_name]=other')).resolves.toEqual([]);
    await admin.delete(`${under}/private/acme/gone/crane/1.1.0`).expect(204);
    await admin.get(`${protocol}/acme/gone/crane/1.1.0/download`).expect(404);
    await admin.delete(`${under}/private/acme/gone/crane/1.1.0`).expect(404);
    await admin.post('registry-modules/actions/delete/acme/gone/crane').expect(204);
    await admin.get(`${under}/private/acme/gone/crane`).expect(404);
    await create('gone');
    await admin.delete(`${under}/private/acme/gone`).expect(204);
    await expect(blobs()).resolves.toBe(before);
  });

  it('are managed by teams with the right, and read only by members', async () => {
    await create('rights');
    await publish('rights', '1.0.0');
    const managing = await team(workspaces, 'acme', 'publishers', ['manage-modules']);
    const publisher = await member(workspaces, 'acme', [managing]);
    const plain = await member(workspaces, 'acme');
    const stranger = await workspaces.person('stan');
    await announce('rights', '2.0.0', 'acme', publisher).expect(201);
    await announce('rights', '3.0.0', 'acme', plain).expect(404);
    await announce('rights', '3.0.0', 'acme', stranger).expect(404);
    const body = resource('registry-modules', { name: 'mine', provider: 'crane' });
    await publisher.post(under, body).expect(201);
    await plain.post(under, body).expect(404);
    const curated = resource('registry-modules', {
      name: 'vpc',
      provider: 'aws',
      namespace: 'x',
      'registry-name': 'public',
    });
    await publisher.post(under, curated).expect(404);
    await admin.post(under, curated).expect(201);
    await plain.delete(`${under}/private/acme/rights`).expect(404);
    await plain.get(`${protocol}/acme/rights/crane/versions`).expect(200);
    await (await organizationToken(workspaces, 'acme')).get(`${protocol}/acme/rights/crane/versions`).expect(200);
    await (await organizationToken(workspaces, 'other')).get(`${protocol}/acme/rights/crane/versions`).expect(404);
    await stranger.get(`${protocol}/acme/rights/crane/versions`).expect(404);
    await stranger.get(`${protocol}/acme/rights/crane/1.0.0/download`).expect(404);
    await workspaces.as('').get(`${protocol}/acme/rights/crane/versions`).expect(401);
    // A link has exactly the rights of its holder.
    const link = (await locate(plain, 'acme/rights/crane/1.0.0'))!;
    await fetchUrl(workspaces, link).expect(200);
    await admin.delete(`organization-memberships/${plain.membershipId}`).expect(204);
    await fetchUrl(workspaces, link).expect(404);
  });

  it('have a signed statement about who published which archive, for everyone who may read them', async () => {
    await create('signed');
    const publishing = await team(workspaces, 'acme', 'signers', ['manage-modules']);
    const publisher = await member(workspaces, 'acme', [publishing]);
    const commit = 'ab'.repeat(20);
    const body = resource('registry-module-versions', { version: '1.0.0', 'commit-sha': commit });
    const made = await publisher.post('registry-modules/acme/signed/crane/versions', body).expect(201);
    const at = `${protocol}/acme/signed/crane/1.0.0/provenance`;
    await admin.get(at).expect(404);
    const archive = await archiveOf();
    await putUrl(workspaces, made.body.data.links.upload, archive).expect(200);
    const reader = await member(workspaces, 'acme');
    const { headers, text } = await reader.get(at).buffer(true).parse(asText).expect(200);
    expect(headers['content-type']).toBe('application/vnd.dsse.envelope+json');
    const { payloadType, payload, signatures } = JSON.parse(text ?? '');
    const said = Buffer.from(payload, 'base64');
    const signed = Buffer.concat([Buffer.from(`DSSEv1 ${payloadType.length} ${payloadType} ${said.length} `), said]);
    const { body: set } = await workspaces.anyone.get('/api/registry/v1/provenance-keys').expect(200);
    const [{ keyid, sig }] = signatures;
    const key = set.keys.find(({ kid }: { kid: string }) => kid === keyid);
    const isGood = (bytes: Buffer) =>
      verify(null, bytes, createPublicKey({ key, format: 'jwk' }), Buffer.from(sig, 'base64'));
    expect([isGood(signed), isGood(Buffer.concat([signed, Buffer.from(' ')]))]).toEqual([true, false]);
    expect(key.d).toBeUndefined();
    expect(JSON.parse(said.toString())).toMatchObject({
      subject: [
        {
          name: 'workspaces.test/acme/signed/crane@1.0.0',
          digest: { sha256: createHash('sha256').update(archive).digest('hex') },
        },
      ],
      predicate: {
        buildDefinition: {
          buildType: 'urn:keystead:module-version:upload',
          externalParameters: {
            publisher: { type: 'users', id: publisher.id, name: publisher.username },
            claimedCommit: commit,
          },
          resolvedDependencies: [],
        },
        runDetails: { builder: { id: 'https://workspaces.test' } },
      },
    });
    await (await workspaces.person('outside')).get(at).expect(404);
    // Before anyone downloads it, another archive replaces the first, with another statement.
    await putUrl(
      workspaces,
      made.body.data.links.upload,
      await archiveOf([['main.tf', 'output "y" { value = 2 }']]),
    ).expect(200);
    expect((await reader.get(at).buffer(true).parse(asText)).text).not.toBe(text);
  });

  it('are read by a run while it is running, and only those of its organization', async () => {
    await create('for-runs');
    await publish('for-runs', '1.0.0');
    await create('foreign', admin, 'other');
    await publish('foreign', '1.0.0', undefined, 'other');
    const { id } = await workspaces.workspace('acme', 'reader');
    await configured(workspaces, id);
    await startRun(admin, id).expect(201);
    const job = await worker.take('plan');
    const { registry } = await worker.inputs(job);
    expect(registry?.host).toBe('workspaces.test');
    const run = workspaces.as(registry!.token);
    await run.get(`${protocol}/acme/for-runs/crane/versions`).expect(200);
    const link = (await locate(run, 'acme/for-runs/crane/1.0.0'))!;
    await fetchUrl(workspaces, link).expect(200);
    await run.get(`${protocol}/other/foreign/crane/versions`).expect(404);
    await run.get('organizations/acme').expect(404);
    await run.get(under).expect(404);
    await workspaces.as(`${registry!.token}x`).get(`${protocol}/acme/for-runs/crane/versions`).expect(401);
    await worker.endPlan(job, { outcome: 'errored', errorMessage: 'over' });
    await run.get(`${protocol}/acme/for-runs/crane/versions`).expect(401);
    await fetchUrl(workspaces, link).expect(404);
  });

  it('are read from storage once if they are small; their rights are checked at every download', async () => {
    await create('kept');
    const links: string[] = [];
    for (const [patch, size] of [1000, 300_000].entries()) {
      const archive = await archiveOf([...files, ['picture', randomBytes(size).toString('hex')]]);
      await publish('kept', `1.0.${patch}`, archive);
      const link = (await locate(admin, `acme/kept/crane/1.0.${patch}`))!;
      links.push(link);
      const found = await Promise.all([0, 1].map(() => fetchUrl(workspaces, link).expect(200)));
      for (const { body } of found) expect(archive.equals(body)).toBe(true);
    }
    await workspaces.service.pool.query(
      `DELETE FROM blob_chunk WHERE blob_id IN (
         SELECT v.blob_id FROM registry_module_version v JOIN registry_module m ON m.id = v.module_id WHERE m.name = 'kept')`,
    );
    for (const link of links) await fetchUrl(workspaces, link).expect(200);
    await admin.delete(`${under}/private/acme/kept/crane/1.0.0`).expect(204);
    await fetchUrl(workspaces, links[0]!).expect(404);
  });

  it('show the workspaces that use them, and those whose constraints would not accept a version', async () => {
    await create('used');
    const { id: moduleId } = (await admin.get(`${under}/private/acme/used/crane`).expect(200)).body.data;
    const source = 'workspaces.test/acme/used/crane';
    const used = async (query = '', status = 200) => {
      const { body } = await admin.get(`registry-modules/${moduleId}/usages?${query}`).expect(status);
      return body.data?.map((one: { attributes: object; relationships: { workspace: { data: { id: string } } } }) => ({
        ...one.attributes,
        workspace: one.relationships.workspace.data.id,
      }));
    };
    const ids: string[] = [];
    for (const [name, constraint] of [
      ['pinned', '1.0.0'],
      ['open', '>= 1.0'],
    ] as const) {
      const { id } = await workspaces.workspace('acme', `user-${name}`);
      ids.push(id);
      await configured(workspaces, id);
      await startRun(admin, id).expect(201);
      await worker.plan({
        hasChanges: false,
        requirements: [
          { kind: 'module', source: source.toUpperCase(), version: '1.0.0', constraint },
          { kind: 'module', source: 'elsewhere.test/acme/used/crane', version: '9.0.0', constraint: '9.0.0' },
          { kind: 'provider', source, version: '9.0.0', constraint: '9.0.0' },
        ],
      });
    }
    const [pinned = '', open = ''] = ids;
    const at = { source, version: '1.0.0', 'used-at': expect.any(String) };
    const both = [
      { ...at, constraint: '1.0.0', workspace: pinned },
      { ...at, constraint: '>= 1.0', workspace: open },
    ];
    const inOrder = [...both].sort((one, other) => (one.workspace < other.workspace ? -1 : 1));
    await expect(used()).resolves.toEqual(inOrder);
    await expect(used('filter[version]=1.1.0')).resolves.toEqual([]);
    await expect(used('filter[breaks-with]=1.0.0')).resolves.toEqual([]);
    await expect(used('filter[breaks-with]=2.0.0')).resolves.toEqual([both[0]]);
    await expect(used('filter[breaks-with]=2.0.0-rc1')).resolves.toEqual(inOrder);
    await used('filter[breaks-with]=newest', 400);
    await (await member(workspaces, 'acme')).get(`registry-modules/${moduleId}/usages`).expect(404);
    // The next plan installs another version; a run that only plans, or fails, changes nothing.
    const requirements = [{ kind: 'module', source, version: '1.1.0', constraint: '' }] as const;
    for (const [attributes, result, versions] of [
      [{ 'plan-only': true }, { requirements }, ['1.0.0']],
      [{}, { outcome: 'errored', requirements }, ['1.0.0']],
      [{}, {}, ['1.0.0']],
      [{}, { requirements }, ['1.1.0']],
      [{}, { requirements: [] }, []],
    ] as const) {
      await startRun(admin, pinned, attributes).expect(201);
      await worker.plan({ hasChanges: false, ...result });
      const found = (await used()).filter(({ workspace }: { workspace: string }) => workspace === pinned);
      expect(found.map(({ version }: { version: string }) => version)).toEqual(versions);
    }
    const tried = { source, version: '2.0.0' };
    const { body } = await startRun(admin, open, { 'plan-only': true, 'module-versions': [tried] }).expect(201);
    expect(body.data.attributes['module-versions']).toEqual([tried]);
    expect(await worker.claim()).toMatchObject({ runId: body.data.id, moduleVersions: [tried] });
    await admin.delete(`workspaces/${open}`).expect(204);
    await expect(used()).resolves.toEqual([]);
  });

  it('are shared with the organizations that consume them, for their members and runs', async () => {
    await create('shared');
    await publish('shared', '1.0.0');
    const reader = await organizationToken(workspaces, 'other');
    await reader.get(`${protocol}/acme/shared/crane/versions`).expect(404);
    await workspaces.service.pool.query(
      `INSERT INTO module_consumer (producer_id, consumer_id)
       SELECT p.id, c.id FROM organization p, organization c WHERE p.name = 'acme' AND c.name = 'other'`,
    );
    await reader.get(`${protocol}/acme/shared/crane/versions`).expect(200);
    await fetchUrl(workspaces, (await locate(reader, 'acme/shared/crane/1.0.0'))!).expect(200);
    await announce('shared', '2.0.0', 'acme', reader).expect(404);
    await workspaces.service.pool.query('DELETE FROM module_consumer');
    await reader.get(`${protocol}/acme/shared/crane/versions`).expect(404);
  });
});
