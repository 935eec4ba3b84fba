import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { freshStorage, type TestStorage, until, whileHearing } from '../../../test/fresh-storage';
import { upToDateInTime } from '../../../test/staleness';
import type { CanonicalPath } from '../../sdk/canonical-path';
import { Access } from '../policy/access';
import { PolicyStore } from '../policy/store';
import type { StorageKernel } from '../storage/storage';
import { ROOT_NAMESPACE_ID } from '../storage/types';
import { Identity } from './identity';

const ns = ROOT_NAMESPACE_ID;
const mount = () => ({ uuid: randomUUID(), accessor: `auth_userpass_${randomUUID().slice(0, 8)}`, local: false });

function kernelOn(storage: StorageKernel) {
  const { database, committer, barrier, changes: notices, clock } = storage;
  const policies = new PolicyStore({ database, committer, barrier, notices, clock });
  const identity = new Identity({
    database,
    committer,
    barrier,
    notices,
    clock,
    isWithin: (outer, inner) => outer === inner,
  });
  const access = new Access({ policies, notices, clock, namespacePath: (id) => (id === ns ? '' : undefined) });
  return { policies, identity, access };
}

let test: TestStorage;
let here: ReturnType<typeof kernelOn>;
beforeAll(async () => {
  test = await freshStorage();
  here = kernelOn(test.storage);
  await until(() => test.storage.changes.fresh);
});
afterAll(() => test.close());

const logIn = async (...login: Parameters<Identity['login']>) => (await here.identity.login(...login)).entityId;

const code = async (promise: Promise<unknown>): Promise<string> =>
  promise.then(
    () => 'accepted',
    (error: Error) => error.message,
  );

describe('entities', () => {
  it('get a name unless one is given, and are found by any spelling of it', async () => {
    const { entity, created } = await here.identity.entities.write(ns, {}, {});
    expect(created).toBe(true);
    expect(entity.name).toMatch(/^entity_[0-9a-f]{8}$/);
    const entityId = await here.identity.entities.write(
      ns,
      { name: 'Bob' },
      { policies: ['Dev', 'dev', 'a'], metadata: { team: 'web' } },
    );
    expect(entityId.entity.policies).toEqual(['a', 'dev']);
    expect((await here.identity.entities.findByName(ns, 'bOB'))?.id).toBe(entityId.entity.id);
    const again = await here.identity.entities.write(ns, { name: 'BOB' }, { disabled: true });
    expect(again).toMatchObject({
      created: false,
      entity: { id: entityId.entity.id, disabled: true, metadata: { team: 'web' } },
    });
  });

  it.each([
    ['an unknown id', () => here.identity.entities.write(ns, { id: randomUUID() }, {}), 'entity not found from id'],
    ['a malformed id', () => here.identity.entities.write(ns, { id: 'zz' }, {}), 'entity not found from id'],
    [
      'the root policy',
      () => here.identity.entities.write(ns, {}, { policies: ['ROOT'] }),
      'policies cannot contain root',
    ],
    [
      'too much metadata',
      () => here.identity.entities.write(ns, {}, { metadata: { k: 'v'.repeat(513) } }),
      'metadata values can have a maximum of 512 characters',
    ],
  ])('refuse %s', async (_, write, message) => {
    expect(await code(write())).toBe(message);
  });

  it('keep names unique through the database: of fifty simultaneous creations one succeeds', async () => {
    const results = await Promise.all(
      Array.from({ length: 50 }, () => here.identity.entities.write(ns, { name: 'once' }, {})),
    );
    expect(results.filter(({ created }) => created)).toHaveLength(1);
    expect(new Set(results.map(({ entity }) => entity.id)).size).toBe(1);
    const other = await here.identity.entities.write(ns, { name: 'other' }, {});
    expect(await code(here.identity.entities.write(ns, { id: other.entity.id }, { name: 'ONCE' }))).toBe(
      'entity name is already in use',
    );
  });

  it('store only names in plaintext', async () => {
    const where = mount();
    const id = await logIn(ns, where, { name: 'sekretuser', metadata: { key: 'sekretmeta' } }, []);
    await here.identity.entities.write(ns, { id }, { metadata: { a: 'sekretpair' }, policies: ['sekretpolicy'] });
    for (const table of ['entity', 'entity_alias']) {
      const dump = JSON.stringify(await test.byHand(`SELECT t::text FROM ${table} t`));
      expect(dump).not.toMatch(/sekret/);
      expect(dump).not.toContain(Buffer.from('sekret').toString('hex'));
    }
  });
});

describe('logins', () => {
  it('create one entity for an alias, in any case and under simultaneous logins', async () => {
    const where = mount();
    const ids = await Promise.all(
      Array.from({ length: 40 }, (_, i) => logIn(ns, where, { name: i % 2 ? 'Ann' : 'ann', metadata: {} }, [])),
    );
    expect(new Set(ids).size).toBe(1);
    const elsewhere = await logIn(ns, mount(), { name: 'ann', metadata: {} }, []);
    expect(elsewhere).not.toBe(ids[0]);
  });

  it('store the data of the auth method about the user', async () => {
    const where = mount();
    const id = await logIn(ns, where, { name: 'm', metadata: { a: '1' } }, []);
    await logIn(ns, where, { name: 'm', metadata: { a: '2' } }, []);
    expect((await here.identity.find(id))?.subject.entity?.aliases[0]?.metadata).toEqual({ a: '2' });
  });

  it('are refused for a disabled entity', async () => {
    const where = mount();
    const id = await logIn(ns, where, { name: 'gone', metadata: {} }, []);
    await here.identity.entities.write(ns, { id }, { disabled: true });
    expect(await code(logIn(ns, where, { name: 'gone', metadata: {} }, []))).toBe('permission denied');
  });

  it('add the entity to the named external groups of the mount, and remove it from the others', async () => {
    const where = mount();
    const groups = await Promise.all(
      ['Admins', 'users'].map((name) => here.identity.groupAliases.create(ns, { name, mount: where })),
    );
    const id = await logIn(ns, where, { name: 'g', metadata: {} }, ['admins', 'USERS', 'unknown']);
    expect((await here.identity.find(id))?.groupIds).toEqual(new Set(groups.map(({ groupId }) => groupId)));
    await logIn(ns, where, { name: 'g', metadata: {} }, ['users']);
    expect((await here.identity.find(id))?.groupIds).toEqual(new Set([groups[1]!.groupId]));
    await logIn(ns, where, { name: 'g', metadata: {} }, []);
    expect((await here.identity.find(id))?.groupIds).toEqual(new Set());
  });

  it('arriving together each find their own alias and their own groups', async () => {
    const where = mount();
    const other = mount();
    const colours = ['red', 'green', 'blue'];
    const groups = await Promise.all(
      colours.map((name) => here.identity.groupAliases.create(ns, { name, mount: where })),
    );
    const entityId = (n: number) => colours.filter((_, at) => (n >> at) % 2 === 1);
    const login = (n: number, mask: number, at = where) => logIn(ns, at, { name: `person-${n}` }, entityId(mask));
    const people = Array.from({ length: 8 }, (_, n) => n);
    const ids = await Promise.all(people.map((n) => login(n, n)));
    const elsewhere = await Promise.all(people.map((n) => login(n, 7, other)));
    expect(new Set([...ids, ...elsewhere]).size).toBe(16);
    // All change their groups at once: they leave the groups they are in and join the others.
    expect(await Promise.all(people.map((n) => login(n, 7 - n)))).toEqual(ids);
    for (const n of people) {
      const joined = groups.filter((_, at) => ((7 - n) >> at) % 2 === 1).map(({ groupId }) => groupId);
      expect((await here.identity.find(ids[n]!))?.groupIds).toEqual(new Set(joined));
    }
  });

  it('are forgotten with their mount, memberships included', async () => {
    const where = mount();
    const alias = await here.identity.groupAliases.create(ns, { name: 'team', mount: where });
    const id = await logIn(ns, where, { name: 'f', metadata: {} }, ['team']);
    await here.identity.logins.forgetMount(where.uuid);
    expect(await here.identity.groupAliases.find(ns, alias.id)).toBeUndefined();
    expect(await here.identity.find(id)).toMatchObject({ groupIds: new Set(), subject: { entity: { aliases: [] } } });
  });
});

describe('groups', () => {
  it('inherit policies through groups, at once and until membership ends', async () => {
    const { groups, entities } = here.identity;
    const { entity } = await entities.write(ns, {}, { policies: ['own'] });
    const inner = await groups.write(ns, {}, { policies: ['inner'], memberEntityIds: [entity.id] });
    await here.identity.find(entity.id);
    const outer = await groups.write(ns, {}, { policies: ['outer'], memberGroupIds: [inner.group.id] });
    const view = await here.identity.find(entity.id);
    expect(view?.policies).toEqual([{ namespaceId: ns, names: ['inner', 'outer', 'own'] }]);
    const details = await entities.find(ns, entity.id);
    expect(details).toMatchObject({ directGroupIds: [inner.group.id], inheritedGroupIds: [outer.group.id] });
    await groups.write(ns, { id: inner.group.id }, { memberEntityIds: [] });
    expect((await here.identity.find(entity.id))?.policies).toEqual([{ namespaceId: ns, names: ['own'] }]);
  });

  it('never form a cycle, even when both halves are written at the same time', async () => {
    const { groups } = here.identity;
    for (let round = 0; round < 10; round += 1) {
      const [a, b] = await Promise.all([groups.write(ns, {}, {}), groups.write(ns, {}, {})]);
      const outcome = await Promise.all([
        code(groups.write(ns, { id: a.group.id }, { memberGroupIds: [b.group.id] })),
        code(groups.write(ns, { id: b.group.id }, { memberGroupIds: [a.group.id] })),
      ]);
      expect(outcome.filter((text) => text === 'accepted')).toHaveLength(1);
      expect(outcome.find((text) => text !== 'accepted')).toMatch(
        /^cyclic relationship detected for member group ID "[0-9a-f-]{36}"$/,
      );
    }
    const self = await groups.write(ns, {}, {});
    expect(await code(groups.write(ns, { id: self.group.id }, { memberGroupIds: [self.group.id] }))).toMatch(/^cyclic/);
  });
});

describe('merging entities', () => {
  it('moves aliases, keeps old tokens working as the target, and keeps its groups', async () => {
    const { entities, groups } = here.identity;
    const [one, two] = [mount(), mount()];
    const target = await logIn(ns, one, { name: 'x' }, []);
    const source = await logIn(ns, two, { name: 'x' }, []);
    const { group } = await groups.write(ns, {}, { policies: ['p'], memberEntityIds: [source] });
    const both = await groups.write(ns, {}, { policies: ['q'], memberEntityIds: [source, target] });
    await here.identity.merge(ns, { toId: target, fromIds: [source], force: false, aliasIdsToKeep: [] });
    expect(await here.identity.find(source)).toMatchObject({
      entityId: target,
      groupIds: new Set([group.id, both.group.id]),
    });
    expect(await groups.find(ns, group.id)).toMatchObject({ memberEntityIds: [target], version: 2 });
    expect(await groups.find(ns, both.group.id)).toMatchObject({ memberEntityIds: [target], version: 2 });
    expect(await entities.find(ns, target)).toMatchObject({
      mergedEntityIds: [source],
      aliases: [{}, { mergedFromIds: [source] }],
    });
    expect(await logIn(ns, two, { name: 'x' }, [])).toBe(target);
    await entities.write(ns, { id: target }, { policies: ['later'] });
    expect((await here.identity.find(source))?.ownPolicies).toEqual(['later', 'p', 'q']);
    const third = await logIn(ns, mount(), { name: 'x' }, []);
    await here.identity.merge(ns, { toId: third, fromIds: [target], force: false, aliasIdsToKeep: [] });
    expect((await here.identity.find(source))?.entityId).toBe(third);
  });

  it('does not fail simultaneous logins', async () => {
    for (let round = 0; round < 5; round += 1) {
      const [one, two] = [mount(), mount()];
      const target = await logIn(ns, one, { name: 'r' }, []);
      const source = await logIn(ns, two, { name: 'r', metadata: { n: '0' } }, []);
      const logins = Array.from({ length: 8 }, (_, n) =>
        logIn(ns, two, { name: 'r', metadata: { n: String(n) } }, []).then(
          (id) => id,
          (error: Error) => error.message,
        ),
      );
      await here.identity.merge(ns, { toId: target, fromIds: [source], force: false, aliasIdsToKeep: [] });
      for (const outcome of await Promise.all(logins)) expect([source, target]).toContain(outcome);
      expect(await logIn(ns, two, { name: 'r' }, [])).toBe(target);
    }
  });

  it('asks which alias to keep if both have one on a mount', async () => {
    const where = mount();
    const target = await logIn(ns, where, { name: 'c1' }, []);
    const source = await logIn(ns, where, { name: 'c2' }, []);
    const merge = { toId: target, fromIds: [source], force: false };
    expect(await code(here.identity.merge(ns, { ...merge, aliasIdsToKeep: [] }))).toMatch(
      /^entities have aliases on the same mount/,
    );
    const keep = (await here.identity.entityAliases.findByName(where.uuid, 'c2'))!.id;
    await here.identity.merge(ns, { ...merge, aliasIdsToKeep: [keep] });
    expect((await here.identity.entities.find(ns, target))?.aliases).toMatchObject([
      { id: keep, name: 'c2', entityId: target },
    ]);
  });
});

describe('access of callers', () => {
  const policy = (capability: string) => `path "sec/{{identity.entity.name}}" { capabilities = ["${capability}"] }`;

  it('follows policies, entities and groups, on this node with the next request and on others within a second', async () => {
    const there = kernelOn(await test.another());
    await until(async () => test.storage.changes.others > 0);
    const { entity } = await here.identity.entities.write(ns, { name: 'acc' }, {});
    const mine = ['p'];
    const may = async (kernel: typeof here) => {
      const identity = await kernel.identity.find(entity.id);
      const query = { namespaceId: ns, policies: mine, identity };
      const list = await kernel.access.of(query);
      expect(kernel.access.peek(query) ?? list).toBe(list);
      return list.capabilities('sec/acc' as CanonicalPath);
    };
    expect(await may(here)).toEqual(['deny']);
    expect(await may(there)).toEqual(['deny']);
    await here.policies.put(ns, 'P', { text: policy('read') });
    expect(await may(here)).toEqual(['read']);
    await upToDateInTime(async () => (await may(there))[0] === 'read');
    await here.policies.put(ns, 'q', { text: policy('update') });
    const { group } = await here.identity.groups.write(ns, {}, { policies: ['q'], memberEntityIds: [entity.id] });
    expect(await may(here)).toEqual(['read', 'update']);
    await upToDateInTime(async () => (await may(there)).length === 2);
    await there.identity.groups.delete(ns, { id: group.id });
    expect(await may(there)).toEqual(['read']);
    await upToDateInTime(async () => (await may(here)).length === 1);
    await there.policies.delete(ns, 'p');
    expect(await may(there)).toEqual(['deny']);
    await upToDateInTime(async () => (await may(here))[0] === 'deny');
  });

  it('answers cached questions without the database', async () => {
    await here.policies.put(ns, 'warm', { text: 'path "w" { capabilities = ["read"] }' });
    const query = { namespaceId: ns, policies: ['default', 'warm'] };
    await whileHearing(test.storage, async () => {
      const list = await here.access.of(query);
      expect(here.access.peek(query)).toBe(list);
      expect(await here.access.of({ ...query, policies: ['warm', 'default'] })).toBe(list);
      await here.policies.put(ns, 'unrelated', { text: '# nothing to do with it' });
      expect(here.access.peek(query)).toBe(list);
      await here.policies.put(ns, 'warm', { text: 'path "w" { capabilities = ["update"] }' });
      expect(here.access.peek(query)).toBeUndefined();
      expect((await here.access.of(query)).capabilities('w' as CanonicalPath)).toEqual(['update']);
    });
  });
});

describe('the policy store', () => {
  it('counts versions, keeps names in lower case, and lists built-in ones', async () => {
    await here.policies.put(ns, 'Counted', { text: '# nothing' });
    await here.policies.put(ns, 'COUNTED', { text: '# more' });
    expect(await here.policies.find(ns, 'counteD')).toMatchObject({ name: 'counted', version: 2, text: '# more' });
    expect(await here.policies.list(ns)).toEqual(expect.arrayContaining(['counted', 'default', 'root']));
    expect(await here.policies.list(ns)).not.toContain('response-wrapping');
    expect(await here.policies.missing(ns, ['counted', 'default', 'root', 'nope'])).toEqual(['nope']);
  });

  it('allows editing the default policy, and protects built-in ones', async () => {
    expect(await here.policies.find(ns, 'default')).toMatchObject({ version: 0 });
    await here.policies.put(ns, 'default', { text: '# mine' });
    expect(await here.policies.find(ns, 'default')).toMatchObject({ version: 1, text: '# mine' });
    expect(await code(here.policies.delete(ns, 'Default'))).toBe('cannot delete default policy');
    expect(await code(here.policies.delete(ns, 'root'))).toBe('cannot delete "root" policy');
    expect(await code(here.policies.put(ns, 'ROOT', { text: '#' }))).toBe('cannot update "root" policy');
    expect(await code(here.policies.put(ns, 'response-wrapping', { text: '#' }))).toBe(
      'cannot update "response-wrapping" policy',
    );
    await here.policies.delete(ns, 'never-there');
  });

  it('supports check-and-set: of twenty writers that saw one version, one succeeds', async () => {
    await here.policies.put(ns, 'cas', { text: '# 1', cas: 0 });
    const outcome = await Promise.all(
      Array.from({ length: 20 }, (_, i) => code(here.policies.put(ns, 'cas', { text: `# ${i}`, cas: 1 }))),
    );
    expect(outcome.filter((text) => text === 'accepted')).toHaveLength(1);
    expect(outcome).toContain('check-and-set parameter did not match the current version');
    await here.policies.put(ns, 'cas', { text: '# 3', cas: 2, casRequired: true });
    expect(await code(here.policies.put(ns, 'cas', { text: '# 4' }))).toBe(
      'check-and-set parameter required for this call',
    );
  });

  it('stores policies encrypted', async () => {
    await here.policies.put(ns, 'hush', { text: '# sekrettext' });
    expect(JSON.stringify(await test.byHand('SELECT p::text FROM policy p'))).not.toContain(
      Buffer.from('sekret').toString('hex'),
    );
  });
});
