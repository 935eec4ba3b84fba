import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { GithubStandIn } from './stand-ins/github';
import { startSecrets } from './start-secrets';

describe('external groups of merged entities', () => {
  const hub = new GithubStandIn();
  beforeAll(() => hub.start());
  afterAll(() => hub.stop());
  const secrets = startSecrets();

  it.each([
    ['of the one merged', 'bob'],
    ['of the target', 'ada'],
  ])('end with the alias %s', async (_, target) => {
    const mount = `github-${target}`;
    await secrets.root.write(`sys/auth/${mount}`, { type: 'github' }).expect(204);
    const config = { organization: 'acme', base_url: hub.address, token_ttl: '10h' };
    await secrets.root.write(`auth/${mount}/config`, config).expect(204);
    const ops = { name: 'ops', slug: 'ops', organization: 42 };
    hub.members.set('ada-token', { login: 'Ada', organizations: [42], teams: [ops] });
    hub.members.set('bob-token', { login: 'Bob', organizations: [42], teams: [] });
    const group = await secrets.root.write('identity/group', { name: mount, type: 'external', policies: 'ops-policy' });
    const { body } = await secrets.root.read('sys/auth').expect(200);
    const mount_accessor = body.data[`${mount}/`].accessor;
    const alias = { name: 'ops', mount_accessor, canonical_id: group.body.data.id };
    await secrets.root.write('identity/group-alias', alias).expect(200);
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
    hub.members.set('bob-token', { login: 'Bob', organizations: [42], teams: [ops] });
    await secrets.as(ada.client_token).write('auth/token/renew-self', {}).expect(200);
    expect(await policies(bob.client_token)).toEqual([]);
    // Renewing that of the kept alias does.
    await secrets.as(bob.client_token).write('auth/token/renew-self', {}).expect(200);
    expect([await policies(ada.client_token), await policies(bob.client_token)]).toEqual([
      ['ops-policy'],
      ['ops-policy'],
    ]);
  });
});
