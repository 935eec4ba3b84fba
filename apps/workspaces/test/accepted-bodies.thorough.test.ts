import { describe, expect, it } from '@jest/globals';
import { slice, wrongValueOf } from '@keystead/testing';
import { declarationOf, type Json, nested, type Taking, takingOf, walkOf } from './fields-walk';
import { resource, startWorkspaces } from './start-workspaces';

const documentOf = ({ schema }: Taking): Json => schema.properties?.data;
const isAction = ({ schema }: Taking): boolean => 'comment' in (schema.properties ?? {});
const isLock = ({ schema }: Taking): boolean => 'heartbeat-seconds' in (schema.properties ?? {});
const isOfAgents = ({ endpoint }: Taking): boolean => endpoint.path.startsWith('/api/agent/');
const isOfDirectory = ({ endpoint }: Taking): boolean => endpoint.path.startsWith('/scim/');
const keyed = (operations: readonly Taking[]) => operations.map((one) => [one.name, one] as const);

/** Operations that the walks leave out because they have no example, and the tests that cover them. */
const elsewhere: Readonly<Record<string, string>> = {
  'PATCH /task-results/:task_result_id/callback': 'run-tasks: with the token of a request, once',
  'POST /task-stages/:task_stage_id/actions/override': 'run-tasks: after a task that did not pass',
  'POST /oauth-clients/:oauth_client_id/oauth-tokens': 'oauth: what a host gave a browser, once',
  'POST /organizations/:organization_name/github-app-manifests': 'github-app: leads a person to a host',
  'POST /github-app-manifests/:manifest_id/oauth-clients': 'github-app: what a host gave a browser, once',
  'POST /organizations/:organization_name/registry-modules/vcs': 'modules-from-git: of a repository',
  'POST /no-code-modules/:no_code_module_id/workspaces': 'no-code-modules: of a published version',
  'POST /no-code-modules/:no_code_module_id/workspaces/:workspace_id/upgrade':
    'no-code-modules: of a workspace made so',
  'POST /admin/twilio-settings/verify': 'admin: always refused',
  'POST /registry-modules': 'modules-from-git: of a repository, in the older form',
  'PATCH /organizations/:organization_name/registry-modules/:registry_name/:namespace/:module_name/:module_provider':
    'modules-from-git: of a module that follows a repository',
  'PATCH /api/registry/private/v2/gpg-keys/:namespace/:key_id': 'registry-providers: with keys and signatures',
};

describe('the bodies of requests that are not documents of a resource', () => {
  const workspaces = startWorkspaces({ env: { WORKSPACES_VCS: 'off' } });
  const { world, send, make, ask, at, read } = walkOf(workspaces);
  const operations = takingOf('self-hosted');

  it('are all covered, like documents', () => {
    const unwalked = operations.filter((one) => {
      const isDocument = documentOf(one)?.properties?.attributes || documentOf(one)?.type === 'array';
      const isOurs = isAction(one) || isLock(one) || isOfDirectory(one) || isOfAgents(one);
      // The examples give the reason if an operation of agents is left out.
      return !(isDocument || isOurs) || (typeof one.making === 'string' && !isOfAgents(one));
    });
    const assignment = 'PATCH /workspaces/:workspace_id/relationships/ssh-key';
    expect(unwalked.map(({ name }) => name).sort()).toEqual([assignment, ...Object.keys(elsewhere)].sort());
  });

  const changing = slice(
    operations.filter(
      (one) =>
        one.endpoint.method === 'PATCH' && documentOf(one)?.properties?.attributes && typeof one.making !== 'string',
    ),
    ({ endpoint }) => declarationOf(endpoint),
  );
  it.each(keyed(changing))('%s refuses a document of another type', async (_name, one) => {
    const example = await make(one);
    const { data, ...rest } = (example.body?.(0) ?? resource(one.type)) as Json;
    const other = await ask(one, example, { ...rest, data: { ...data, id: 'none-1234567812345678' } });
    expect([other.status, other.body.errors?.[0].source.pointer]).toEqual([422, '/data/id']);
    const same = await ask(one, example, { ...rest, data });
    expect([same.status < 300, same.text]).toEqual([true, same.text]);
    const shown = await read(at(one.endpoint.path, example).slice(1));
    if (!shown?.id) return;
    const again = await ask(one, example, { ...rest, data: { ...data, id: shown.id } });
    expect([again.status, again.text]).not.toEqual([422, expect.stringContaining('/data/id')]);
  });

  const acting = operations.filter((one) => isAction(one) && typeof one.making !== 'string');
  it.each(keyed(acting))('%s stores the comment', async (_name, one) => {
    for (const wrap of [(comment: unknown) => ({ comment }), (comment: unknown) => resource('', { comment })]) {
      const example = await make(one);
      const refused = await ask(one, example, wrap({ no: 'text' }));
      expect([refused.status, refused.body.errors[0].source.pointer]).toEqual([422, '/data/attributes/comment']);
      const comment = world.fresh();
      const answer = await ask(one, example, wrap(comment));
      expect([answer.status < 300, answer.text]).toEqual([true, answer.text]);
      const comments = await read(`runs/${example.at!.run_id}/comments`);
      expect(comments.map(({ attributes }: Json) => attributes.body)).toContain(comment);
      const both = await ask(one, example, { comment, ...wrap(comment), ...resource('', { comment: 'another' }) });
      expect([both.status, both.text]).toEqual([422, expect.stringContaining('given twice')]);
    }
  });

  it.each(keyed(operations.filter(isLock)))('%s stores the reason and the duration', async (_name, one) => {
    for (const wrap of [(told: object) => told, (told: object) => resource('', told)]) {
      const example = await make(one);
      for (const name of ['reason', 'heartbeat-seconds']) {
        const refused = await ask(one, example, wrap({ [name]: { no: 'such' } }));
        expect([refused.status, refused.body.errors[0].source.pointer]).toEqual([422, `/data/attributes/${name}`]);
      }
      const told = { reason: world.fresh(), 'heartbeat-seconds': 77 };
      expect((await ask(one, example, wrap(told))).status).toBe(200);
      const [lock] = await read(`workspaces/${example.at!.workspace_id}/locks`);
      expect(lock.attributes).toMatchObject(told);
    }
  });

  it('assigns the SSH key that a body names, in both forms, and removes it', async () => {
    const one = operations.find(({ name }) => name.endsWith('/relationships/ssh-key'))!;
    const example = await make(one);
    const key = (example.body!(1) as Json).data.attributes.id;
    const assigned = async () =>
      (await read(`workspaces/${example.at!.workspace_id}`)).relationships['ssh-key'].data?.id ?? null;
    const bodies = [
      [{ data: { type: 'workspaces', attributes: { id: key } } }, key],
      [{ data: { type: 'workspaces', attributes: { id: null } } }, null],
      [{ data: { type: 'ssh-keys', id: key } }, key],
      [{ data: null }, null],
    ] as const;
    for (const [body, expected] of bodies) {
      expect((await ask(one, example, body)).status).toBe(200);
      expect(await assigned()).toBe(expected);
    }
  });

  // The tests of agents, runs and fetches show the effect of agents' requests. Every field of them is used.
  it.each(keyed(operations.filter((one) => isOfAgents(one) && typeof one.making === 'function')))(
    '%s accepts the fields it knows, and nothing else',
    async (_name, one) => {
      const example = await make(one);
      const right = example.body!(0) as Json;
      expect((await ask(one, example, { ...right, other: 1 })).text).toContain('other');
      for (const [name, schema] of Object.entries<Json>(one.schema.properties)) {
        const refused = await ask(one, example, { ...right, [name]: wrongValueOf(schema) });
        expect([name, refused.status, refused.text]).toEqual([name, 422, expect.stringContaining(name)]);
      }
    },
  );

  const enterprise = 'urn:ietf:params:scim:schemas:extension:enterprise:2.0:User';
  /** A value that differs from all earlier ones, with all its parts. */
  const anotherOf = async (schema: Json, at: string): Promise<unknown> => {
    if (at === 'members') return [{ value: await newMember() }];
    switch (schema.type) {
      case 'boolean':
        return at.endsWith('.primary');
      case 'array':
        return [await anotherOf(schema.items, at)];
      case 'object': {
        const parts = Object.entries<Json>(schema.properties);
        return Object.fromEntries(
          await Promise.all(parts.map(async ([part, each]) => [part, await anotherOf(each, `${at}.${part}`)])),
        );
      }
      default:
        return at === 'emails.value' ? `${world.fresh()}@example.com` : world.fresh();
    }
  };
  let token = '';
  const newMember = async () =>
    (await send(token, 'POST', '/scim/v2/Users', { userName: world.fresh() })).body.id as string;
  /** Sends an attribute in each way that a directory may. */
  const ways = (one: Taking, name: string, value: Json): object[] => {
    if (one.endpoint.method !== 'PATCH') return [{ [name]: value }];
    const whole = [
      { Operations: [{ op: 'replace', path: name, value }] },
      { Operations: [{ op: 'add', value: { [name]: value } }] },
    ];
    if (Array.isArray(value) || typeof value !== 'object') return whole;
    const separator = name === enterprise ? ':' : '.';
    const byPart = Object.entries(value).map(([part, each]) => ({
      op: 'replace',
      path: `${name}${separator}${part}`,
      value: each,
    }));
    return [...whole, { Operations: byPart }];
  };

  it.each(keyed(operations.filter(isOfDirectory)))('%s stores what a directory sends', async (_name, one) => {
    const kind = one.endpoint.path.includes('Users') ? 'Users' : 'Groups';
    const whole = operations.find(({ name }) => name === `POST /scim/v2/${kind}`)!;
    // Attributes without a type belong to the service.
    const attributes = Object.entries<Json>(whole.schema.properties).filter(([, { type }]) => type !== undefined);
    expect(attributes.length).toBe(kind === 'Users' ? 20 : 3);
    const example = await make(one);
    token = example.token!;
    for (const [name, schema] of attributes) {
      const base = () => (one.endpoint.method === 'PATCH' ? {} : (example.body!(0) as Json));
      const wrong = wrongValueOf(schema);
      for (const body of ways(one, name, wrong)) {
        const refused = await ask(one, example, { ...base(), ...body });
        expect([name, refused.status, refused.text]).toEqual([name, 400, expect.stringContaining(name)]);
      }
      const count = ways(one, name, await anotherOf(schema, name)).length;
      for (let way = 0; way < count; way += 1) {
        const value = await anotherOf(schema, name);
        const answer = await ask(one, example, { ...base(), ...ways(one, name, value)[way] });
        expect([name, answer.status < 300, answer.text]).toEqual([name, true, answer.text]);
        const path = `/scim/v2/${kind}/${answer.body.id ?? Object.values(example.at!)[0]}`;
        const shown = (await send(token, 'GET', path)).body[name];
        const isIn = name === 'members' || (Array.isArray(value) && one.endpoint.method === 'PATCH');
        expect(nested([name], shown)).toEqual(
          nested([name], isIn ? expect.arrayContaining([expect.objectContaining((value as object[])[0]!)]) : value),
        );
      }
    }
  });

  it('refuses unknown parts of members, as of every attribute', async () => {
    const one = operations.find(({ name }) => name.startsWith('PATCH /scim/v2/Groups'))!;
    const example = await make(one);
    token = example.token!;
    const value = [{ value: await newMember(), role: 'lead' }];
    for (const op of ['add', 'replace', 'remove']) {
      const { status, text } = await ask(one, example, { Operations: [{ op, path: 'members', value }] });
      expect([op, status, text]).toEqual([op, 400, expect.stringContaining('role')]);
    }
  });
});
