import { beforeAll, describe, expect, it } from '@jest/globals';
import { startSecrets } from './start-secrets';

describe('the answer to the question who may use a path', () => {
  const secrets = startSecrets();
  const ids: Record<string, string> = {};
  const ask = async (path: string, operation = 'read') =>
    (await secrets.root.write('sys/policies/who-may', { path, operation }).expect(200)).body.data;
  const entity = async (name: string, policies: string[], more: object = {}) => {
    const made = await secrets.root.write('identity/entity', { name, policies, ...more }).expect(200);
    ids[name] = made.body.data.id;
  };

  beforeAll(async () => {
    const policy = (name: string, text: string) =>
      secrets.root.write(`sys/policies/acl/${name}`, { policy: text }).expect(204);
    await policy('reads', '# first\npath "net/team/*" { capabilities = ["read"] }');
    await policy('forbids', 'path "net/team/secret" { capabilities = ["deny"] }');
    await policy('own', 'path "net/{{identity.entity.name}}/*" { capabilities = ["read", "update"] }');
    await entity('ana', ['reads']);
    await entity('ben', ['reads', 'forbids']);
    await entity('cem', []);
    await entity('dee', ['reads'], { disabled: true });
    await entity('team', ['own']);
    await secrets.root
      .write('identity/group', { name: 'crew', policies: ['reads'], member_entity_ids: [ids.cem] })
      .expect(200);
  });
  const names = (list: { name: string }[]) => list.map(({ name }) => name);

  it('names policies with the deciding line, groups, and entities by all of their policies', async () => {
    const answer = await ask('net/team/plan');
    expect(answer.policies).toEqual([{ name: 'reads', allowed: true, path: 'net/team/*', line: 2 }]);
    expect(names(answer.groups)).toEqual(['crew']);
    expect(names(answer.entities)).toEqual(['ana', 'ben', 'cem', 'team']);
    expect(answer.entities[0].id).toBe(ids.ana);
    expect(answer.complete).toBe(true);
  });

  it('considers denials', async () => {
    const answer = await ask('net/team/secret');
    expect(answer.policies).toContainEqual({ name: 'forbids', allowed: false, path: 'net/team/secret', line: 1 });
    expect(names(answer.entities)).toEqual(['ana', 'cem', 'team']);
    expect(names((await ask('net/team/secret', 'update')).entities)).toEqual(['team']);
  });

  it('needs sudo, and covers one namespace', async () => {
    const asking = await secrets.withPolicy('path "sys/policies/who-may" { capabilities = ["update"] }');
    await asking.write('sys/policies/who-may', { path: 'a', operation: 'read' }).expect(403);
    await secrets.root.write('sys/namespaces/away').expect(200);
    const away = secrets.as(secrets.rootToken, { 'X-Service-Namespace': 'away' });
    const { body } = await away.write('sys/policies/who-may', { path: 'net/team/plan', operation: 'read' }).expect(200);
    expect(body.data).toMatchObject({ policies: [], groups: [], entities: [], complete: true });
  });
});

describe('the rules of another token', () => {
  const secrets = startSecrets();
  const rules = 'path "secret/data/*" { capabilities = ["read"] }';

  it('are shown by its accessor only to callers with sudo', async () => {
    const other = await secrets.withPolicy(rules);
    const { accessor } = (await secrets.root.write('auth/token/lookup', { token: other.token }).expect(200)).body.data;
    const asked = `sys/internal/ui/resultant-acl?accessor=${accessor}`;
    const { body } = await secrets.root.read(asked).expect(200);
    expect(body.data).toMatchObject({ root: false, glob_paths: { 'secret/data/': { capabilities: ['read'] } } });
    const curious = await secrets.withPolicy('path "sys/internal/ui/resultant-acl" { capabilities = ["read"] }');
    await curious.read('sys/internal/ui/resultant-acl').expect(200);
    await curious.read(asked).expect(403);
    await secrets.root.read('sys/internal/ui/resultant-acl?accessor=unknown').expect(400);
    const auditor = await secrets.withPolicy(
      'path "sys/internal/ui/resultant-acl" { capabilities = ["read", "sudo"] }',
    );
    await auditor.read(asked).expect(200);
  });

  it('are not those of a token of another namespace', async () => {
    await secrets.root.write('sys/namespaces/away').expect(200);
    const other = await secrets.withPolicy(rules);
    const { accessor } = (await secrets.root.write('auth/token/lookup', { token: other.token }).expect(200)).body.data;
    const away = secrets.as(secrets.rootToken, { 'X-Service-Namespace': 'away' });
    await away.read(`sys/internal/ui/resultant-acl?accessor=${accessor}`).expect(400);
  });
});
