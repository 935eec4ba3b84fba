import { randomBytes } from 'node:crypto';
import { gzipSync } from 'node:zlib';
import { beforeEach, describe, expect, it } from '@jest/globals';
import { sweep } from '../src/resources/states/data-retention/sweep';
import { announced, archiveOf, configured, fetchUrl, putUrl, startRun } from './configurations';
import { fakeWorker } from './fake-worker';
import { resource, startWorkspaces } from './start-workspaces';

describe('configuration versions', () => {
  const workspaces = startWorkspaces({ env: { WORKSPACES_CONFIGURATION_LIMIT_MIB: '1' } });
  const { admin } = workspaces;
  let counter = 0;
  let workspace = '';

  beforeEach(async () => {
    if (counter === 0) await workspaces.organization('acme');
    ({ id: workspace } = await workspaces.workspace('acme', `web-${++counter}`));
  });

  const blobs = () => workspaces.service.db.prisma.blob.count();
  const show = async (id: string) => (await admin.get(`configuration-versions/${id}`).expect(200)).body.data;
  const currentOf = async () =>
    (await admin.get(`workspaces/${workspace}`).expect(200)).body.data.relationships['current-configuration-version']
      .data;
  const runsOf = async () =>
    (await admin.get(`workspaces/${workspace}/runs?filter[operation]=plan_only,plan_and_apply`).expect(200)).body.data;

  it('are accepted together with the run that they start, or not at all', async () => {
    const { body } = await admin.post(`workspaces/${workspace}/configuration-versions`).expect(201);
    const { id, attributes } = body.data;
    const { pool } = workspaces.service;
    // As if the service had stopped between the two.
    await pool.query(`CREATE FUNCTION no_run() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE 'no run'; END $$;
      CREATE TRIGGER no_run BEFORE INSERT ON run FOR EACH ROW EXECUTE FUNCTION no_run()`);
    const archive = await archiveOf();
    await putUrl(workspaces, attributes['upload-url'], archive).expect(500);
    await pool.query('DROP FUNCTION no_run CASCADE');
    expect((await show(id)).attributes.status).toBe('pending');
    expect(await runsOf()).toEqual([]);
    await putUrl(workspaces, attributes['upload-url'], archive).expect(200);
    expect(await runsOf()).toHaveLength(1);
  });

  it('are created, uploaded once through a link that only the create shows, and downloaded through another (WV.30)', async () => {
    const { body } = await admin.post(`workspaces/${workspace}/configuration-versions`).expect(201);
    const { id, attributes } = body.data;
    expect(attributes).toMatchObject({
      status: 'pending',
      'auto-queue-runs': true,
      speculative: false,
      provisional: false,
      source: 'tfe-api',
      error: null,
      'upload-url': expect.stringContaining('https://workspaces.test/api/v2/'),
    });
    expect((await show(id)).attributes).not.toHaveProperty('upload-url');
    await admin.get(`configuration-versions/${id}/download`).expect(404);
    await putUrl(
      workspaces,
      attributes['upload-url'].replace(/signature=.{6}/, 'signature=AAAAAA'),
      await archiveOf(),
    ).expect(404);
    const archive = await archiveOf();
    await putUrl(workspaces, attributes['upload-url'], archive).expect(200, '');
    // A client that got no answer sends the same again.
    await putUrl(workspaces, attributes['upload-url'], archive).expect(200, '');
    await putUrl(workspaces, attributes['upload-url'], archive.subarray(1)).expect(409);
    await putUrl(workspaces, attributes['upload-url'], Buffer.concat([archive, archive])).expect(409);
    const uploaded = await show(id);
    expect(uploaded.attributes.status).toBe('uploaded');
    expect(uploaded.links.download).toBe(`/api/v2/configuration-versions/${id}/download`);
    const found = await admin.get(`configuration-versions/${id}/download`).expect(302);
    const bytes = await fetchUrl(workspaces, found.headers.location!).expect(200);
    expect(bytes.body.equals(archive)).toBe(true);
    expect(await currentOf()).toEqual({ type: 'configuration-versions', id });
    const [run] = await runsOf();
    const ofRun = await admin.get(`runs/${run.id}/configuration-version`).expect(200);
    expect(ofRun.body.data).toEqual(await show(id));
    const again = await admin.get(`runs/${run.id}/configuration-version/download`).expect(302);
    expect((await fetchUrl(workspaces, again.headers.location!).expect(200)).body.equals(archive)).toBe(true);
    await admin.get('runs/run-1234567812345678/configuration-version').expect(404);
    await admin.get(`configuration-versions/${id}/ingress-attributes`).expect(404);
  });

  it('can be replaced by another archive until a run uses them', async () => {
    const { id, attributes } = await announced(admin, workspace);
    const put = (body: Buffer) => putUrl(workspaces, attributes['upload-url'], body);
    const first = await archiveOf();
    const second = await archiveOf([['main.tf', '# another']]);
    await put(first).expect(200, '');
    const kept = await blobs();
    await put(first).expect(200, '');
    await put(Buffer.from('no archive')).expect(422);
    await put(second).expect(200, '');
    await expect(blobs()).resolves.toBe(kept);
    const { headers } = await admin.get(`configuration-versions/${id}/download`).expect(302);
    expect((await fetchUrl(workspaces, headers.location!).expect(200)).body.equals(second)).toBe(true);
    await startRun(admin, workspace, { 'plan-only': true }, id).expect(201);
    await put(first).expect(409);
    await put(second).expect(200, '');
  });

  it('start a run when they are uploaded, unless requested otherwise', async () => {
    const first = await configured(workspaces, workspace);
    expect(await runsOf()).toEqual([]);
    // Created but not uploaded yet: runs use the previous one.
    expect((await currentOf()).id).toBe(first);
    const waiting = await announced(admin, workspace);
    expect((await currentOf()).id).toBe(waiting.id);
    const early = await startRun(admin, workspace, { 'plan-only': true }).expect(201);
    expect(early.body.data.relationships['configuration-version'].data.id).toBe(first);
    const id = await configured(workspaces, workspace, { 'auto-queue-runs': true });
    const [run] = await runsOf();
    expect(run).toMatchObject({
      attributes: { source: 'tfe-configuration-version', 'plan-only': false },
      relationships: { 'configuration-version': { data: { id } }, 'created-by': { data: { type: 'users' } } },
    });
    await configured(workspaces, workspace, { 'auto-queue-runs': true, speculative: true });
    expect((await runsOf())[0].attributes['plan-only']).toBe(true);
    expect((await currentOf()).id).toBe(id);
  });

  it('that are provisional become current when they are applied', async () => {
    const before = await configured(workspaces, workspace);
    const id = await configured(workspaces, workspace, { provisional: true });
    expect((await currentOf()).id).toBe(before);
    const worker = fakeWorker(workspaces);
    await workspaces.service.pool.query('DELETE FROM run');
    await worker.claim();
    await startRun(admin, workspace, { 'auto-apply': true }, id).expect(201);
    await worker.plan();
    await worker.apply();
    expect((await currentOf()).id).toBe(id);
  });

  const many = Array.from({ length: 3 }, (_, index) => [`f${index}`, 'x'] as const);
  it.each([
    ['text', async () => Buffer.from('no archive at all'), 'not a gzip archive'],
    ['a gzip of other content', async () => gzipSync(randomBytes(5000)), 'not a gzip archive'],
    [
      'an archive that ends early',
      async () => (await archiveOf([...many, ['big', randomBytes(50_000).toString('hex')]])).subarray(0, -20_000),
      'not a gzip archive',
    ],
    ['a path that leads outside', async () => archiveOf([['../../etc/passwd', 'x']]), 'outside its folder'],
    ['a hidden path that leads outside', async () => archiveOf([['a/../../b', 'x']]), 'outside its folder'],
    ['an absolute path', async () => archiveOf([['/etc/passwd', 'x']]), 'outside its folder'],
    [
      'a link that leads outside',
      async () => archiveOf([[{ name: 'l', type: 'symlink', linkname: '../secret' }, '']]),
      'a link to a path outside it',
    ],
    [
      'an absolute link',
      async () => archiveOf([[{ name: 'l', type: 'symlink', linkname: '/etc' }, '']]),
      'a link to a path outside it',
    ],
    ['a hard link', async () => archiveOf([[{ name: 'l', type: 'link', linkname: 'main.tf' }, '']]), 'contains a link'],
    ['a device', async () => archiveOf([[{ name: 'd', type: 'character-device' }, '']]), 'character-device'],
  ] as const)('are errored by %s', async (_, make, reason) => {
    const { id, attributes } = await announced(admin, workspace);
    const before = await blobs();
    await putUrl(workspaces, attributes['upload-url'], await make()).expect(200);
    const shown = (await show(id)).attributes;
    expect(shown).toMatchObject({ status: 'errored', error: 'invalid archive' });
    expect(shown['error-message']).toContain(reason);
    expect(await currentOf()).toBeNull();
    await startRun(admin, workspace, {}, id).expect(422);
    expect(await blobs()).toBe(before);
  });

  describe('with a README.md at their root', () => {
    const upload = async (entries: readonly (readonly [string, string])[], attributes: object = {}) => {
      const made = await announced(admin, workspace, attributes);
      await putUrl(workspaces, made.attributes['upload-url'], await archiveOf(entries)).expect(200);
      return made.id as string;
    };
    const readme = async (client = admin) => {
      const { body } = await client.get(`workspaces/${workspace}?include=readme`).expect(200);
      return [body.data.relationships.readme.data, body.included.map((one: { attributes: object }) => one.attributes)];
    };
    const shown = (id: string, text: string) => [{ type: 'workspace-readme', id }, [{ 'raw-markdown': text }]];

    it('give the workspace a README, until a newer one replaces it', async () => {
      expect(await readme()).toEqual([null, []]);
      const first = await upload([
        ['main.tf', ''],
        ['./README.md', '# Webs\n\nMit Größe.'],
        ['modules/README.md', 'of a module'],
      ]);
      expect(await readme()).toEqual(shown(first, '# Webs\n\nMit Größe.'));
      await announced(admin, workspace);
      await upload([['README.md', 'a try']], { speculative: true });
      expect(await readme()).toEqual(shown(first, '# Webs\n\nMit Größe.'));
      const listed = await admin.get('organizations/acme/workspaces?include=readme&page%5Bsize%5D=100').expect(200);
      expect(listed.body.included).toContainEqual(expect.objectContaining({ type: 'workspace-readme', id: first }));
      const second = await upload([['README.md', '']]);
      expect(await readme()).toEqual(shown(second, ''));
      await upload([['readme.txt', 'x']]);
      expect(await readme()).toEqual([null, []]);
    });

    it('show the README when they are applied, if they are provisional', async () => {
      const id = await upload([['README.md', 'later']], { provisional: true });
      expect(await readme()).toEqual([null, []]);
      const worker = fakeWorker(workspaces);
      await workspaces.service.pool.query('DELETE FROM run');
      await worker.claim();
      await startRun(admin, workspace, { 'auto-apply': true }, id).expect(201);
      await worker.plan();
      await worker.apply();
      expect(await readme()).toEqual(shown(id, 'later'));
    });

    it('leave a README that is too long in the archive', async () => {
      await upload([['README.md', 'x'.repeat(256 * 1024 + 1)]]);
      expect(await readme()).toEqual([null, []]);
    });

    it('remove the README when they are deleted', async () => {
      const before = await blobs();
      const id = await upload([['README.md', 'soon gone']]);
      await announced(admin, workspace);
      expect([await readme(), (await blobs()) - before]).toEqual([shown(id, 'soon gone'), 2]);
      await admin.post(`configuration-versions/${id}/actions/archive`).expect(202);
      expect([await readme(), (await blobs()) - before]).toEqual([[null, []], 0]);
      await upload([['README.md', 'gone with the workspace']]);
      await admin.delete(`workspaces/${workspace}`).expect(204);
      expect((await blobs()) - before).toBe(0);
    });
  });

  it('are not larger than the installation allows, packed and unpacked', async () => {
    const large = await announced(admin, workspace);
    const noise = randomBytes(2 * 1024 * 1024).toString('base64');
    await putUrl(workspaces, large.attributes['upload-url'], await archiveOf([['noise', noise]])).expect(413);
    expect((await show(large.id)).attributes).toMatchObject({
      status: 'errored',
      'error-message': expect.stringContaining('larger than 1048576 bytes'),
    });
    const bomb = await announced(admin, workspace);
    const zeros = '0'.repeat(6 * 1024 * 1024);
    await putUrl(workspaces, bomb.attributes['upload-url'], await archiveOf([['zeros', zeros]])).expect(200);
    expect((await show(bomb.id)).attributes['error-message']).toContain('unpacks to more than');
  });

  it('may hold folders, and links that stay inside', async () => {
    const archive = await archiveOf([
      [{ name: 'modules/', type: 'directory' }, ''],
      ['modules/a.tf', 'x'],
      [{ name: 'modules/latest', type: 'symlink', linkname: '../modules/a.tf' }, ''],
    ]);
    const { id, attributes } = await announced(admin, workspace);
    await putUrl(workspaces, attributes['upload-url'], archive).expect(200);
    expect((await show(id)).attributes.status).toBe('uploaded');
  });

  it('are listed newest first, and archived unless they are current or in use', async () => {
    const old = await configured(workspaces, workspace);
    const current = await configured(workspaces, workspace);
    const { body } = await admin.get(`workspaces/${workspace}/configuration-versions?page[size]=1`).expect(200);
    expect(body.data.map((item: { id: string }) => item.id)).toEqual([current]);
    expect(body.meta.pagination['total-count']).toBe(2);
    const refused = await admin.post(`configuration-versions/${current}/actions/archive`).expect(409);
    expect(refused.body.errors[0].detail).toContain('configuration could not be archived because it is current');
    const run = await startRun(admin, workspace, {}, old).expect(201);
    await admin.post(`configuration-versions/${old}/actions/archive`).expect(409);
    await admin.post(`runs/${run.body.data.id}/actions/cancel`).expect(202);
    await admin.post(`configuration-versions/${old}/actions/archive`).expect(202);
    expect((await show(old)).attributes.status).toBe('archived');
    await admin.get(`configuration-versions/${old}/download`).expect(404);
    await admin.post(`configuration-versions/${old}/actions/archive`).expect(409);
  });

  it('can have their files hidden, restored, and permanently removed', async () => {
    const old = await configured(workspaces, workspace);
    const current = await configured(workspaces, workspace);
    const act = (id: string, name: string) => admin.post(`configuration-versions/${id}/actions/${name}`);
    expect((await act(current, 'soft_delete_backing_data').expect(400)).body.errors[0].detail).toContain(
      'transition not allowed',
    );
    await act(old, 'soft_delete_backing_data').expect(200);
    await admin.get(`configuration-versions/${old}/download`).expect(404);
    await act(old, 'restore_backing_data').expect(200);
    await admin.get(`configuration-versions/${old}/download`).expect(302);
    await act(old, 'soft_delete_backing_data').expect(200);
    await act(old, 'permanently_delete_backing_data').expect(200);
    await act(old, 'restore_backing_data').expect(400);
  });

  it('that are too old are deleted, and their files a week later', async () => {
    const old = await configured(workspaces, workspace);
    const current = await configured(workspaces, workspace);
    await admin
      .post(
        `workspaces/${workspace}/relationships/data-retention-policy`,
        resource('data-retention-policy-delete-olders', { 'delete-older-than-n-days': 30 }),
      )
      .expect(200);
    const { db, env } = workspaces.service;
    const days = (count: number) => env.now() + count * 86_400_000;
    await sweep(db, days(31));
    expect((await show(old)).attributes.status).toBe('backing_data_soft_deleted');
    expect((await show(current)).attributes.status).toBe('uploaded');
    await sweep(db, days(39));
    expect((await show(old)).attributes.status).toBe('backing_data_permanently_deleted');
    const row = await db.prisma.configurationVersion.findUnique({ where: { id: old } });
    expect(row!.blobId).toBeNull();
  });
});
