import { createHash, randomBytes } from 'node:crypto';
import { beforeAll, describe, expect, it } from '@jest/globals';
import request from 'supertest';
import { sweepBlobs } from '../src/kernel/blobs/blobs';
import { sweep } from '../src/resources/states/state-versions/quarantine';
import { readUnread } from '../src/resources/states/state-versions/unread';
import { type Client, ref, resource, startWorkspaces } from './start-workspaces';

type Errors = { status: string; title: string; detail?: string }[];
const provider = 'provider["registry.example/acme/null"]';

function stateOf(serial: number, lineage = 'lineage-1', more: object = {}): Buffer {
  return Buffer.from(
    JSON.stringify({
      version: 4,
      terraform_version: '1.11.4',
      serial,
      lineage,
      outputs: {
        name: { value: 'web', type: 'string' },
        secret: { value: 'hush-hush', type: 'string', sensitive: true },
        ports: { value: [80, 'x'], type: ['tuple', ['number', 'string']] },
      },
      resources: [
        { mode: 'managed', type: 'null_resource', name: 'a', provider, instances: [{ attributes: { id: '1' } }] },
      ],
      ...more,
    }),
  );
}
const md5 = (bytes: Buffer) => createHash('md5').update(bytes).digest('hex');

describe('state versions', () => {
  const workspaces = startWorkspaces();
  const { admin } = workspaces;
  let counter = 0;
  beforeAll(() => workspaces.organization('acme'));

  const locked = async (): Promise<string> => {
    const { id } = await workspaces.workspace('acme', `w${++counter}`);
    await admin.post(`workspaces/${id}/actions/lock`, {}).expect(200);
    return id;
  };
  const create = (id: string, bytes: Buffer, more: object = {}, as: Client = admin) =>
    as.post(
      `workspaces/${id}/state-versions`,
      resource('state-versions', {
        serial: (more as { serial?: number }).serial ?? JSON.parse(bytes.toString()).serial ?? 0,
        md5: md5(bytes),
        state: bytes.toString('base64'),
        ...more,
      }),
    );
  const announce = (id: string, bytes: Buffer, more: object = {}) => create(id, bytes, { state: undefined, ...more });
  const put = (url: string, bytes: Buffer) =>
    request(workspaces.server)
      .put(url.replace('https://workspaces.test', ''))
      .set('Content-Type', 'application/octet-stream')
      .send(bytes);
  const fetchUrl = (url: string) =>
    request(workspaces.server)
      .get(url.replace('https://workspaces.test', ''))
      .buffer(true)
      .parse((response, done) => {
        const pieces: Buffer[] = [];
        response.on('data', (piece: Buffer) => pieces.push(piece));
        response.on('end', () => done(null, Buffer.concat(pieces)));
      });
  const detail = (body: { errors: Errors }) => body.errors[0]?.detail ?? '';

  it('are created with inline state, finalized at once, and downloaded byte for byte', async () => {
    const id = await locked();
    const state = stateOf(1);
    const { body } = await create(id, state, { lineage: 'lineage-1' }).expect(201);
    expect(body.data).toMatchObject({
      id: expect.stringMatching(/^sv-/),
      type: 'state-versions',
      attributes: {
        serial: 1,
        status: 'finalized',
        size: state.length,
        'state-version': 4,
        'infra-version': '1.11.4',
        'terraform-version': '1.11.4',
        'resources-processed': true,
        modules: { root: { 'null-resource': 1 } },
        providers: { [provider]: { 'null-resource': 1 } },
        'hosted-state-upload-url': null,
      },
      relationships: { workspace: { data: { id } }, 'created-by': { data: { type: 'users' } } },
    });
    const current = await admin.get(`workspaces/${id}/current-state-version`).expect(200);
    // The creator may add the tool's JSON; no one else is shown how.
    const shown = { ...body.data.attributes, 'hosted-json-state-upload-url': null };
    expect(body.data.attributes['hosted-json-state-upload-url']).toEqual(expect.any(String));
    expect(current.body.data).toEqual({ ...body.data, attributes: shown });
    const bytes = await fetchUrl(body.data.attributes['hosted-state-download-url']).expect(200);
    expect(bytes.body.equals(state)).toBe(true);
    const workspace = (await admin.get(`workspaces/${id}?include=current_state_version`).expect(200)).body;
    expect(workspace.data.attributes['resource-count']).toBe(1);
    expect(workspace.data.relationships['current-state-version'].data.id).toBe(body.data.id);
    expect(workspace.data.relationships.outputs.data).toHaveLength(3);
    expect(workspace.included[0].attributes['hosted-state-download-url']).toContain('https://workspaces.test/api/v2/');
  });

  it('show outputs with their types; sensitive values one by one only (WV.24)', async () => {
    const id = await locked();
    const { body } = await create(id, stateOf(1)).expect(201);
    const listed = await admin.get(`workspaces/${id}/current-state-version-outputs`).expect(200);
    expect(listed.body.data.map((item: { attributes: object }) => item.attributes)).toEqual([
      { name: 'name', sensitive: false, type: 'string', value: 'web', 'detailed-type': 'string' },
      {
        name: 'ports',
        sensitive: false,
        type: 'array',
        value: [80, 'x'],
        'detailed-type': ['tuple', ['number', 'string']],
      },
      { name: 'secret', sensitive: true, type: 'string', value: null, 'detailed-type': 'string' },
    ]);
    const paged = await admin.get(`state-versions/${body.data.id}/outputs?page[size]=2`).expect(200);
    expect(paged.body.meta.pagination).toMatchObject({ 'total-count': 3, 'total-pages': 2 });
    const one = await admin.get(`state-version-outputs/${listed.body.data[2].id}`).expect(200);
    expect(one.body.data.attributes.value).toBe('hush-hush');
    expect((await admin.get(`state-versions/${body.data.id}?include=outputs`).expect(200)).text).not.toContain(
      'hush-hush',
    );
  });

  it('are uploaded once in each of both formats, in any order (WV.24)', async () => {
    const id = await locked();
    const state = stateOf(2);
    const outputs = Buffer.from(JSON.stringify({ given: { value: 1, type: 'number', sensitive: false } }));
    const { body } = await announce(id, state, { 'json-state-outputs': outputs.toString('base64') }).expect(201);
    const urls = body.data.attributes;
    expect(urls).toMatchObject({ status: 'pending', 'hosted-state-download-url': null });
    await admin.get(`workspaces/${id}/current-state-version`).expect(404);
    await put(urls['hosted-json-state-upload-url'], Buffer.from('"values"')).expect(422);
    await Promise.all([
      put(urls['hosted-json-state-upload-url'], Buffer.from('{"values":{}}')).expect(200, ''),
      put(urls['hosted-state-upload-url'], state).expect(200, ''),
    ]);
    const shown = (await admin.get(`state-versions/${body.data.id}`).expect(200)).body.data.attributes;
    expect(shown).toMatchObject({
      status: 'finalized',
      'hosted-state-upload-url': null,
      'hosted-json-state-upload-url': null,
    });
    await fetchUrl(shown['hosted-json-state-download-url']).expect(200);
    await put(urls['hosted-state-upload-url'], state).expect(409);
    await put(urls['hosted-json-state-upload-url'], state).expect(409);
    const listed = await admin.get(`workspaces/${id}/current-state-version-outputs`).expect(200);
    expect(listed.body.data[0].attributes.name).toBe('given');
  });

  it('include the JSON of the tool, and outputs with more detail than the state (WV.24)', async () => {
    const id = await locked();
    const json = Buffer.from('{"values":{"from":"the tool"}}');
    const outputs = Buffer.from(JSON.stringify({ told: { value: [1], type: ['list', 'number'], sensitive: false } }));
    const given = { 'json-state': json.toString('base64'), 'json-state-outputs': outputs.toString('base64') };
    const { body } = await create(id, stateOf(1), given).expect(201);
    const bytes = await fetchUrl(body.data.attributes['hosted-json-state-download-url']).expect(200);
    expect(bytes.body.equals(json)).toBe(true);
    const listed = await admin.get(`workspaces/${id}/current-state-version-outputs`).expect(200);
    expect(listed.body.data.map((item: { attributes: object }) => item.attributes)).toEqual([
      { name: 'told', sensitive: false, type: 'array', value: [1], 'detailed-type': ['list', 'number'] },
    ]);
  });

  it('are equal whether they were uploaded later or created with their content', async () => {
    const [inline, uploaded] = [await locked(), await locked()];
    const state = stateOf(4, 'lineage-4');
    await create(inline, state).expect(201);
    const old = (await announce(uploaded, stateOf(3)).expect(201)).body.data;
    const { data } = (await announce(uploaded, state).expect(201)).body;
    expect(data).toMatchObject({
      attributes: { status: 'pending', serial: 4, size: 0, 'resources-processed': false, resources: [] },
      relationships: { workspace: { data: { id: uploaded } }, outputs: { data: [] } },
    });
    expect((await admin.get(`state-versions/${data.id}`).expect(200)).body.data.attributes.serial).toBe(4);
    await put(data.attributes['hosted-state-upload-url'], state).expect(200, '');
    const seen = async (id: string) => {
      const current = (await admin.get(`workspaces/${id}/current-state-version`).expect(200)).body.data;
      const workspace = (await admin.get(`workspaces/${id}`).expect(200)).body.data;
      const outputs = (await admin.get(`state-versions/${current.id}/outputs`).expect(200)).body.data;
      const bytes = (await fetchUrl(current.attributes['hosted-state-download-url']).expect(200)).body as Buffer;
      const plain = Object.entries(current.attributes).filter(([name]) => !/-url$|^created-at$/.test(name));
      return {
        plain,
        bytes: bytes.toString(),
        outputs: outputs.map(({ attributes }: { attributes: object }) => attributes),
        shown: workspace.relationships.outputs.data.length,
        count: workspace.attributes['resource-count'],
        by: current.relationships['created-by'].data,
      };
    };
    expect(await seen(uploaded)).toEqual(await seen(inline));
    expect((await admin.get(`state-versions/${old.id}`).expect(200)).body.data.attributes.status).toBe('discarded');
    await put(data.attributes['hosted-state-upload-url'], state).expect(409);
    await admin.post(`workspaces/${uploaded}/actions/unlock`, {}).expect(200);
  });

  it('that are created and uploaded simultaneously leave the one with the highest serial as the current one', async () => {
    const id = await locked();
    const states = [1, 2, 3, 4, 5, 6].map((serial) => stateOf(serial));
    const announced = await Promise.all(states.map((state) => announce(id, state).expect(201)));
    const answers = await Promise.all(
      announced.map(({ body }, i) => put(body.data.attributes['hosted-state-upload-url'], states[i]!)),
    );
    const accepted = answers.flatMap(({ status }, i) => (status === 200 ? [i + 1] : []));
    expect(
      answers.map(({ status, text }) => (status === 200 || status === 409 ? '' : `${status} ${text}`)).join(''),
    ).toBe('');
    expect(accepted.length).toBeGreaterThan(0);
    const current = (await admin.get(`workspaces/${id}/current-state-version`).expect(200)).body.data;
    expect(current.attributes.serial).toBe(Math.max(...accepted));
    const versions = await Promise.all(
      announced.map(async ({ body }) => (await admin.get(`state-versions/${body.data.id}`)).body.data.attributes),
    );
    const finalized = versions.filter(({ status }) => status === 'finalized').map(({ serial }) => serial);
    expect(finalized.sort()).toEqual(accepted);
    const bytes = await fetchUrl(current.attributes['hosted-state-download-url']).expect(200);
    expect(bytes.body.equals(states[current.attributes.serial - 1]!)).toBe(true);
  });

  it('are refused without the lock, or with another holder’s', async () => {
    const { id } = await workspaces.workspace('acme', 'unlocked');
    const free = await create(id, stateOf(1)).expect(409);
    expect(detail(free.body)).toBe('This workspace is not locked and will only accept state uploads when locked');
    const made = await admin.post('organizations/acme/teams', resource('teams', { name: 'ops' })).expect(201);
    const team = made.body.data.id;
    await admin
      .post('team-workspaces', {
        data: {
          type: 'team-workspaces',
          attributes: { access: 'write' },
          relationships: {
            team: { data: { type: 'teams', id: team } },
            workspace: { data: { type: 'workspaces', id } },
          },
        },
      })
      .expect(201);
    const token = await admin.post(`teams/${team}/authentication-token`, resource('authentication-tokens')).expect(201);
    await admin.post(`workspaces/${id}/actions/lock`, {}).expect(200);
    const other = await create(id, stateOf(1), {}, workspaces.as(token.body.data.attributes.token)).expect(409);
    expect(detail(other.body)).toMatch(
      /^This workspace is locked by User \S+ and will only accept state uploads from them/,
    );
  });

  it('follow the current one: serial, content and lineage', async () => {
    const id = await locked();
    await create(id, stateOf(5)).expect(201);
    await create(id, stateOf(5)).expect(201);
    const differs = await create(id, stateOf(5, 'lineage-1', { resources: [] })).expect(409);
    expect(detail(differs.body)).toContain(
      'The MD5 hash of the state provided does not match what is currently known for the same serial number',
    );
    const older = await create(id, stateOf(4)).expect(409);
    expect(detail(older.body)).toContain('serial 5 and lineage lineage-1');
    expect(detail(older.body)).toContain('serial 4 and lineage lineage-1');
    await create(id, stateOf(5, 'lineage-2'), { force: false }).expect(409);
    await create(id, stateOf(6, 'lineage-2')).expect(201);
    await create(id, stateOf(1, 'lineage-3'), { force: true }).expect(201);
    const current = await admin.get(`workspaces/${id}/current-state-version`).expect(200);
    expect(current.body.data.attributes).toMatchObject({ serial: 1, lineage: 'lineage-3' });
  });

  it.each([
    [{ md5: 'f'.repeat(32) }, 'md5'],
    [{ md5: 'zz' }, 'md5'],
    [{ serial: -1 }, 'serial'],
    [{ serial: 'x' }, 'serial'],
    [{ serial: undefined }, 'serial'],
    [{ state: 'no base64!' }, 'state'],
    [{ state: Buffer.from('{bad').toString('base64'), md5: md5(Buffer.from('{bad')) }, 'state'],
    [{ 'json-state-outputs': Buffer.from('[]').toString('base64') }, 'json-state-outputs'],
    ...['"values"', '[{}]', '{"values":', '{} {}', ''].map((text): [object, string] => [
      { 'json-state': Buffer.from(`${text} `).toString('base64') },
      'json-state',
    ]),
  ])('refuse %j and change nothing', async (more, attribute) => {
    const id = await locked();
    const { body } = await create(id, stateOf(1), more).expect(422);
    expect(body.errors[0].source.pointer).toBe(`/data/attributes/${attribute}`);
    await admin.get(`workspaces/${id}/current-state-version`).expect(404);
  });

  it.each(['1', '1.50'])('refuse outputs that contain %s nested too deep to be read again', async (number) => {
    const id = await locked();
    const deep = `{"o":{"value":${'['.repeat(5_500)}${number}${']'.repeat(5_500)}}}`;
    const { body } = await create(id, stateOf(1), {
      'json-state-outputs': Buffer.from(deep).toString('base64'),
    }).expect(422);
    expect(body.errors[0].source.pointer).toBe('/data/attributes/json-state-outputs');
  });

  const encryptedOf = (serial: number) =>
    Buffer.from(
      `{"serial":${serial},"lineage":"lineage-1","meta":{},"encrypted_data":"${'b3Bh'.repeat(40_000)}","encryption_version":"v0"}`,
    );

  it.each([
    ['serial', { serial: 100 }, stateOf(1)],
    ['lineage', { lineage: 'another' }, stateOf(1)],
    ['lineage', { lineage: 'another' }, Buffer.from('{"version":4,"serial":1,"outputs":{},"resources":[]}')],
    ['serial', { serial: 100 }, encryptedOf(1)],
    ['lineage', { lineage: 'another', force: true }, encryptedOf(1)],
  ])('are refused either way if the request has another %s than the file: %j', async (name, claim, bytes) => {
    const id = await locked();
    const { body: inline } = await create(id, bytes, { ...claim }).expect(422);
    expect(inline.errors[0].source.pointer).toBe(`/data/attributes/${name}`);
    const { body } = await announce(id, bytes, { ...claim }).expect(201);
    const uploaded = await put(body.data.attributes['hosted-state-upload-url'], bytes).expect(422);
    expect(detail(uploaded.body)).toContain('but the state has');
    await admin.get(`workspaces/${id}/current-state-version`).expect(404);
    const kept = await admin.get(`workspaces/${id}/quarantined-states`).expect(200);
    expect(kept.body.data).toHaveLength(1);
    // A promoted state has the serial in its file.
    const { body: promoted } = await admin
      .post(`quarantined-states/${kept.body.data[0].id}/actions/promote`)
      .expect(201);
    expect(promoted.data.attributes.serial).toBe(1);
  });

  it('may be encrypted by the tool: stored as they are, with serial and lineage, and unknown content', async () => {
    const id = await locked();
    await create(id, encryptedOf(1)).expect(201);
    const { body } = await announce(id, encryptedOf(2)).expect(201);
    await put(body.data.attributes['hosted-state-upload-url'], encryptedOf(2)).expect(200);
    const { body: current } = await admin.get(`workspaces/${id}/current-state-version`).expect(200);
    const { attributes } = current.data;
    expect(attributes).toMatchObject({ serial: 2, lineage: 'lineage-1', 'state-version': null, resources: [] });
    const { body: bytes } = await fetchUrl(attributes['hosted-state-download-url']).expect(200);
    expect(bytes.equals(encryptedOf(2))).toBe(true);
    const outputs = await admin.get(`workspaces/${id}/current-state-version-outputs`).expect(200);
    expect(outputs.body.data).toEqual([]);
    // Its serial is also inside, where the service cannot write.
    const list = 'state-versions?filter[organization][name]=acme&filter[workspace][name]=';
    const { body: all } = await admin.get(`${list}w${counter}`).expect(200);
    const back = {
      data: {
        type: 'state-versions',
        relationships: { 'rollback-state-version': ref('state-versions', all.data[1].id) },
      },
    };
    const refused = await admin.patch(`workspaces/${id}/state-versions`, back).expect(422);
    expect(detail(refused.body)).toContain('is encrypted');
  });

  it('keep refused uploads, and promote them under the lock', async () => {
    const id = await locked();
    await create(id, stateOf(5)).expect(201);
    const lost = stateOf(3, 'lineage-9');
    await create(id, lost).expect(409);
    const kept = await admin.get(`workspaces/${id}/quarantined-states`).expect(200);
    expect(kept.body.data).toHaveLength(1);
    expect(kept.body.data[0].attributes).toMatchObject({ serial: 3, md5: md5(lost) });
    const { body } = await admin.post(`quarantined-states/${kept.body.data[0].id}/actions/promote`).expect(201);
    expect(body.data.attributes).toMatchObject({ serial: 6, lineage: 'lineage-9' });
    const bytes = await fetchUrl(body.data.attributes['hosted-state-download-url']).expect(200);
    expect(bytes.body.equals(stateOf(6, 'lineage-9'))).toBe(true);
    expect((await admin.get(`workspaces/${id}/quarantined-states`).expect(200)).body.data).toEqual([]);
  });

  it('quarantine an upload that differs from the request, or arrives after the lock is lost', async () => {
    const id = await locked();
    const state = stateOf(1);
    const { body } = await announce(id, state).expect(201);
    await put(body.data.attributes['hosted-state-upload-url'], stateOf(2)).expect(422);
    await admin.post(`workspaces/${id}/actions/force-unlock`).expect(200);
    await put(body.data.attributes['hosted-state-upload-url'], state).expect(409);
    await admin.get(`workspaces/${id}/current-state-version`).expect(404);
    const kept = await admin.get(`workspaces/${id}/quarantined-states`).expect(200);
    expect(kept.body.data.map((item: { attributes: { md5: string } }) => item.attributes.md5)).toEqual([
      md5(state),
      md5(stateOf(2)),
    ]);
  });

  it('delay a normal unlock until they are uploaded', async () => {
    const id = await locked();
    const state = stateOf(1);
    const { body } = await announce(id, state).expect(201);
    const waiting = await admin.post(`workspaces/${id}/actions/unlock`).expect(503);
    expect(detail(waiting.body)).toContain('latest state version is still pending');
    await put(body.data.attributes['hosted-state-upload-url'], state).expect(200);
    await admin.post(`workspaces/${id}/actions/unlock`).expect(200);
  });

  it('can be rolled back to, as a new version', async () => {
    const id = await locked();
    const first = await create(id, stateOf(1)).expect(201);
    await create(id, stateOf(2, 'lineage-1', { resources: [] })).expect(201);
    const { body } = await admin
      .patch(`workspaces/${id}/state-versions`, {
        data: {
          type: 'state-versions',
          relationships: { 'rollback-state-version': { data: { type: 'state-versions', id: first.body.data.id } } },
        },
      })
      .expect(201);
    expect(body.data.attributes.serial).toBe(3);
    expect(body.data.relationships['rollback-state-version'].data.id).toBe(first.body.data.id);
    const workspace = await admin.get(`workspaces/${id}`).expect(200);
    expect(workspace.body.data.attributes['resource-count']).toBe(1);
  });

  it('keep every other byte in a rollback, including digits and order', async () => {
    const id = await locked();
    const text = (serial: number) =>
      Buffer.from(`{"version":4,"b":{"serial":7},"serial": ${serial} ,"big":12345678901234567890,"a":1.10}`);
    const first = (await create(id, text(3), { serial: 3 }).expect(201)).body.data.id;
    await create(id, text(9)).expect(201);
    const { body } = await admin
      .patch(`workspaces/${id}/state-versions`, {
        data: {
          type: 'state-versions',
          relationships: { 'rollback-state-version': { data: { type: 'state-versions', id: first } } },
        },
      })
      .expect(201);
    const bytes = await fetchUrl(body.data.attributes['hosted-state-download-url']).expect(200);
    expect(bytes.body.toString()).toBe(text(10).toString());
    expect(body.data.attributes).toMatchObject({ serial: 10, size: text(10).length });
  });

  it('leave no bytes of the JSON form behind when they are refused', async () => {
    const id = await locked();
    await create(id, stateOf(5)).expect(201);
    const { prisma } = workspaces.service.db;
    const before = await prisma.blob.count();
    const json = Buffer.from('{"values":{}}').toString('base64');
    await create(id, stateOf(4), { 'json-state': json }).expect(409);
    // The refused state itself is in quarantine.
    expect(await prisma.blob.count()).toBe(before + 1);
    expect(await prisma.blob.count({ where: { provisional: true } })).toBe(0);
    const { body } = await create(id, stateOf(6), { 'json-state': json }).expect(201);
    const bytes = await fetchUrl(body.data.attributes['hosted-json-state-download-url']).expect(200);
    expect(bytes.body.toString()).toBe('{"values":{}}');
  });

  it('that have not been read are read once by one node, and their outputs wait for that', async () => {
    const id = await locked();
    const { body } = await create(id, stateOf(1)).expect(201);
    const { db, env } = workspaces.service;
    await db.prisma.stateOutput.deleteMany({ where: { stateVersionId: body.data.id } });
    await db.prisma.stateVersion.update({
      where: { id: body.data.id },
      data: { resourcesProcessed: false, resources: [], processingUntil: new Date(Date.now() + 60_000) },
    });
    const waiting = await admin.get(`workspaces/${id}/current-state-version-outputs`).expect(503);
    expect(waiting.body.errors[0].title).toBe('service unavailable');
    expect(waiting.headers['retry-after']).toBe('1');
    // Another node has claimed it.
    expect(await readUnread(db, env.keyring)).toBe(0);
    await db.prisma.stateVersion.update({ where: { id: body.data.id }, data: { processingUntil: new Date(0) } });
    const read = await Promise.all([readUnread(db, env.keyring), readUnread(db, env.keyring)]);
    expect(read[0] + read[1]).toBe(1);
    const listed = await admin.get(`workspaces/${id}/current-state-version-outputs`).expect(200);
    expect(listed.body.data).toHaveLength(3);
    const shown = await admin.get(`state-versions/${body.data.id}`).expect(200);
    expect(shown.body.data.attributes).toMatchObject({
      'resources-processed': true,
      modules: { root: { 'null-resource': 1 } },
    });
  });

  it('of more than 16 MiB are read as streams, two at a time', async () => {
    const ids = [await locked(), await locked(), await locked()];
    const state = stateOf(1, 'lineage-1', { padding: 'x'.repeat(17 * 1024 * 1024) });
    const urls = await Promise.all(
      ids.map(async (id) => (await announce(id, state).expect(201)).body.data.attributes['hosted-state-upload-url']),
    );
    await Promise.all(urls.map((url) => put(url, state).expect(200)));
    for (const id of ids) {
      const { body } = await admin.get(`workspaces/${id}/current-state-version`).expect(200);
      expect(body.data.attributes).toMatchObject({ 'resources-processed': true, size: state.length });
      await admin.get(`workspaces/${id}/current-state-version-outputs`).expect(200);
    }
    const broken = Buffer.from(`${state.toString().slice(0, -1)}]`);
    const { body } = await announce(ids[0]!, broken, { serial: 2 }).expect(201);
    const refused = await put(body.data.attributes['hosted-state-upload-url'], broken).expect(422);
    expect(refused.body.errors[0].source.pointer).toBe('/data/attributes/state');
  });

  it('can have their content hidden and restored, except the current one', async () => {
    const id = await locked();
    const old = (await create(id, stateOf(1)).expect(201)).body.data;
    const now = (await create(id, stateOf(2)).expect(201)).body.data;
    const act = (version: string, name: string) => admin.post(`state-versions/${version}/actions/${name}`);
    const refused = await act(now.id, 'soft_delete_backing_data').expect(400);
    expect(detail(refused.body)).toContain('transition not allowed');
    await act(old.id, 'soft_delete_backing_data').expect(204);
    await fetchUrl(old.attributes['hosted-state-download-url']).expect(404);
    await act(old.id, 'restore_backing_data').expect(204);
    await fetchUrl(old.attributes['hosted-state-download-url']).expect(200);
    await act(old.id, 'permanently_delete_backing_data').expect(400);
    await act(old.id, 'soft_delete_backing_data').expect(204);
    await act(old.id, 'permanently_delete_backing_data').expect(204);
    await act(old.id, 'restore_backing_data').expect(400);
  });

  it('are listed newest first by the names of organization and workspace', async () => {
    const id = await locked();
    for (const serial of [1, 2, 3]) await create(id, stateOf(serial)).expect(201);
    const name = `w${counter}`;
    const query = `filter[organization][name]=acme&filter[workspace][name]=${name}`;
    const { body } = await admin.get(`state-versions?${query}&page[size]=2`).expect(200);
    expect(body.data.map((item: { attributes: { serial: number } }) => item.attributes.serial)).toEqual([3, 2]);
    expect(body.meta.pagination['total-count']).toBe(3);
    await admin.get('state-versions?filter[workspace][name]=x').expect(404);
  });

  it('need links with a complete, unexpired signature', async () => {
    const id = await locked();
    const { body } = await create(id, stateOf(1)).expect(201);
    const url: string = body.data.attributes['hosted-state-download-url'];
    await fetchUrl(url.replace(/signature=.{4}/, 'signature=AAAA')).expect(404);
    await fetchUrl(url.replace(/expires=\d+/, 'expires=99999999999')).expect(404);
    await fetchUrl(url.split('?')[0]!).expect(404);
    await admin.get(url.split('?')[0]!.replace('https://workspaces.test', '')).expect(200);
    const outsider = await workspaces.person('outsider');
    await outsider.get(url.split('?')[0]!.replace('https://workspaces.test', '')).expect(404);
  });

  it('store large states in sealed chunks', async () => {
    const id = await locked();
    const noise = randomBytes(3 * 1024 * 1024).toString('base64');
    const state = stateOf(1, 'lineage-1', { padding: noise });
    const { body } = await announce(id, state).expect(201);
    await put(body.data.attributes['hosted-state-upload-url'], state).expect(200);
    const shown = await admin.get(`state-versions/${body.data.id}`).expect(200);
    const bytes = await fetchUrl(shown.body.data.attributes['hosted-state-download-url']).expect(200);
    expect(bytes.body.equals(state)).toBe(true);
    const chunks = await workspaces.service.pool.query(
      'SELECT count(*)::int AS n, max(length(sealed)) AS longest FROM blob_chunk',
    );
    expect(chunks.rows[0].n).toBeGreaterThan(3);
    expect(chunks.rows[0].longest).toBeLessThan(1024 * 1024 + 100);
  });

  it('leave nothing behind of incomplete uploads and expired quarantined states', async () => {
    const { db, env } = workspaces.service;
    const id = await locked();
    await create(id, stateOf(5)).expect(201);
    await create(id, stateOf(3)).expect(409);
    await db.prisma.blob.create({ data: { id: 'blob-unfinished' } });
    const days = (count: number) => env.now() + count * 86_400_000;
    expect(await sweepBlobs(db, env.now())).toBe(0);
    expect(await sweepBlobs(db, days(1))).toBeGreaterThan(0);
    expect(await db.prisma.blob.findUnique({ where: { id: 'blob-unfinished' } })).toBeNull();
    const [kept] = await db.prisma.quarantinedState.findMany({ where: { workspaceId: id } });
    await sweep(db, days(29));
    expect(await db.prisma.quarantinedState.count({ where: { workspaceId: id } })).toBe(1);
    await sweep(db, days(31));
    expect(await db.prisma.quarantinedState.count({ where: { workspaceId: id } })).toBe(0);
    expect(await db.prisma.blob.findUnique({ where: { id: kept!.blobId } })).toBeNull();
    const current = await admin.get(`workspaces/${id}/current-state-version`).expect(200);
    await fetchUrl(current.body.data.attributes['hosted-state-download-url']).expect(200);
  });

  it('are not for organization tokens', async () => {
    const id = await locked();
    const made = await admin
      .post('organizations/acme/authentication-token', resource('authentication-tokens'))
      .expect(201);
    await create(id, stateOf(1), {}, workspaces.as(made.body.data.attributes.token)).expect(404);
  });
});
