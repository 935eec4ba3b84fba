import { beforeAll, describe, expect, it } from '@jest/globals';
import { member, team } from './members';
import { ref, resource, startWorkspaces } from './start-workspaces';

interface Schema {
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly writeOnly?: boolean;
  readonly 'x-sent-to'?: readonly string[];
  readonly anyOf?: readonly Schema[];
  readonly allOf?: readonly Schema[];
}
type Document = Readonly<
  Record<string, Readonly<Record<string, { requestBody?: { content: Record<string, never> } }>>>
>;

/** Secrets that are not stored: they are checked and forgotten, or shown elsewhere. */
const notKept = new Set([
  'agent-pool-id',
  'default-agent-pool-id',
  'current_password',
  'password',
  'password_confirmation',
]);

describe('a stored secret', () => {
  const workspaces = startWorkspaces({ env: { WORKSPACES_VCS: 'on' } });
  const { admin } = workspaces;
  let workspaceId = '';
  beforeAll(async () => {
    await workspaces.organization('acme');
    workspaceId = (await workspaces.workspace('acme', 'web')).id;
  });

  /** Resources with a stored secret, and an update of each attribute that says where the secret is sent. */
  const moves: Readonly<Record<string, () => Promise<{ path: string; type: string; moved: object; secret: object }>>> =
    {
      '/api/v2/admin/sign-in-providers/{provider_id}': async () => {
        const provider = { name: 'One', issuer: 'https://one.test', 'client-id': 'c', 'client-secret': 's' };
        const made = await admin.post('admin/sign-in-providers', resource('sign-in-providers', provider)).expect(201);
        return {
          path: `admin/sign-in-providers/${made.body.data.id}`,
          type: 'sign-in-providers',
          moved: { issuer: 'https://two.test' },
          secret: { 'client-secret': 't' },
        };
      },
      '/api/v2/notification-configurations/{notification_configuration_id}': async () => {
        const attributes = { name: 'hook', 'destination-type': 'generic', url: 'https://one.test/', token: 'signs' };
        const path = `workspaces/${workspaceId}/notification-configurations`;
        const made = await admin.post(path, resource('notification-configurations', attributes)).expect(201);
        return {
          path: `notification-configurations/${made.body.data.id}`,
          type: 'notification-configurations',
          moved: { url: 'https://two.test/' },
          secret: { token: 'signs' },
        };
      },
      '/api/v2/tasks/{task_id}': async () => {
        const attributes = {
          name: 'check',
          category: 'task',
          url: 'https://one.test/',
          'hmac-key': 'signs',
          enabled: false,
        };
        const made = await admin.post('organizations/acme/tasks', resource('tasks', attributes)).expect(201);
        return {
          path: `tasks/${made.body.data.id}`,
          type: 'tasks',
          moved: { url: 'https://two.test/' },
          secret: { 'hmac-key': 'signs' },
        };
      },
    };

  const fieldsOf = (schema: Schema, at = ''): [string, Schema][] => [
    ...Object.entries(schema.properties ?? {}).flatMap(([name, inner]): [string, Schema][] => [
      [name, inner],
      ...fieldsOf(inner, name),
    ]),
    ...[...(schema.anyOf ?? []), ...(schema.allOf ?? [])].flatMap((one) => fieldsOf(one, at)),
  ];
  const isSecret = (schema: Schema): boolean =>
    schema.writeOnly === true || (schema.anyOf ?? []).some((one) => isSecret(one));
  const sentToOf = (schema: Schema): readonly string[] | undefined =>
    schema['x-sent-to'] ?? schema.anyOf?.map(sentToOf).find((one) => one !== undefined);

  it('declares its addresses, and is tested with each address that an update may change', async () => {
    const { paths } = (await admin.get('openapi.json').expect(200)).body as { paths: Document };
    const secrets: string[] = [];
    const tried: string[] = [];
    const undeclared: string[] = [];
    for (const [path, operations] of Object.entries(paths)) {
      const content = operations.patch?.requestBody?.content ?? {};
      const fields = Object.values(content as Record<string, { schema: Schema }>).flatMap(({ schema }) =>
        fieldsOf(schema),
      );
      for (const [name, schema] of fields) {
        if (!isSecret(schema) || notKept.has(name)) continue;
        secrets.push(`${path} ${name}`);
        const sentTo = sentToOf(schema);
        if (sentTo === undefined) undeclared.push(`${path} ${name}`);
        if (sentTo?.some((one) => fields.some(([field]) => field === one))) tried.push(path);
      }
    }
    expect(undeclared).toEqual([]);
    expect(secrets.length).toBeGreaterThan(6);
    expect([...new Set(tried)].sort()).toEqual(Object.keys(moves).sort());
  });

  it.each(Object.keys(moves))('is not sent elsewhere by an update that does not contain it (%s)', async (pattern) => {
    const { path, type, moved, secret } = await moves[pattern]!();
    const before = (await admin.get(path).expect(200)).body;
    const refused = await admin.patch(path, resource(type, moved)).expect(422);
    const [attribute] = Object.keys(secret);
    expect(refused.body.errors[0].source.pointer).toBe(`/data/attributes/${attribute}`);
    expect((await admin.get(path).expect(200)).body).toEqual(before);
    await admin.patch(path, resource(type, { ...moved, ...secret })).expect(200);
    // A value that the attribute already had is not a change.
    await admin.patch(path, resource(type, moved)).expect(200);
  });

  it('of a connection goes through the agents of a pool only if a caller who manages pools configures it', async () => {
    const pool = await admin.post('organizations/acme/agent-pools', resource('agent-pools', { name: 'p' })).expect(201);
    const rights = await team(workspaces, 'acme', 'vcs', ['manage-vcs-settings']);
    const manager = await member(workspaces, 'acme', [rights]);
    const client = {
      'service-provider': 'gitea',
      'http-url': 'https://git.test',
      'api-url': 'https://git.test/api/v1',
      'oauth-token-string': 'token',
    };
    const through = { 'agent-pool': ref('agent-pools', pool.body.data.id) };
    const path = 'organizations/acme/oauth-clients';
    const made = await manager.post(path, resource('oauth-clients', client)).expect(201);
    const at = `oauth-clients/${made.body.data.id}`;
    for (const refused of [
      await manager.post(path, resource('oauth-clients', client, through)).expect(422),
      await manager.patch(at, resource('oauth-clients', {}, through)).expect(422),
    ])
      expect(refused.body.errors[0].detail).toContain('not authorized to use it');
    await admin.patch(at, resource('oauth-clients', {}, through)).expect(200);
    await manager.patch(at, resource('oauth-clients', { name: 'same pool' }, through)).expect(200);
  });
});
