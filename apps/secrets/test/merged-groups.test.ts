import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { GithubStandIn } from './stand-ins/github';
import { startSecrets } from './start-secrets';

describe('external groups of merged entities', () => {
  const hub = new GithubStandIn();
  beforeAll(() => hub.start());
  afterAll(() => hub.stop());
  const secrets = startSecrets();
  const team = { name: 'ops', slug: 'ops', organization: 42 };
  const change = (id: string, fields: object) =>
    secrets.root.write(`identity/entity-alias/id/${id}`, fields).expect(200);

  /** A mount whose team `ops` is an external group. */
  async function external(mount: string): Promise<{ accessor: string; group: string }> {
    await secrets.root.write(`sys/auth/${mount}`, { type: 'github' }).expect(204);
    const config = { organization: 'acme', base_url: hub.address, token_ttl: '10h' };
    await secrets.root.write(`auth/${mount}/config`, config).expect(204);
    const fields = { name: mount, type: 'external', policies: 'ops-policy' };
    const group = (await secrets.root.write('identity/group', fields).expect(200)).body.data.id;
    const accessor = (await secrets.root.read('sys/auth').expect(200)).body.data[`${mount}/`].accessor;
    const alias = { name: 'ops', mount_accessor: accessor, canonical_id: group };
    await secrets.root.write('identity/group-alias', alias).expect(200);
    return { accessor, group };
  }

  it.each([
    ['of the merged entity', 'bob'],
    ['of the target entity', 'ada'],
  ])('end with the alias %s', async (_, target) => {
    const mount = `github-${target}`;
    await external(mount);
    hub.members.set('ada-token', { login: 'Ada', organizations: [42], teams: [team] });
    hub.members.set('bob-token', { login: 'Bob', organizations: [42], teams: [] });
    const login = async (token: string) =>
      (await secrets.anonymous.write(`auth/${mount}/login`, { token }).expect(200)).body.auth;
    const [ada, bob] = [await login('ada-token'), await login('bob-token')];
    const policies = async (token: string) =>
      (await secrets.as(token).read('auth/token/lookup-self').expect(200)).body.data.identity_policies ?? [];
    expect([await policies(ada.client_token), await policies(bob.client_token)]).toEqual([['ops-policy'], []]);
    const [to, from] = target === 'bob' ? [bob, ada] : [ada, bob];
    const kept = (await secrets.root.read(`identity/entity/id/${bob.entity_id}`).expect(200)).body.data.aliases[0].id;
    const merge = {
      to_entity_id: to.entity_id,
      from_entity_ids: [from.entity_id],
      conflicting_alias_ids_to_keep: [kept],
    };
    expect((await secrets.root.write('identity/entity/merge', merge)).status).toBeLessThan(300);
    expect([await policies(ada.client_token), await policies(bob.client_token)]).toEqual([[], []]);
    // Renewing the token of the dropped alias restores nothing.
    await secrets.as(ada.client_token).write('auth/token/renew-self', {}).expect(200);
    expect([await policies(ada.client_token), await policies(bob.client_token)]).toEqual([[], []]);
    hub.members.set('bob-token', { login: 'Bob', organizations: [42], teams: [team] });
    await secrets.as(ada.client_token).write('auth/token/renew-self', {}).expect(200);
    expect(await policies(bob.client_token)).toEqual([]);
    // Renewing the token of the kept alias restores its policies.
    await secrets.as(bob.client_token).write('auth/token/renew-self', {}).expect(200);
    expect([await policies(ada.client_token), await policies(bob.client_token)]).toEqual([
      ['ops-policy'],
      ['ops-policy'],
    ]);
  });

  it.each([
    ['deleted', async (id: string) => secrets.root.delete(`identity/entity-alias/id/${id}`).expect(204)],
    ['given to another entity', async (id: string, other: string) => change(id, { canonical_id: other })],
    ['renamed', async (id: string) => change(id, { name: 'another' })],
  ])('end with an alias that is %s', async (what, end) => {
    const mount = `github-${what.split(' ', 1)[0]}`;
    const { accessor, group } = await external(mount);
    hub.members.set('cleo-token', { login: 'Cleo', organizations: [42], teams: [team] });
    const { body } = await secrets.anonymous.write(`auth/${mount}/login`, { token: 'cleo-token' }).expect(200);
    const { entity_id: id, client_token: token } = body.auth;
    expect((await secrets.as(token).read('auth/token/lookup-self')).body.data.identity_policies).toEqual([
      'ops-policy',
    ]);
    const other = (await secrets.root.write('identity/entity', { name: `other-${mount}` }).expect(200)).body.data.id;
    const { data } = (await secrets.root.read(`identity/entity/id/${id}`).expect(200)).body;
    expect(data.aliases[0].mount_accessor).toBe(accessor);
    await end(data.aliases[0].id, other);
    const self = (await secrets.as(token).read('auth/token/lookup-self').expect(200)).body.data;
    expect(self.identity_policies ?? []).toEqual([]);
    expect((await secrets.root.read(`identity/group/id/${group}`).expect(200)).body.data.member_entity_ids).toBeNull();
  });
});
