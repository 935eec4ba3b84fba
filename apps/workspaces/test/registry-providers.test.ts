import { createHash } from 'node:crypto';
import { beforeAll, describe, expect, it } from '@jest/globals';
import { zipOf } from '@keystead/testing';
import { configured, fetchUrl, putUrl, startRun } from './configurations';
import { fakeWorker } from './fake-worker';
import { member, organizationToken, team } from './members';
import {
  addKey,
  providerZip,
  publishProvider,
  type SigningKey,
  signatureOf,
  signingKey,
  sumOf,
  sumsOf,
} from './signed-provider';
import { type Client, resource, startWorkspaces } from './start-workspaces';

const protocol = '/api/registry/v1/providers';
const keys = '/api/registry/private/v2/gpg-keys';

describe('providers of the registry', () => {
  const workspaces = startWorkspaces();
  const { admin } = workspaces;
  const worker = fakeWorker(workspaces);
  let key: SigningKey & { keyId: string };
  let foreign: SigningKey & { keyId: string };

  beforeAll(async () => {
    await workspaces.organization('acme');
    await workspaces.organization('other');
    const [own, others] = await Promise.all([signingKey('acme'), signingKey('other')]);
    key = { ...own, keyId: await addKey(admin, 'acme', own) };
    foreign = { ...others, keyId: await addKey(admin, 'other', others) };
  });

  const under = (organization = 'acme') => `organizations/${organization}/registry-providers`;
  const at = (name: string) => `${under()}/private/acme/${name}`;
  const create = (name: string, attributes: object = {}, by: Client = admin, organization = 'acme') =>
    by.post(
      under(organization),
      resource('registry-providers', { name, namespace: organization, 'registry-name': 'private', ...attributes }),
    );
  const version = async (name: string, number: string, keyId = key.keyId) => {
    const body = resource('registry-provider-versions', { version: number, 'key-id': keyId, protocols: ['5.0'] });
    return (await admin.post(`${at(name)}/versions`, body).expect(201)).body.data;
  };
  const platform = (name: string, number: string, attributes: object) =>
    admin.post(
      `${at(name)}/versions/${number}/platforms`,
      resource('registry-provider-platforms', { os: 'linux', arch: 'amd64', filename: 'crane.zip', ...attributes }),
    );
  const installable = async (name: string, by: Client = admin) =>
    (await by.get(`${protocol}/acme/${name}/versions`).expect(200)).body.versions;

  it('have tags, which updates replace', async () => {
    const { id } = (await create('tagged').expect(201)).body.data;
    const tags = (by: Client, key: string) => {
      const data = [{ type: 'tag-bindings', attributes: { key, value: 'v' } }];
      return by.patch(at('tagged'), { data: { relationships: { 'tag-bindings': { data } } } });
    };
    await tags(admin, 'env').expect(200);
    await tags(admin, 'team').expect(200);
    await tags(await member(workspaces, 'acme'), 'other').expect(404);
    const { body } = await admin.get(`registry-providers/${id}/tag-bindings`).expect(200);
    expect(body.data).toMatchObject([{ type: 'tag-bindings', attributes: { key: 'team', value: 'v' } }]);
    await (await member(workspaces, 'other')).get(`registry-providers/${id}/tag-bindings`).expect(404);
  });

  it('are created, signed, uploaded for each system, and found by the protocol of the tools (WV.28)', async () => {
    const made = (await create('crane').expect(201)).body.data;
    expect(made).toMatchObject({
      attributes: {
        name: 'crane',
        namespace: 'acme',
        'registry-name': 'private',
        permissions: { 'can-delete': true },
      },
      relationships: { organization: { data: { id: 'acme' } }, 'registry-provider-versions': { data: [] } },
    });
    await publishProvider(workspaces, 'acme', 'crane', '1.2.3', key, [
      ['linux', 'amd64'],
      ['darwin', 'arm64'],
    ]);
    const { body: shown } = await admin.get(`${at('crane')}/versions/1.2.3`).expect(200);
    expect(shown.data.attributes).toMatchObject({ 'shasums-uploaded': true, 'shasums-sig-uploaded': true });
    expect(Object.keys(shown.data.links).sort()).toEqual(['shasums-download', 'shasums-sig-download']);
    const { body: discovered } = await admin.get('/.well-known/terraform.json').expect(200);
    expect(discovered['providers.v1']).toBe(`${protocol}/`);
    await expect(installable('crane')).resolves.toEqual([
      {
        version: '1.2.3',
        protocols: ['5.0'],
        platforms: [
          { os: 'darwin', arch: 'arm64' },
          { os: 'linux', arch: 'amd64' },
        ],
      },
    ]);
    const { body: found } = await admin.get(`${protocol}/acme/crane/1.2.3/download/linux/amd64`).expect(200);
    expect(found).toMatchObject({
      protocols: ['5.0'],
      os: 'linux',
      arch: 'amd64',
      filename: 'terraform-provider-crane_1.2.3_linux_amd64.zip',
      signing_keys: { gpg_public_keys: [{ key_id: key.keyId, ascii_armor: key.publicKey }] },
    });
    const archive = (await fetchUrl(workspaces, found.download_url).expect(200)).body;
    expect(sumOf(archive)).toBe(found.shasum);
    const sums = (await fetchUrl(workspaces, found.shasums_url).expect(200)).body.toString();
    expect(sums).toContain(`${found.shasum}  ${found.filename}`);
    await fetchUrl(workspaces, found.shasums_signature_url).expect(200);
    await admin.get(`${protocol}/acme/crane/1.2.3/download/windows/amd64`).expect(404);
    const included = await admin.get(`${under()}?include=registry-provider-versions&q=RAN`).expect(200);
    expect(included.body.included).toEqual([expect.objectContaining({ type: 'registry-provider-versions' })]);
  });

  it.each<[string, RegExp, (files: { sums: string; archive: Buffer }) => Promise<[string, Buffer]>]>([
    ['made by another key', /not a valid signature/, async ({ sums }) => [sums, await signatureOf(sums, foreign)]],
    ['of other checksums', /not a valid signature/, async ({ sums }) => [sums, await signatureOf(`${sums}\n`, key)]],
    ['that is invalid', /not a valid signature/, async ({ sums }) => [sums, Buffer.from('none')]],
    [
      'that is armored',
      /must not be armored/,
      async ({ sums }) => [sums, Buffer.from('-----BEGIN PGP SIGNATURE-----\n')],
    ],
    ['that is empty', /empty/, async ({ sums }) => [sums, Buffer.alloc(0)]],
  ])('refuse a signature %s, and can be signed again', async (what, reason, make) => {
    const name = what.replaceAll(' ', '-');
    await create(name).expect(201);
    const { links } = await version(name, '1.0.0');
    const archive = providerZip(name, '1.0.0');
    const [sums, signature] = await make({ sums: sumsOf([['crane.zip', archive]]), archive });
    await putUrl(workspaces, links['shasums-upload'], Buffer.from(sums)).expect(200);
    const refused = await putUrl(workspaces, links['shasums-sig-upload'], signature).expect(422);
    expect(refused.body.errors[0].detail).toMatch(reason);
    const made = await platform(name, '1.0.0', { shasum: sumOf(archive) }).expect(201);
    await putUrl(workspaces, made.body.data.links['provider-binary-upload'], archive).expect(200);
    await expect(installable(name)).resolves.toEqual([]);
    await admin.get(`${protocol}/acme/${name}/1.0.0/download/linux/amd64`).expect(404);
    await putUrl(workspaces, links['shasums-sig-upload'], await signatureOf(sums, key)).expect(200);
    await expect(installable(name)).resolves.toHaveLength(1);
    // Signed files can no longer change; sending the same files again changes nothing.
    await putUrl(workspaces, links['shasums-upload'], Buffer.from(sums)).expect(200);
    await putUrl(workspaces, links['shasums-upload'], Buffer.from(`${sums}${sums}`)).expect(409);
    await putUrl(workspaces, links['shasums-sig-upload'], await signatureOf(sums, foreign)).expect(409);
  });

  it('accept only keys of the same organization', async () => {
    await create('borrowed').expect(201);
    const { links } = await version('borrowed', '1.0.0', foreign.keyId);
    const sums = sumsOf([['crane.zip', Buffer.from('x')]]);
    // The order does not matter: the second of the two is checked.
    await putUrl(workspaces, links['shasums-sig-upload'], await signatureOf(sums, foreign)).expect(200);
    const refused = await putUrl(workspaces, links['shasums-upload'], Buffer.from(sums)).expect(422);
    expect(refused.body.errors[0].detail).toContain(`key-id of this version, ${foreign.keyId}`);
  });

  it('refuse archives and platforms that contradict their checksums, in any order', async () => {
    await create('sums').expect(201);
    const { links } = await version('sums', '1.0.0');
    const archive = providerZip('sums', '1.0.0');
    const right = { shasum: sumOf(archive) };
    const made = await platform('sums', '1.0.0', right).expect(201);
    const put = (bytes: Buffer) => putUrl(workspaces, made.body.data.links['provider-binary-upload'], bytes);
    expect((await put(Buffer.concat([archive, archive])).expect(422)).body.errors[0].detail).toContain('shasum');
    const wrong = [[['other.zip', archive]], [['crane.zip', Buffer.from('other')]]] as const;
    for (const files of wrong) {
      await putUrl(workspaces, links['shasums-upload'], Buffer.from(sumsOf(files))).expect(422);
    }
    await putUrl(workspaces, links['shasums-upload'], Buffer.from('nothing of the kind')).expect(422);
    await putUrl(workspaces, links['shasums-upload'], Buffer.from(sumsOf([['crane.zip', archive]]))).expect(200);
    await put(archive).expect(200);
    await put(archive).expect(200);
    const refused = async (attributes: object) =>
      (await platform('sums', '1.0.0', { arch: 'arm64', ...right, ...attributes }).expect(422)).body.errors[0].source
        .pointer;
    await expect(refused({ filename: 'other.zip' })).resolves.toBe('/data/attributes/filename');
    await expect(refused({ shasum: sumOf(Buffer.from('y')) })).resolves.toBe('/data/attributes/shasum');
  });

  it('refuse an archive that is not a zip archive, although its checksum is right', async () => {
    await create('tarred').expect(201);
    await version('tarred', '1.0.0');
    const bytes = Buffer.from('not a zip archive');
    const made = await platform('tarred', '1.0.0', { shasum: sumOf(bytes) }).expect(201);
    await putUrl(workspaces, made.body.data.links['provider-binary-upload'], bytes).expect(422);
  });

  it('treat spellings of a name, version or platform as equal, even in simultaneous requests', async () => {
    const statuses = async (asked: readonly PromiseLike<{ status: number }>[]) =>
      (await Promise.all(asked)).map(({ status }) => status).sort();
    await expect(statuses(['Twin', 'tWIN'].map((name) => create(name)))).resolves.toEqual([201, 422]);
    const announce = (number: string) =>
      admin.post(
        `${at('twin')}/versions`,
        resource('registry-provider-versions', { version: number, 'key-id': key.keyId }),
      );
    await expect(statuses(['1.0.0-RC1', '1.0.0-rc1'].map(announce))).resolves.toEqual([201, 422]);
    const both = await Promise.all([1, 2].map(() => platform('twin', '1.0.0-rc1', { shasum: 'ab' })));
    expect(both.map(({ status }) => status).sort()).toEqual([201, 422]);
    expect(both.find(({ status }) => status === 422)!.body.errors[0].source.pointer).toBe('/data/attributes/os');
  });

  it.each([
    ['name', { name: '../up' }],
    ['namespace', { namespace: 'other' }],
    ['namespace', { 'registry-name': 'public', namespace: '' }],
    ['registry-name', { 'registry-name': 'PRIVATE' }],
    ['registry-name', { 'registry-name': 'registry.terraform.io', namespace: 'x' }],
    ['registry-name', { 'registry-name': 'workspaces.test', namespace: 'x' }],
    ['registry-name', { 'registry-name': 'a/b.example', namespace: 'x' }],
    ['namespace', { 'registry-name': 'registry.example.com', namespace: '' }],
  ])('refuse a wrong %s by name', async (attribute, given) => {
    const { body } = await create('wrong', given).expect(422);
    expect(body.errors[0].source.pointer).toBe(`/data/attributes/${attribute}`);
  });

  it.each([
    ['version', { version: 'v1' }],
    ['key-id', { 'key-id': 'not a key' }],
    ['protocols', { protocols: ['five'] }],
  ])('refuse a version with a wrong %s by name', async (attribute, given) => {
    await create('versions');
    const attributes = { version: '1.0.0', 'key-id': key.keyId, protocols: ['5.0'], ...given };
    const { body } = await admin
      .post(`${at('versions')}/versions`, resource('registry-provider-versions', attributes))
      .expect(422);
    expect(body.errors[0].source.pointer).toContain(`/data/attributes/${attribute}`);
  });

  it('show the workspaces that use them, and those whose constraints would not accept a version', async () => {
    const { id } = (await create('used').expect(201)).body.data;
    const { id: workspaceId } = await workspaces.workspace('acme', 'user');
    await configured(workspaces, workspaceId);
    await startRun(admin, workspaceId).expect(201);
    const used = { kind: 'provider', source: 'workspaces.test/acme/used', version: '1.2.0' } as const;
    const requirements = [
      { ...used, constraint: '~> 1.0' },
      { ...used, kind: 'module', constraint: '' },
    ] as const;
    await worker.plan({ hasChanges: false, requirements });
    const list = async (query: string) =>
      (await admin.get(`registry-providers/${id}/usages?${query}`).expect(200)).body.data;
    const usage = {
      type: 'registry-provider-usages',
      attributes: { version: '1.2.0', constraint: '~> 1.0' },
      relationships: { 'registry-provider': { data: { id } }, workspace: { data: { id: workspaceId } } },
    };
    await expect(list('filter[breaks-with]=2.0.0&include=workspace')).resolves.toMatchObject([usage]);
    await expect(list('filter[breaks-with]=1.3.0')).resolves.toEqual([]);
    await (await member(workspaces, 'acme')).get(`registry-providers/${id}/usages`).expect(404);
  });

  it('are deleted with their versions, platforms and bytes', async () => {
    const blobs = () => workspaces.service.db.prisma.blob.count();
    const before = await blobs();
    await create('gone').expect(201);
    for (const number of ['1.0.0', '1.1.0', '1.2.0']) await publishProvider(workspaces, 'acme', 'gone', number, key);
    await admin.delete(`${at('gone')}/versions/1.0.0/platforms/linux/amd64`).expect(204);
    await admin.get(`${at('gone')}/versions/1.0.0/platforms/linux/amd64`).expect(404);
    await admin.delete(`${at('gone')}/versions/1.1.0`).expect(204);
    await expect(installable('gone')).resolves.toMatchObject([{ version: '1.2.0' }]);
    await admin.delete(at('gone')).expect(204);
    await admin.get(at('gone')).expect(404);
    await expect(blobs()).resolves.toBe(before);
  });

  it('are recommended from the public registry by name', async () => {
    const made = await create('aws', { 'registry-name': 'public', namespace: 'hashicorp' }).expect(201);
    const path = `${under()}/public/hashicorp/aws`;
    expect((await admin.get(path).expect(200)).body.data.id).toBe(made.body.data.id);
    expect((await admin.get(`${path}/versions`).expect(200)).body.data).toEqual([]);
    const { body } = await admin.get(`${under()}?filter[registry_name]=public`).expect(200);
    expect(body.data).toHaveLength(1);
    await admin.get(`${protocol}/hashicorp/aws/versions`).expect(404);
  });

  const mirror = '/api/registry/mirror/acme';

  it.each([
    ['own', 'private', 'acme', 'workspaces.test'],
    ['public', 'public', 'hashicorp', 'registry.terraform.io'],
    ['other', 'registry.opentofu.org', 'hashicorp', 'Registry.OpenTofu.org'],
  ])(
    'that are %s are in the network mirror of the organization, once they are signed',
    async (name, registry, namespace, host) => {
      await create(name, { 'registry-name': registry, namespace }).expect(201);
      const of = `${mirror}/${host}/${namespace}/${name}`;
      expect((await admin.get(`${of}/index.json`).expect(200)).body).toEqual({ versions: {} });
      await publishProvider(workspaces, 'acme', name, '1.2.3', key, [['linux', 'amd64']], { registry, namespace });
      const body = resource('registry-provider-versions', { version: '1.3.0', 'key-id': key.keyId });
      await admin.post(`${under()}/${registry}/${namespace}/${name}/versions`, body).expect(201);
      expect((await admin.get(`${of}/index.json`).expect(200)).body).toEqual({ versions: { '1.2.3': {} } });
      const { body: found } = await admin.get(`${of}/1.2.3.json`).expect(200);
      const { url, hashes } = found.archives.linux_amd64;
      const archive = (await fetchUrl(workspaces, url).expect(200)).body;
      const inside = `#!/bin/sh\necho 1.2.3\n`;
      const line = `${sumOf(Buffer.from(inside))}  terraform-provider-${name}_v1.2.3\n`;
      const filesHash = createHash('sha256').update(line).digest('base64');
      expect(hashes).toEqual([`h1:${filesHash}`, `zh:${sumOf(archive)}`]);
      for (const path of ['1.2.3', '1.3.0.json', '9.9.9.json', 'index']) await admin.get(`${of}/${path}`).expect(404);
      const elsewhere = host === 'workspaces.test' ? 'registry.terraform.io' : 'workspaces.test';
      await admin.get(`${mirror}/${elsewhere}/${namespace}/${name}/index.json`).expect(404);
      await (await organizationToken(workspaces, 'other')).get(`${of}/index.json`).expect(404);
      await workspaces.anyone.get(`${of}/index.json`).expect(401);
    },
  );

  it('that are mirrored need the right to manage public ones, also for their versions', async () => {
    const own = await member(workspaces, 'acme', [await team(workspaces, 'acme', 'own', ['manage-providers'])]);
    const all = await member(workspaces, 'acme', [await team(workspaces, 'acme', 'all', ['manage-public-providers'])]);
    const given = { 'registry-name': 'registry.example.com', namespace: 'theirs' };
    await create('mirrored', given, own).expect(404);
    await create('mirrored', given, all).expect(201);
    const versions = `${under()}/registry.example.com/theirs/mirrored/versions`;
    const body = resource('registry-provider-versions', { version: '1.0.0', 'key-id': key.keyId });
    await own.post(versions, body).expect(404);
    expect((await all.post(versions, body).expect(201)).body.data.attributes.permissions).toEqual({
      'can-delete': true,
      'can-upload-asset': true,
    });
    await own.delete(`${versions}/1.0.0`).expect(404);
    await all.delete(`${versions}/1.0.0`).expect(204);
  });

  it.each([
    ['no archive', 'PK\x03\x04 and no more', /cannot be read/],
    ['an archive without files', Buffer.concat([Buffer.from('PK\x05\x06'), Buffer.alloc(18)]), /no files/],
    ['an archive that leads outside', zipOf([['../crane', 'x']]), /cannot be read/],
    ['an incomplete archive', zipOf([['crane', 'x'.repeat(100)]]).subarray(60), /cannot be read/],
  ])('are refused as %s, even if the archive is signed', async (what, bytes, reason) => {
    const name = what.replaceAll(' ', '-');
    const archive = Buffer.from(bytes);
    await create(name).expect(201);
    await version(name, '1.0.0');
    const made = await platform(name, '1.0.0', { shasum: sumOf(archive) }).expect(201);
    const refused = await putUrl(workspaces, made.body.data.links['provider-binary-upload'], archive).expect(422);
    expect(refused.body.errors[0].detail).toMatch(reason);
  });

  it('are managed by two rights of teams, and read by members and runs of their organization', async () => {
    await create('rights').expect(201);
    await publishProvider(workspaces, 'acme', 'rights', '1.0.0', key);
    const managing = await team(workspaces, 'acme', 'publishers', ['manage-providers']);
    const publisher = await member(workspaces, 'acme', [managing]);
    const plain = await member(workspaces, 'acme');
    const stranger = await workspaces.person('stan');
    await create('theirs', {}, publisher).expect(201);
    await create('curated', { 'registry-name': 'public', namespace: 'x' }, publisher).expect(404);
    await create('mine', {}, plain).expect(404);
    await plain.delete(at('rights')).expect(404);
    const { body: seen } = await plain.get(`${at('rights')}/versions/1.0.0`).expect(200);
    expect(seen.data.links?.['shasums-upload']).toBeUndefined();
    await expect(installable('rights', plain)).resolves.toHaveLength(1);
    await stranger.get(`${protocol}/acme/rights/versions`).expect(404);
    const other = await organizationToken(workspaces, 'other');
    await other.get(`${protocol}/acme/rights/versions`).expect(404);
    // Shared with all organizations of the installation, if the site settings allow it.
    const sharing = (on: boolean) =>
      workspaces.service.pool.query('UPDATE organization SET global_provider_sharing = $1 WHERE name = $2', [
        on,
        'acme',
      ]);
    await sharing(true);
    await expect(installable('rights', other)).resolves.toHaveLength(1);
    await other.delete(at('rights')).expect(404);
    await sharing(false);
    const { id } = await workspaces.workspace('acme', 'reader');
    await configured(workspaces, id);
    await startRun(admin, id).expect(201);
    const job = await worker.take('plan');
    const { registry } = await worker.inputs(job);
    const run = workspaces.as(registry!.token);
    const { body } = await run.get(`${protocol}/acme/rights/1.0.0/download/linux/amd64`).expect(200);
    await fetchUrl(workspaces, body.download_url).expect(200);
    await run.get(at('rights')).expect(404);
    await worker.endPlan(job, { outcome: 'errored', errorMessage: 'over' });
    await fetchUrl(workspaces, body.download_url).expect(404);
  });

  it('are signed by keys that cannot be deleted while something is signed by them', async () => {
    const { publicKey, ...rest } = await signingKey('short-lived');
    const keyId = await addKey(admin, 'acme', { publicKey, ...rest });
    const path = `${keys}/acme/${keyId}`;
    expect((await admin.get(path.toLowerCase()).expect(200)).body.data.attributes).toMatchObject({
      'key-id': keyId,
      namespace: 'acme',
      'ascii-armor': publicKey,
    });
    await create('signed').expect(201);
    await publishProvider(workspaces, 'acme', 'signed', '1.0.0', { publicKey, ...rest, keyId });
    await admin.delete(path).expect(409);
    await admin.patch(path, resource('gpg-keys', { namespace: 'other' })).expect(409);
    await admin.delete(`${at('signed')}/versions/1.0.0`).expect(204);
    const moved = await admin.patch(path, resource('gpg-keys', { namespace: 'other' })).expect(200);
    expect(moved.body.data.attributes.namespace).toBe('other');
    await admin.delete(path).expect(404);
    await admin.delete(`${keys}/other/${keyId}`).expect(204);
  });

  it('are not signed by a key that is moved to another organization at the same time', async () => {
    const moving = await signingKey('moving');
    const keyId = await addKey(admin, 'acme', moving);
    await create('overtaken').expect(201);
    const { id, links } = await version('overtaken', '1.0.0', keyId);
    const sums = sumsOf([['crane.zip', providerZip('overtaken', '1.0.0')]]);
    await putUrl(workspaces, links['shasums-upload'], Buffer.from(sums)).expect(200);
    const { prisma } = workspaces.service.db;
    const { id: otherId } = await prisma.organization.findFirstOrThrow({ where: { name: 'other' } });
    const client = await workspaces.service.pool.connect();
    let uploading: Promise<{ status: number }>;
    try {
      await client.query('BEGIN');
      await client.query('UPDATE gpg_key SET organization_id = $2 WHERE key_id = $1', [keyId, otherId]);
      const signature = await signatureOf(sums, moving);
      uploading = putUrl(workspaces, links['shasums-sig-upload'], signature).then((answer) => answer);
      await new Promise((resolve) => setTimeout(resolve, 500));
      await client.query('COMMIT');
    } finally {
      client.release();
    }
    expect((await uploading).status).toBe(422);
    expect(await prisma.registryProviderVersion.findUnique({ where: { id } })).toMatchObject({ signedBy: null });
    await prisma.gpgKey.deleteMany({ where: { keyId } });
  });

  it('refuse keys that are invalid, private, there already, or of another organization', async () => {
    const add = async (asciiArmor: string, namespace = 'acme', by: Client = admin) => {
      const answer = await by.post(keys, resource('gpg-keys', { namespace, 'ascii-armor': asciiArmor })).expect(422);
      return answer.body.errors[0].source.pointer;
    };
    await expect(add('nothing')).resolves.toBe('/data/attributes/ascii-armor');
    await expect(add(key.privateKey)).resolves.toBe('/data/attributes/ascii-armor');
    await expect(add(key.publicKey)).resolves.toBe('/data/attributes/ascii-armor');
    const { publicKey } = await signingKey('stray');
    await expect(add(publicKey, 'nowhere')).resolves.toBe('/data/attributes/namespace');
    await expect(add(publicKey, 'acme', await member(workspaces, 'acme'))).resolves.toBe('/data/attributes/namespace');
    await admin.get(keys).expect(400);
    const { body } = await (await organizationToken(workspaces, 'other'))
      .get(`${keys}?filter[namespace]=acme,other`)
      .expect(200);
    expect(body.data.map(({ attributes }: { attributes: { namespace: string } }) => attributes.namespace)).toEqual([
      'other',
    ]);
  });

  it('are deleted with their organization, signed or not', async () => {
    await workspaces.organization('brief');
    const made = await signingKey('brief');
    const signer = { ...made, keyId: await addKey(admin, 'brief', made) };
    await create('crane', {}, admin, 'brief').expect(201);
    await publishProvider(workspaces, 'brief', 'crane', '1.0.0', signer);
    await workspaces.service.pool.query(`DELETE FROM organization WHERE name = 'brief'`);
    const { rows } = await workspaces.service.pool.query('SELECT 1 FROM gpg_key WHERE key_id = $1', [signer.keyId]);
    expect(rows).toEqual([]);
  });
});
