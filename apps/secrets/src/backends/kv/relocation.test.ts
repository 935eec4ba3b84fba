import { beforeAll, describe, expect, it } from '@jest/globals';
import { startSecrets } from '../../../test/start-secrets';

describe('moving and copying secrets', () => {
  const secrets = startSecrets();
  const put = (at: string, value: string) => secrets.root.write(`kv/data/${at}`, { data: { value } }).expect(200);
  const value = async (at: string, version = 0) => {
    const { body } = await secrets.root.read(`kv/data/${at}?version=${version}`);
    return body.data?.data?.value ?? null;
  };
  const names = async (folder: string) =>
    ((await secrets.root.scan(`kv/metadata/${folder}`)).body.data?.keys ?? []) as string[];
  let count = 0;
  const fresh = () => `t${++count}`;
  beforeAll(async () => {
    await secrets.root.write('sys/mounts/kv', { type: 'kv', options: { version: '2' } }).expect(204);
  });

  it('moves a secret with its versions, deleted ones as well, and its metadata', async () => {
    const at = fresh();
    for (const text of ['one', 'two', 'three']) await put(`${at}/a`, text);
    await secrets.root.write(`kv/delete/${at}/a`, { versions: [2] }).expect(204);
    await secrets.root.write(`kv/metadata/${at}/a`, { max_versions: 4, custom_metadata: { owner: 'ada' } }).expect(204);
    const before = (await secrets.root.read(`kv/metadata/${at}/a`).expect(200)).body.data;
    const { body } = await secrets.root.write('kv/move', { from: `${at}/a`, to: `${at}/b` }).expect(200);
    expect(body.data).toEqual({ secrets: [{ from: `${at}/a`, to: `${at}/b` }] });
    await secrets.root.read(`kv/metadata/${at}/a`).expect(404);
    await secrets.root.read(`kv/data/${at}/a`).expect(404);
    const after = (await secrets.root.read(`kv/metadata/${at}/b`).expect(200)).body.data;
    expect({ ...after, updated_time: '' }).toEqual({ ...before, updated_time: '' });
    await secrets.root.write(`kv/undelete/${at}/b`, { versions: [2] }).expect(204);
    expect([await value(`${at}/b`, 1), await value(`${at}/b`, 2), await value(`${at}/b`)]).toEqual([
      'one',
      'two',
      'three',
    ]);
  });

  it('moves a folder with all that is below it, and leaves a secret of the same name', async () => {
    const at = fresh();
    await put(at, 'itself');
    await put(`${at}/x`, 'x');
    await put(`${at}/deep/y`, 'y');
    await secrets.root.write('kv/move', { from: `${at}/`, to: `${at}-new/` }).expect(200);
    expect([await names(`${at}/`), await names(`${at}-new/`)]).toEqual([[], ['deep/y', 'x']]);
    expect([await value(at), await value(`${at}-new/deep/y`)]).toEqual(['itself', 'y']);
  });

  it('copies the newest value, or everything', async () => {
    const at = fresh();
    await put(`${at}/a`, 'old');
    await put(`${at}/a`, 'new');
    await secrets.root.write('kv/copy', { from: `${at}/a`, to: `${at}/b` }).expect(200);
    await secrets.root.write('kv/copy', { from: `${at}/a`, to: `${at}/c`, all_versions: true }).expect(200);
    expect([
      await value(`${at}/b`),
      (await secrets.root.read(`kv/metadata/${at}/b`)).body.data.current_version,
    ]).toEqual(['new', 1]);
    expect([await value(`${at}/c`), await value(`${at}/c`, 1), await value(`${at}/a`)]).toEqual(['new', 'old', 'new']);
  });

  it('replaces only on request, and nothing of a folder if one secret is in the way', async () => {
    const at = fresh();
    await put(`${at}/from/a`, 'a');
    await put(`${at}/from/b`, 'b');
    await put(`${at}/to/b`, 'mine');
    const folders = { from: `${at}/from/`, to: `${at}/to/` };
    for (const verb of ['move', 'copy']) {
      const { body } = await secrets.root.write(`kv/${verb}`, folders).expect(400);
      expect(body.errors[0]).toContain(`there is already a secret at ${at}/to/b`);
      expect([await names(`${at}/from/`), await names(`${at}/to/`)]).toEqual([['a', 'b'], ['b']]);
    }
    await secrets.root.write('kv/copy', { ...folders, overwrite: true }).expect(200);
    expect([await value(`${at}/to/b`), await value(`${at}/to/b`, 1)]).toEqual(['b', 'mine']);
    await secrets.root.write('kv/move', { ...folders, overwrite: true }).expect(200);
    expect([await value(`${at}/to/b`), await value(`${at}/to/b`, 2), await names(`${at}/from/`)]).toEqual([
      'b',
      null,
      [],
    ]);
    await secrets.root.write(`kv/metadata/${at}/to/b`, { cas_required: true }).expect(204);
    await put(`${at}/c`, 'c');
    await secrets.root.write('kv/move', { from: `${at}/c`, to: `${at}/to/b`, overwrite: true }).expect(400);
  });

  it.each([
    ['from is missing', { to: 'x' }],
    ['to is missing', { from: 'x' }],
    ['both be secrets, or both be folders', { from: 'x/', to: 'y' }],
    ['must not be the same as from', { from: 'x', to: 'x' }],
    ['or below it', { from: 'x/', to: 'x/y/' }],
    ['must be a path', { from: 'x', to: '../sys/policy' }],
    ['must be a path', { from: 'x', to: 'a//b' }],
    ['must be a path', { from: 'x', to: 'a\u0000b' }],
    ['longer than', { from: 'x', to: 'y'.repeat(5000) }],
  ] as [string, object][])('refuses invalid sources and targets: %s', async (why, body) => {
    await put('x', 'x');
    for (const verb of ['move', 'copy'])
      expect((await secrets.root.write(`kv/${verb}`, body).expect(400)).body.errors[0]).toContain(why);
    expect(await value('x')).toBe('x');
  });

  it('moves a folder into the one above it, unless one of its secrets would replace another', async () => {
    const at = fresh();
    await put(`${at}/deep/a`, 'a');
    await put(`${at}/deep/deep/b`, 'b');
    await secrets.root.write('kv/move', { from: `${at}/deep/`, to: `${at}/` }).expect(200);
    expect(await names(`${at}/`)).toEqual(['a', 'deep/b']);
    await put(`${at}/deep/deep/b`, 'another');
    const folder = { from: `${at}/deep/`, to: `${at}/`, overwrite: true };
    expect((await secrets.root.write('kv/move', folder).expect(400)).body.errors[0]).toContain('would replace');
    expect([await value(`${at}/deep/b`), await value(`${at}/deep/deep/b`)]).toEqual(['b', 'another']);
  });

  it('limits how much is moved at once', async () => {
    const at = fresh();
    await Promise.all(Array.from({ length: 201 }, (_, n) => put(`${at}/many/${n}`, 'v')));
    const { body } = await secrets.root.write('kv/move', { from: `${at}/many/`, to: `${at}/else/` }).expect(400);
    expect(body.errors[0]).toContain('more than 200 secrets');
    await secrets.root.delete(`kv/metadata/${at}/many/0`).expect(204);
    await secrets.root.write('kv/move', { from: `${at}/many/`, to: `${at}/else/` }).expect(200);
    expect((await names(`${at}/else/`)).length).toBe(200);
  });

  // The rights that single requests would need; without any one of them nothing happens.
  const rights = (at: string): Readonly<Record<string, string>> => ({
    'kv/move': 'update',
    [`kv/data/${at}/from/a`]: 'read',
    [`kv/metadata/${at}/from/a`]: 'read", "delete',
    [`kv/data/${at}/to/a`]: 'create',
    [`kv/metadata/${at}/to/a`]: 'create',
    [`kv/metadata/${at}/from/`]: 'list',
  });
  const policyOf = (of: Readonly<Record<string, string>>) =>
    Object.entries(of)
      .map(([path, capabilities]) => `path "${path}" { capabilities = ["${capabilities}"] }`)
      .join('\n');

  it.each([0, 1, 2, 3, 4, 5])('needs each right that single requests would need (%i)', async (missing) => {
    const at = fresh();
    await put(`${at}/from/a`, 'a');
    await secrets.root.write(`kv/metadata/${at}/from/a`, { custom_metadata: { owner: 'ada' } }).expect(204);
    const all = rights(at);
    const lacking = Object.fromEntries(Object.entries(all).filter((_one, index) => index !== missing));
    const folder = { from: `${at}/from/`, to: `${at}/to/` };
    const weak = await secrets.withPolicy(policyOf(lacking));
    const { body } = await weak.write('kv/move', folder).expect(403);
    if (missing > 0) expect(body.errors[0]).toContain(` on ${Object.keys(all)[missing]}`);
    expect([await names(`${at}/from/`), await names(`${at}/to/`)]).toEqual([['a'], []]);
    const able = await secrets.withPolicy(policyOf(all));
    await able.write('kv/move', folder).expect(200);
    expect([await names(`${at}/from/`), await names(`${at}/to/`)]).toEqual([[], ['a']]);
  });

  it('applies parameter rules at the target, without revealing unreadable values', async () => {
    const at = fresh();
    await put(`${at}/a`, 'secret');
    const common = `path "kv/copy" { capabilities = ["update"] }\npath "kv/data/${at}/a" { capabilities = ["read"] }`;
    const bound = await secrets.withPolicy(
      `${common}\npath "kv/data/${at}/b" { capabilities = ["create"] denied_parameters = { "data" = [] } }`,
    );
    await bound.write('kv/copy', { from: `${at}/a`, to: `${at}/b` }).expect(403);
    const creator = await secrets.withPolicy(`${common}\npath "kv/data/${at}/*" { capabilities = ["create"] }`);
    await creator.write('kv/copy', { from: `${at}/a`, to: `${at}/b` }).expect(200);
    await creator.write('kv/copy', { from: `${at}/a`, to: `${at}/b`, overwrite: true }).expect(403);
    const there = await creator.write('kv/copy', { from: `${at}/b`, to: `${at}/c` }).expect(403);
    const absent = await creator.write('kv/copy', { from: `${at}/z`, to: `${at}/c` }).expect(403);
    expect(there.body.errors[0].replace('/b', '/z')).toBe(absent.body.errors[0]);
  });
});
