import { describe, expect, it } from '@jest/globals';
import { startSecrets } from '../../../test/start-secrets';

describe('kv version 1', () => {
  const secrets = startSecrets();
  it('is mounted, stores pairs under any path, and is deleted with its mount', async () => {
    await secrets.root.write('sys/mounts/plain', { type: 'kv' }).expect(204);
    await secrets.root.write('plain/a/b', { color: 'green', ttl: '30m' }).expect(204);
    const { body } = await secrets.root.read('plain/a/b').expect(200);
    expect(body).toMatchObject({ data: { color: 'green', ttl: '30m' }, lease_duration: 1800, renewable: false });
    await secrets.root.write('plain/c', { n: 1 }).expect(204);
    expect((await secrets.root.read('plain/c').expect(200)).body.lease_duration).toBe(2764800);
    expect((await secrets.root.list('plain').expect(200)).body.data.keys).toEqual(['a/', 'c']);
    await secrets.root.delete('plain/c').expect(204);
    await secrets.root.read('plain/c').expect(404);
    await secrets.root.write('plain/c', {}).expect(400, { errors: ['missing data fields'] });
    await secrets.root.delete('sys/mounts/plain').expect(204);
    await secrets.root.read('plain/a/b').expect(404);
    await secrets.root.write('sys/mounts/plain', { type: 'kv' }).expect(204);
    await secrets.root.read('plain/a/b').expect(404);
  });

  it('distinguishes create from update by whether the secret exists', async () => {
    await secrets.root.write('sys/mounts/rights', { type: 'kv' }).expect(204);
    const creator = await secrets.withPolicy('path "rights/*" { capabilities = ["create"] }');
    const updater = await secrets.withPolicy('path "rights/*" { capabilities = ["update"] }');
    await updater.write('rights/x', { a: 1 }).expect(403);
    await creator.write('rights/x', { a: 1 }).expect(204);
    await creator.write('rights/x', { a: 2 }).expect(403);
    await updater.write('rights/x', { a: 2 }).expect(204);
  });
});

describe('kv version 2', () => {
  const secrets = startSecrets();
  const fresh = async (name: string) => {
    await secrets.root.write(`sys/mounts/${name}`, { type: 'kv', options: { version: '2' } }).expect(204);
    return name;
  };

  it('keeps the versions of a secret', async () => {
    const kv = await fresh('kv');
    const first = await secrets.root.write(`${kv}/data/app`, { data: { a: '1', n: 12 } }).expect(200);
    expect(first.body.data).toMatchObject({ version: 1, destroyed: false, deletion_time: '', custom_metadata: null });
    await secrets.root.write(`${kv}/data/app`, '{"data":{"a":"2","n":12345678901234567890}}').expect(200);
    const newest = await secrets.root.read(`${kv}/data/app`).expect(200);
    expect(newest.body.data).toMatchObject({ data: { a: '2' }, metadata: { version: 2 } });
    expect(newest.text).toContain('12345678901234567890');
    const older = await secrets.root.read(`${kv}/data/app?version=1`).expect(200);
    expect(older.body.data.data.a).toBe('1');
    await secrets.root.read(`${kv}/data/app?version=9`).expect(404, { errors: [] });
    expect((await secrets.root.list(`${kv}/metadata`).expect(200)).body.data.keys).toEqual(['app']);
  });

  it('records who wrote each version, also when the secret is moved', async () => {
    const kv = await fresh('authors');
    await secrets.root.write(`${kv}/data/app`, { data: { a: '1' } }).expect(200);
    const writer = await secrets.withPolicy(`path "${kv}/*" { capabilities = ["create", "update", "read", "delete"] }`);
    await writer.write(`${kv}/data/app`, { data: { a: '2' } }).expect(200);
    await writer.write(`${kv}/copy`, { from: 'app', to: 'copied' }).expect(200);
    await secrets.root.write(`${kv}/move`, { from: 'app', to: 'moved' }).expect(200);
    const authors = async (path: string) => {
      const { body } = await secrets.root.read(`${kv}/metadata/${path}`).expect(200);
      const versions = Object.values(body.data.versions as Record<string, { created_by: unknown }>);
      return versions.map(({ created_by }) => created_by);
    };
    const by = (display_name: string) => ({ display_name, entity_id: '' });
    expect(await authors('moved')).toEqual([by('root'), by('token')]);
    expect(await authors('copied')).toEqual([by('token')]);
  });

  it('hints at the right path for the other version, only to callers who may read there', async () => {
    const kv = await fresh('elsewhere');
    const weak = await secrets.withPolicy('path "other/*" { capabilities = ["read"] }');
    for (const verb of ['read', 'list', 'delete', 'write'] as const) {
      const { body } = await secrets.root[verb](`${kv}/app`).expect(404);
      expect(body.errors).toEqual(['1 error occurred:\n\t* unsupported path\n\n']);
      expect(body.warnings).toEqual([
        expect.stringMatching(/^Invalid path for a versioned K\/V secrets engine: .*data\//),
      ]);
      expect(body.request_id).toMatch(/^[0-9a-f-]{36}$/);
      expect((await weak[verb](`${kv}/app`).expect(403)).body).not.toHaveProperty('warnings');
    }
    expect((await secrets.root.read(`${kv}/data/app`).expect(404)).body).toEqual({ errors: [] });
    expect((await secrets.root.patch(`${kv}/config`, {}).expect(405)).body).not.toHaveProperty('warnings');
    expect((await secrets.root.read('sys/nowhere').expect(404)).body).not.toHaveProperty('warnings');
  });

  it('deletes, undeletes and destroys versions', async () => {
    const kv = await fresh('ends');
    await secrets.root.write(`${kv}/data/s`, { data: { a: 1 } }).expect(200);
    await secrets.root.write(`${kv}/data/s`, { data: { a: 2 } }).expect(200);
    await secrets.root.delete(`${kv}/data/s`).expect(204);
    const deleted = await secrets.root.read(`${kv}/data/s`).expect(404);
    expect(deleted.body.data).toMatchObject({ data: null, metadata: { version: 2, destroyed: false } });
    expect(deleted.body.data.metadata.deletion_time).not.toBe('');
    await secrets.root.write(`${kv}/undelete/s`, { versions: [2] }).expect(204);
    await secrets.root.read(`${kv}/data/s`).expect(200);
    await secrets.root.write(`${kv}/delete/s`, { versions: '1' }).expect(204);
    await secrets.root.read(`${kv}/data/s?version=1`).expect(404);
    await secrets.root.write(`${kv}/destroy/s`, { versions: [1] }).expect(204);
    await secrets.root.write(`${kv}/undelete/s`, { versions: [1] }).expect(204);
    const destroyed = await secrets.root.read(`${kv}/data/s?version=1`).expect(404);
    expect(destroyed.body.data.metadata.destroyed).toBe(true);
    await secrets.root.delete(`${kv}/metadata/s`).expect(204);
    await secrets.root.read(`${kv}/data/s`).expect(404, { errors: [] });
  });

  it('writes only after the version the caller saw', async () => {
    const kv = await fresh('cas');
    const write = (cas?: number) => secrets.root.write(`${kv}/data/s`, { data: { a: 1 }, options: { cas } });
    await write(0).expect(200);
    for (const cas of [0, -1]) {
      await write(cas).expect(400, { errors: ['check-and-set parameter did not match the current version'] });
    }
    await secrets.root.write(`${kv}/config`, { cas_required: true }).expect(204);
    await write().expect(400, { errors: ['check-and-set parameter required for this call'] });
    for (const options of [undefined, { cas: 0 }, { cas: 5 }]) {
      await secrets.root.patch(`${kv}/data/none`, { data: { a: 1 }, options }).expect(404, { errors: [] });
    }
    const answers = await Promise.all(Array.from({ length: 6 }, () => write(1)));
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 400, 400, 400, 400, 400]);
  });

  it('gives simultaneous writers a version each', async () => {
    const kv = await fresh('many');
    const answers = await Promise.all(
      Array.from({ length: 6 }, (_, i) => secrets.root.write(`${kv}/data/s`, { data: { i } })),
    );
    expect(answers.map(({ body }) => body.data?.version).sort()).toEqual([1, 2, 3, 4, 5, 6]);
  });

  it('keeps as many versions as configured', async () => {
    const kv = await fresh('few');
    await secrets.root.write(`${kv}/metadata/s`, { max_versions: 2, custom_metadata: { owner: 'ops' } }).expect(204);
    for (let i = 1; i <= 4; i++) await secrets.root.write(`${kv}/data/s`, { data: { i } }).expect(200);
    const { body } = await secrets.root.read(`${kv}/metadata/s`).expect(200);
    expect(body.data).toMatchObject({ current_version: 4, oldest_version: 3, custom_metadata: { owner: 'ops' } });
    expect(Object.keys(body.data.versions)).toEqual(['3', '4']);
    await secrets.root.read(`${kv}/data/s?version=2`).expect(404);
  });

  it('patches the newest version', async () => {
    const kv = await fresh('patch');
    await secrets.root.patch(`${kv}/data/s`, { data: { a: 1 } }).expect(404);
    await secrets.root.write(`${kv}/data/s`, { data: { a: 1, b: { c: 1, d: 2 } } }).expect(200);
    await secrets.root.patch(`${kv}/data/s`, { data: { a: null, b: { c: 9 }, e: 5 } }).expect(200);
    const { body } = await secrets.root.read(`${kv}/data/s`).expect(200);
    expect(body.data.data).toEqual({ b: { c: 9, d: 2 }, e: 5 });
    await secrets.root.delete(`${kv}/data/s`).expect(204);
    const deleted = await secrets.root.patch(`${kv}/data/s`, { data: { a: 1 } }).expect(404);
    expect(deleted.body.data).toMatchObject({
      version: 2,
      deletion_time: expect.stringMatching(/^2/),
      destroyed: false,
    });
    await secrets.root.write(`${kv}/destroy/s`, { versions: [2] }).expect(204);
    const destroyed = await secrets.root.patch(`${kv}/data/s`, { data: { a: 1 } }).expect(404);
    expect(destroyed.body.data).toMatchObject({ version: 2, destroyed: true });
    await secrets.root.patch(`${kv}/metadata/s`, { custom_metadata: { x: 'y' } }).expect(204);
    await secrets.root.patch(`${kv}/metadata/s`, { custom_metadata: { x: null, z: 'w' } }).expect(204);
    expect((await secrets.root.read(`${kv}/metadata/s`)).body.data.custom_metadata).toEqual({ z: 'w' });
    await secrets.root.patch(`${kv}/metadata/s`, JSON.parse('{"custom_metadata":{"__proto__":"p"}}')).expect(204);
    const { text } = await secrets.root.read(`${kv}/metadata/s`);
    expect(text).toContain('"custom_metadata":{"z":"w","__proto__":"p"}');
  });

  it('lists secrets with their metadata', async () => {
    const kv = await fresh('detailed');
    for (const name of ['a', 'b/c', 'b/d/e']) await secrets.root.write(`${kv}/data/${name}`, { data: { x: 1 } });
    await secrets.root.patch(`${kv}/metadata/b/c`, { custom_metadata: { owner: 'ada' } }).expect(204);
    const metadataOf = async (name: string) =>
      (await secrets.root.read(`${kv}/metadata/${name}`).expect(200)).body.data;
    const all = await secrets.root.list(`${kv}/detailed-metadata`).expect(200);
    expect(all.body.data).toEqual({ keys: ['a', 'b/'], key_info: { a: await metadataOf('a'), 'b/': {} } });
    const below = await secrets.root.list(`${kv}/detailed-metadata/b`).expect(200);
    expect(below.body.data).toEqual({ keys: ['c', 'd/'], key_info: { c: await metadataOf('b/c'), 'd/': {} } });
    const deep = await secrets.root.scan(`${kv}/detailed-metadata/b`).expect(200);
    expect(deep.body.data).toEqual({
      keys: ['c', 'd/e'],
      key_info: { c: await metadataOf('b/c'), 'd/e': await metadataOf('b/d/e') },
    });
    expect((await secrets.root.list(`${kv}/detailed-metadata?after=a&limit=1`).expect(200)).body.data.keys).toEqual([
      'b/',
    ]);
    await secrets.root.list(`${kv}/detailed-metadata/nothing`).expect(404);
  });

  it('shows the shape of a secret without its values', async () => {
    const kv = await fresh('shape');
    await secrets.root.write(`${kv}/data/s`, { data: { a: { b: { c: 'secret' } }, d: 'x' } }).expect(200);
    const deep = await secrets.root.read(`${kv}/subkeys/s`).expect(200);
    expect(deep.body.data.subkeys).toEqual({ a: { b: { c: null } }, d: null });
    const flat = await secrets.root.read(`${kv}/subkeys/s?depth=1`).expect(200);
    expect(flat.body.data.subkeys).toEqual({ a: null, d: null });
  });

  it.each([
    ['data/s', {}, 'no data provided'],
    ['data/s', { data: 'text' }, 'data must be an object'],
    [
      'data/s',
      { data: {}, options: { cas: 'x' } },
      'error parsing check-and-set parameter: it must be a version number',
    ],
    ['destroy/s', {}, 'no version number provided'],
    ['destroy/s', { versions: ['x'] }, 'versions must be version numbers'],
    ['metadata/s', { custom_metadata: { a: 1 } }, 'custom_metadata: value of "a" must be a string'],
    ['metadata/s', { max_versions: -1 }, 'max_versions must not be negative'],
    ['config', { max_versions: -1 }, 'max_versions must not be negative'],
  ])('refuses %s with %j', async (path, body, message) => {
    await secrets.root.write(`kv/${path}`, body).expect(400, { errors: [message] });
  });
});
