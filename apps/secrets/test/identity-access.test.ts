import { describe, expect, it } from '@jest/globals';
import { startSecrets } from './start-secrets';

const wrapped = (text: string) => `1 error occurred:\n\t* ${text}\n\n`;
const allow = (path: string, ...capabilities: string[]) =>
  `path "${path}" { capabilities = ${JSON.stringify(capabilities)} }`;

describe('the rights of an identity', () => {
  const secrets = startSecrets();
  let machines = 0;

  /** A machine with its own entity, and a token of it. */
  async function machine(policies = '') {
    await secrets.root.write('sys/auth/approle', { type: 'approle' });
    const name = `m${++machines}`;
    const role = { role_id: name, bind_secret_id: false, token_bound_cidrs: '127.0.0.0/8', token_policies: policies };
    await secrets.root.write(`auth/approle/role/${name}`, role).expect(204);
    const login = () => secrets.anonymous.write('auth/approle/login', { role_id: name });
    const { body } = await login().expect(200);
    return { auth: body.auth, entity: body.auth.entity_id as string, token: secrets.as(body.auth.client_token), login };
  }

  it('follow its groups and its own policies with the next request', async () => {
    const { entity, token } = await machine();
    await secrets.root.write('sys/policies/acl/via-group', { policy: allow('sys/policies/acl/*', 'read') }).expect(204);
    const read = () => token.read('sys/policies/acl/default');
    await read().expect(403);
    const inner = (await secrets.root.write('identity/group', { member_entity_ids: [entity] }).expect(200)).body.data
      .id;
    const outer = (
      await secrets.root.write('identity/group', { policies: 'via-group', member_group_ids: [inner] }).expect(200)
    ).body.data.id;
    await read().expect(200);
    const self = await token.read('auth/token/lookup-self').expect(200);
    expect(self.body.data).toMatchObject({
      policies: ['default'],
      identity_policies: ['via-group'],
      entity_id: entity,
    });
    await secrets.root.write(`identity/group/id/${outer}`, { member_group_ids: [] }).expect(204);
    await read().expect(403);
    await secrets.root.write(`identity/entity/id/${entity}`, { policies: 'via-group' }).expect(204);
    await read().expect(200);
    await secrets.root.write(`identity/entity/id/${entity}`, { policies: [] }).expect(204);
    await read().expect(403);
  });

  it('are shown as policies at login', async () => {
    const { entity, login } = await machine('own');
    await secrets.root.write(`identity/entity/id/${entity}`, { policies: 'ident' }).expect(204);
    const { body } = await login().expect(200);
    expect(body.auth).toMatchObject({
      policies: ['default', 'ident', 'own'],
      token_policies: ['default', 'own'],
      identity_policies: ['ident'],
    });
  });

  it('end when its entity is disabled or deleted, and a login creates a new one', async () => {
    const { entity, token, login } = await machine();
    await token.read('auth/token/lookup-self').expect(200);
    await secrets.root.write(`identity/entity/id/${entity}`, { disabled: true }).expect(204);
    await token.read('auth/token/lookup-self').expect(403, { errors: ['permission denied'] });
    await login().expect(403, { errors: ['permission denied'] });
    await secrets.root.write(`identity/entity/id/${entity}`, { disabled: false }).expect(204);
    await token.read('auth/token/lookup-self').expect(200);
    await secrets.root.delete(`identity/entity/id/${entity}`).expect(204);
    await token.read('auth/token/lookup-self').expect(403, { errors: ['permission denied'] });
    expect((await login().expect(200)).body.auth.entity_id).not.toBe(entity);
  });

  it('continue after a merge as those of the remaining entity', async () => {
    const [one, other] = [await machine(), await machine()];
    await secrets.root
      .write('identity/entity/merge', { from_entity_ids: [other.entity], to_entity_id: one.entity })
      .expect(400);
    const keep = (await secrets.root.read(`identity/entity/id/${other.entity}`)).body.data.aliases[0].id;
    await secrets.root
      .write('identity/entity/merge', {
        from_entity_ids: [other.entity],
        to_entity_id: one.entity,
        conflicting_alias_ids_to_keep: [keep],
      })
      .expect(204);
    const { body } = await other.token.read(`identity/entity/id/${one.entity}`).expect(200);
    expect(body.data.merged_entity_ids).toEqual([other.entity]);
    expect((await other.login().expect(200)).body.auth.entity_id).toBe(one.entity);
    await other.token.read(`identity/entity/id/${other.entity}`).expect(403);
  });

  it('include reading its own entity by the default policy, and no other', async () => {
    const [one, other] = [await machine(), await machine()];
    await one.token.read(`identity/entity/id/${one.entity}`).expect(200);
    await one.token.read(`identity/entity/id/${other.entity}`).expect(403, { errors: [wrapped('permission denied')] });
    const { name } = (await secrets.root.read(`identity/entity/id/${one.entity}`)).body.data;
    await one.token.read(`identity/entity/name/${name}`).expect(200);
  });

  it('come from templates filled with aliases, metadata and groups', async () => {
    const { entity, token } = await machine('templated');
    const { accessor } = (await secrets.root.read('sys/auth')).body.data['approle/'];
    const group = (
      await secrets.root.write('identity/group', { name: 'blue', member_entity_ids: [entity] }).expect(200)
    ).body.data.id;
    await secrets.root.write(`identity/entity/id/${entity}`, { metadata: { team: 'web', bad: 'a/b' } }).expect(204);
    await secrets.root
      .write('sys/policies/acl/templated', {
        policy: [
          allow('sys/policies/acl/{{identity.entity.metadata.team}}', 'read'),
          allow(`sys/policies/acl/{{identity.entity.aliases.${accessor}.name}}`, 'read'),
          allow('sys/policies/acl/{{identity.groups.names.blue.id}}', 'read'),
          allow('sys/policies/acl/{{identity.entity.metadata.bad}}', 'read'),
        ].join('\n'),
      })
      .expect(204);
    const alias = (await secrets.root.read(`identity/entity/id/${entity}`)).body.data.aliases[0].name;
    for (const name of ['web', alias, group]) await token.read(`sys/policies/acl/${name}`).expect(404);
    for (const name of ['other', 'a/b']) await token.read(`sys/policies/acl/${name}`).expect(403);
    await secrets.root.write(`identity/entity/id/${entity}`, { metadata: { team: 'ops' } }).expect(204);
    await token.read('sys/policies/acl/web').expect(403);
    await token.read('sys/policies/acl/ops').expect(404);
  });

  it('reach into a child namespace through a group there', async () => {
    await secrets.root.write('sys/namespaces/team', {}).expect(200);
    const below = secrets.as(secrets.rootToken, { 'X-Service-Namespace': 'team' });
    const { entity, token } = await machine();
    await below.write('sys/policies/acl/reader', { policy: allow('sys/policies/acl/*', 'read') }).expect(204);
    const read = () => token.read('sys/policies/acl/reader').set('X-Service-Namespace', 'team');
    await read().expect(403);
    await below.write('identity/group', { policies: 'reader', member_entity_ids: [entity] }).expect(200);
    await read().expect(200);
    await token.read('team/sys/policies/acl/reader').expect(200);
    await token.read('sys/policies/acl/default').expect(403);
    const outside = (await below.write('identity/entity', {}).expect(200)).body.data.id;
    await secrets.root
      .write('identity/group', { member_entity_ids: [outside] })
      .expect(400, { errors: [wrapped(`invalid entity ID "${outside}"`)] });
  });

  it('shorten and filter listings as its policies say', async () => {
    for (const name of ['a1', 'a2', 'b1', 'b2', 'b3'])
      await secrets.root.write(`identity/group/name/${name}`, {}).expect(200);
    const page = await secrets.withPolicy(
      'path "identity/group/name" { capabilities = ["list"] pagination_limit = 2 }',
    );
    expect((await page.list('identity/group/name').expect(200)).body.data.keys).toEqual(['a1', 'a2']);
    expect((await page.list('identity/group/name?after=a2&limit=1').expect(200)).body.data.keys).toEqual(['b1']);
    await page.list('identity/group/name?limit=3').expect(403);
    const some = await secrets.withPolicy(
      `path "identity/group/name" { capabilities = ["list"] list_scan_response_keys_filter_path = "{{ .path }}{{ .key }}" }\n${allow('identity/group/name/b*', 'read')}`,
    );
    expect((await some.list('identity/group/name').expect(200)).body.data.keys).toEqual(['b1', 'b2', 'b3', 'blue']);
    const none = await secrets.withPolicy(
      'path "identity/group/name" { capabilities = ["list"] list_scan_response_keys_filter_path = "{{ .path }}{{ .key }}" }',
    );
    await none.list('identity/group/name').expect(404);
  });
});
