import { randomUUID } from 'node:crypto';
import { describe, expect, it } from '@jest/globals';
import { until } from './fresh-storage';
import { withSecondNode } from './second-node';
import { startSecrets } from './start-secrets';

describe('an object that was deleted and created again', () => {
  const secrets = startSecrets();
  const nodes = withSecondNode(secrets);

  const ask = async (url: string, method: string, path: string, token = secrets.rootToken, body?: object) => {
    const headers = { 'X-Service-Token': token };
    const answer = await fetch(`${url}/v1/${path}`, { method, headers, body: body && JSON.stringify(body) });
    const text = await answer.text();
    return { status: answer.status, body: text === '' ? undefined : JSON.parse(text) };
  };
  const onAll = (method: string, path: string, token?: string) =>
    Promise.all(nodes.map((url) => ask(url, method, path, token)));
  const statuses = async (method: string, path: string, token?: string) =>
    (await onAll(method, path, token)).map(({ status }) => status);
  const write = async (path: string, body: object, token?: string) => {
    const answer = await ask(nodes[0]!, 'POST', path, token, body);
    expect([path, answer.body?.errors ?? answer.status < 300]).toEqual([path, true]);
    return answer.body;
  };
  const gone = (path: string) => until(async () => (await statuses('GET', path)).every((status) => status === 404));

  describe('as a token of the same id', () => {
    type Made = { id: string; accessor: string; parent: string };
    // The uses of the token: one write, a read on each node, and a final one.
    const ways: Record<string, { more?: object; end(made: Made): PromiseLike<unknown> }> = {
      'revoked by another': { end: ({ id }) => write('auth/token/revoke', { token: id }) },
      'revoked by itself': { end: ({ id }) => write('auth/token/revoke-self', {}, id) },
      'revoked by its accessor': { end: ({ accessor }) => write('auth/token/revoke-accessor', { accessor }) },
      'revoked without its children': { end: ({ id }) => write('auth/token/revoke-orphan', { token: id }) },
      'revoked with its parent': { end: ({ parent }) => write('auth/token/revoke', { token: parent }) },
      'revoked by a prefix': { end: () => write('sys/leases/revoke-prefix/auth/token/create', {}) },
      'used up': { more: { num_uses: 4 }, end: ({ id }) => ask(nodes[0]!, 'GET', 'auth/token/lookup-self', id) },
      expired: {
        more: { ttl: '3s' },
        end: ({ id }) => until(async () => (await ask(nodes[0]!, 'GET', 'auth/token/lookup-self', id)).status === 403),
      },
    };

    it.each(Object.keys(ways))('has none of its earlier private data: %s', async (way) => {
      const { more = {}, end } = ways[way]!;
      const id = `again-${randomUUID()}`;
      const parent = (await write('auth/token/create', { policies: ['root'] })).auth.client_token as string;
      const fields = { id, policies: ['root'], ...more };
      const { accessor } = (await write('auth/token/create', fields, parent)).auth;
      await write('cubbyhole/y', { old: true }, id);
      expect(await statuses('GET', 'cubbyhole/y', id)).toEqual([200, 200]);
      await end({ id, accessor, parent });
      const again = { id, policies: ['root'] };
      await until(
        async () => (await ask(nodes[0]!, 'POST', 'auth/token/create', secrets.rootToken, again)).status === 200,
      );
      expect(await statuses('LIST', 'cubbyhole/', id)).toEqual([404, 404]);
      expect(await statuses('GET', 'cubbyhole/y', id)).toEqual([404, 404]);
      expect(await statuses('GET', 'cubbyhole/never', id)).toEqual([404, 404]);
    });
  });

  /** How an object is created, read on every node, and removed; after it is created again, its path must be empty. */
  interface Place {
    make(): Promise<unknown>;
    fill(): Promise<unknown>;
    readonly at: string;
    end(): Promise<unknown>;
  }
  const del = async (path: string) => {
    const { status } = await ask(nodes[0]!, 'DELETE', path);
    expect([200, 202, 204]).toContain(status);
  };
  const mount = (path: string, body: object, fill: object, at: string): Place => ({
    make: () => write(`sys/mounts/${path}`, body),
    fill: () => write(`${path}/${at}`, fill),
    at: `${path}/${at}`,
    end: () => del(`sys/mounts/${path}`),
  });
  const places: Record<string, Place> = {
    'a kv mount': mount('one', { type: 'kv' }, { n: 1 }, 'x'),
    'a kv mount with versions': mount('two', { type: 'kv', options: { version: '2' } }, { data: { n: 1 } }, 'data/x'),
    'a kv mount that was moved': {
      ...mount('moved', { type: 'kv' }, { n: 1 }, 'x'),
      async end() {
        const { data } = await write('sys/remount', { from: 'moved', to: `moved-${randomUUID()}` });
        await until(async () => {
          const status = await ask(nodes[0]!, 'GET', `sys/remount/status/${data.migration_id}`);
          return status.body.data.migration_info.status === 'success';
        });
      },
    },
    'an auth method': {
      make: () => write('sys/auth/again', { type: 'userpass' }),
      fill: () => write('auth/again/users/ada', { password: 'right' }),
      at: 'auth/again/users/ada',
      end: () => del('sys/auth/again'),
    },
    'a namespace': {
      make: async () => {
        await write('sys/namespaces/again', {});
        await write('again/sys/mounts/kv', { type: 'kv' });
      },
      fill: () => write('again/kv/x', { n: 1 }),
      at: 'again/kv/x',
      async end() {
        await del('sys/namespaces/again');
        await gone('sys/namespaces/again');
      },
    },
    'metadata of a secret': {
      make: async () => {
        const { status } = await ask(nodes[0]!, 'GET', 'sys/mounts/meta');
        if (status !== 200) await write('sys/mounts/meta', { type: 'kv', options: { version: '2' } });
      },
      fill: () => write('meta/data/x', { data: { n: 1 } }),
      at: 'meta/data/x?version=1',
      end: () => del('meta/metadata/x'),
    },
  };

  it.each(Object.keys(places))('has none of its earlier contents: %s', async (what) => {
    const { make, fill, at, end } = places[what]!;
    await make();
    await fill();
    await until(async () => (await statuses('GET', at)).every((status) => status === 200));
    await end();
    await make();
    await until(async () => (await statuses('GET', at)).every((status) => status === 404));
  });

  it.each(['id', 'name'])('as a person or group of the same name has no earlier rights, deleted by %s', async (by) => {
    const unique = `by-${by}`;
    await write(`sys/auth/${unique}`, { type: 'userpass' });
    await write('sys/policies/acl/kept', { policy: 'path "kept/*" { capabilities = ["read"] }' });
    await write(`auth/${unique}/users/ada`, { password: 'right' });
    const logIn = async () => {
      const { auth } = await write(`auth/${unique}/login/ada`, { password: 'right' });
      return { token: auth.client_token as string, entity: auth.entity_id as string };
    };
    const rights = async (token: string) =>
      (await onAll('GET', 'auth/token/lookup-self', token)).map(({ body }) => body.data.identity_policies ?? []);
    const before = await logIn();
    await write('identity/entity', { id: before.entity, policies: ['kept'] });
    const { name } = (await ask(nodes[0]!, 'GET', `identity/entity/id/${before.entity}`)).body.data;
    const group = { name: unique, policies: ['kept'], member_entity_ids: [before.entity] };
    const groupId = (await write('identity/group', group)).data.id;
    await until(async () => (await rights(before.token)).every((all) => all.includes('kept')));
    await del(by === 'id' ? `identity/entity/id/${before.entity}` : `identity/entity/name/${name}`);
    await del(by === 'id' ? `identity/group/id/${groupId}` : `identity/group/name/${unique}`);
    await write('identity/entity', { name });
    await write('identity/group', { name: unique });
    const after = await logIn();
    expect(after.entity).not.toBe(before.entity);
    expect(await rights(after.token)).toEqual([[], []]);
    expect((await onAll('GET', `identity/group/name/${unique}`)).map(({ body }) => body.data.policies ?? [])).toEqual([
      [],
      [],
    ]);
  });
});
