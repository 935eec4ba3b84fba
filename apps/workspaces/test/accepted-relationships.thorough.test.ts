import { describe, expect, it } from '@jest/globals';
import { slice } from '@keystead/testing';
import type { Example, World } from './at-once-examples';
import { declarationOf, type Json, merged, type Taking, takingOf, walkOf } from './fields-walk';
import { ref, resource, startWorkspaces } from './start-workspaces';

const relationsOf = ({ schema }: Taking): Json => schema.properties?.data?.properties?.relationships?.properties;
const bodyOf = ({ name, schema }: Taking): string => `${name} ${JSON.stringify(schema)}`;
const isList = ({ schema }: Taking): boolean => schema.properties?.data?.type === 'array';

const madeIn = async ({ root, fresh, organization }: World, type: string, more: object = {}): Promise<Json> => {
  const body = resource(type, { name: fresh(), ...more });
  return ref(type, (await root('POST', `organizations/${organization}/${type}`, body)).id).data;
};

/** One object of each type that a relationship may name. */
const things: Readonly<Record<string, (world: World) => Promise<Json> | Json>> = {
  workspaces: (world) => madeIn(world, 'workspaces'),
  projects: (world) => madeIn(world, 'projects'),
  teams: (world) => madeIn(world, 'teams'),
  'agent-pools': (world) => madeIn(world, 'agent-pools'),
  policies: (world) =>
    madeIn(world, 'policies', { kind: 'opa', query: 'data.x.deny', 'enforcement-level': 'advisory' }),
  tags: (world) => ({ type: 'tags', attributes: { name: world.fresh() } }),
  'tag-bindings': (world) => ({ type: 'tag-bindings', attributes: { key: world.fresh(), value: world.fresh() } }),
  vars: (world) => ({ type: 'vars', attributes: { key: world.fresh(), value: 'v', category: 'env' } }),
  users: async ({ root, as, person, organization }) => {
    const { id, token, username } = await person();
    const body = resource('organization-memberships', { email: `${username}@example.com` });
    const { meta } = await root('POST', `organizations/${organization}/organization-memberships`, body);
    await as(token, 'POST', `one-time-links/${meta['invite-url'].split('/').at(-1)}`);
    return ref('users', id).data;
  },
};

/** Relationships that name objects of the example itself. */
const told: Readonly<Record<string, (world: World, example: Example) => Promise<Json> | Json>> = {
  'runs configuration-version': async (world, { body }) => {
    const id = (body!(0) as Json).data.relationships.workspace.data.id;
    return ref('configuration-versions', await world.configuration(id)).data;
  },
  'notification-configurations subscribable': (_world, { at }) =>
    at!.project_id ? ref('projects', at!.project_id).data : ref('workspaces', at!.workspace_id!).data,
  'organizations default-agent-pool': async ({ root, fresh, organization }, { at }) => {
    const path = `organizations/${at?.organization_name ?? organization}/agent-pools`;
    return ref('agent-pools', (await root('POST', path, resource('agent-pools', { name: fresh() }))).id).data;
  },
  'oauth-clients organization': ({ organization }) => ref('organizations', organization).data,
  'varsets parent': (world) => madeIn(world, 'projects'),
};

/** The attributes that a relationship requires. */
const besides: Readonly<Record<string, object>> = {
  'workspaces agent-pool': { 'execution-mode': 'agent' },
  'projects default-agent-pool': { 'default-execution-mode': 'agent' },
  'organizations default-agent-pool': { 'default-execution-mode': 'agent' },
  'oauth-clients projects': { 'organization-scoped': false },
  'agent-pools allowed-workspaces': { 'organization-scoped': false },
  'agent-pools allowed-projects': { 'organization-scoped': false },
  'notification-configurations users': { 'destination-type': 'email', url: null },
};

const pools = 'a workspace chooses its pool itself';
/** Relationships that are refused, with the pointer of the refusal. */
const refused: Readonly<Record<string, string>> = {
  'POST /organizations default-agent-pool': 'a new organization has no pool yet',
  'POST /organizations/:organization_name/agent-pools workspaces': pools,
  'PATCH /agent-pools/:pool_id workspaces': pools,
  'PATCH /varsets/:varset_id parent': 'a set stays with whom it was made for',
  'PUT /varsets/:varset_id parent': 'a set stays with whom it was made for',
  'POST /varsets/:varset_id parent': 'a set stays with whom it was made for',
};

/** Lists that add to the existing items: an empty one has no effect. */
const adding = ['workspaces tags', 'varsets vars'];

/** Relationships accepted only from callers of another kind, and the tests that compare them with what was sent. */
const elsewhere: Readonly<Record<string, string>> = {
  'PATCH /notification-configurations/:notification_configuration_id users': 'notifications',
  'POST /workspaces/:workspace_id/state-versions run': 'state-versions',
  'POST /organizations/:organization_name/policy-dry-runs policies': 'policy-dry-runs',
  'POST /organizations/:organization_name/policy-dry-runs policy-sets': 'policy-dry-runs',
  'POST /organizations/:organization_name/policy-dry-runs workspaces': 'policy-dry-runs',
  'POST /organizations/:organization_name/tests/registry-modules/:registry_name/:namespace/:module_name/:module_provider/test-runs registry-module':
    'module-tests',
  'POST /queries configuration-version': 'module-tests',
  'POST /teams/:team_id/notification-configurations users': 'notifications',
  'POST /teams/:team_id/notification-configurations subscribable': 'notifications',
  'POST /organizations/:organization_name/no-code-modules variable-options': 'no-code-modules',
  'PATCH /no-code-modules/:no_code_module_id variable-options': 'no-code-modules',
  'PATCH /no-code-modules/:no_code_module_id registry-module': 'no-code-modules',
};

describe.each(['self-hosted', 'hosted'] as const)('the relationships of requests to the %s edition', (edition) => {
  const workspaces = startWorkspaces({ env: { WORKSPACES_VCS: 'off', WORKSPACES_EDITION: edition } });
  const { world, send, make, ask, at, read } = walkOf(workspaces);
  const operations = takingOf(edition).filter(({ making }) => typeof making === 'function');
  // The editions accept most bodies alike: those of the second are tried only if they differ.
  const same = new Set(edition === 'hosted' ? takingOf('self-hosted').map(bodyOf) : []);
  const naming = operations.filter(relationsOf);
  const listing = operations.filter(isList);

  /** Where to read relationships that the resource itself does not show. */
  const readElsewhere: Readonly<Record<string, (id: string, shown: Json) => Promise<Json[]>>> = {
    'workspaces tags': (id) => read(`workspaces/${id}/relationships/tags`),
    'workspaces tag-bindings': (id) => read(`workspaces/${id}/tag-bindings`),
    'registry-providers tag-bindings': (id) => read(`registry-providers/${id}/tag-bindings`),
    'projects tag-bindings': (id) => read(`projects/${id}/tag-bindings`),
    'varsets vars': (id) => read(`varsets/${id}/relationships/vars`),
    'vars workspace': async (_id, { links }) => [(await read(links.self)).relationships.configurable.data],
  };
  const named = async (type: string, name: string, shown: Json): Promise<Json[]> => {
    const elsewhere = readElsewhere[`${type} ${name}`];
    if (elsewhere) return elsewhere(shown.id, shown);
    const again = shown.links?.self ? await read(shown.links.self) : undefined;
    const data = (again ?? shown).relationships?.[name]?.data;
    return data == null ? [] : [data].flat();
  };
  /** Whether the answer shows a named object. */
  const isAmong = (shown: readonly Json[], { id, attributes = {} }: Json): boolean =>
    shown.some(
      (one) =>
        (id === undefined || one.id === id) &&
        Object.entries(attributes).every(([key, value]) => one.attributes?.[key] === value),
    );

  const cases = naming.flatMap((one) => Object.keys(relationsOf(one)).map((name) => [one.name, name, one] as const));
  const own = slice(
    naming.filter((one) => !same.has(bodyOf(one))),
    ({ endpoint }) => declarationOf(endpoint),
  );
  it.each(cases.filter(([, , one]) => own.includes(one)))(
    '%s stores the resource that it names as %s',
    async (operation, name, one) => {
      const { type } = one;
      if (`${operation} ${name}` in elsewhere) return;
      const shape = relationsOf(one)[name].properties.data;
      const example = await make(one);
      let n = 0;
      const send = async (data: Json): Promise<Json> => {
        const { data: base, ...rest } = (example.body?.(n++) ?? resource(type)) as Json;
        const more = { attributes: besides[`${type} ${name}`] ?? {}, relationships: { [name]: { data } } };
        return ask(one, example, { ...rest, data: merged(base, more) });
      };
      const usual = ((example.body?.(0) ?? {}) as Json).data?.relationships?.[name]?.data;
      const types = (shape.items ?? shape).properties.type.enum;
      const thing = usual ?? (await (told[`${type} ${name}`] ?? things[types[0]]!)(world, example));
      const answer = await send(shape.items ? [thing].flat() : thing);
      if (`${operation} ${name}` in refused) {
        expect([answer.status, answer.text]).toEqual([422, expect.stringContaining(`/data/relationships/${name}`)]);
        return;
      }
      expect([answer.status < 300, answer.text]).toEqual([true, answer.text]);
      const shown = await named(type, name, answer.body.data);
      expect([isAmong(shown, [thing].flat()[0]), shown]).toEqual([true, shown]);
      if (one.endpoint.method === 'POST' || usual || adding.includes(`${type} ${name}`)) return;
      // An empty relationship removes the object, or is refused.
      const emptied = await send(shape.items ? [] : null);
      const left = await named(type, name, emptied.body?.data ?? {});
      expect([emptied.status >= 400 || !isAmong(left, [thing].flat()[0]), left]).toEqual([true, left]);
    },
  );

  /** The current items of a list: at its own path, in its resource, or in the named object. */
  const listed = async ({ endpoint }: Taking, example: Example, sent: readonly Json[]): Promise<Json[]> => {
    const path = at(endpoint.path, example);
    const own = await send(workspaces.admin.token!, 'GET', `${path}?page[size]=100`);
    if (own.status === 200) return own.body.data;
    if (path.endsWith('/tag-selectors')) {
      const { attributes: set } = await read(path.slice(1).replace(/\/tag-selectors$/, ''));
      return set['tag-selectors'].map((attributes: Json) => ({ attributes }));
    }
    const [, owner, id, name] = /^\/([^/]+)\/([^/]+)\/relationships\/([^/]+)$/.exec(path)!;
    if (name === 'vars') return read(`${owner}/${id}/vars`);
    if (name === 'workspaces' && owner !== 'varsets' && owner !== 'policy-sets') {
      const among = await Promise.all(
        sent.map(async (one) => {
          const there =
            owner === 'tags'
              ? await read(`workspaces/${one.id}/relationships/tags`)
              : [(await read(`workspaces/${one.id}`)).relationships.project.data];
          return isAmong(there, { id }) ? [one] : [];
        }),
      );
      return among.flat();
    }
    return (await read(`${owner}/${id}`)).relationships[name!].data;
  };

  const ownLists = slice(
    listing.filter((one) => !same.has(bodyOf(one))),
    ({ endpoint }) => declarationOf(endpoint),
  );
  for (const one of ownLists) {
    it(`${one.name} stores every resource that it names`, async () => {
      const example = await make(one);
      const body = example.body!(0) as Json;
      const adds = listing.find(({ name }) => name === one.name.replace('DELETE', 'POST'));
      if (one.endpoint.method === 'DELETE' && adds) await ask(adds, example, body);
      const before = await listed(one, example, body.data);
      const answer = await ask(one, example, body);
      expect([answer.status < 300, answer.text]).toEqual([true, answer.text]);
      const after = await listed(one, example, body.data);
      const isThere = one.endpoint.method !== 'DELETE';
      expect(body.data.map((each: Json) => [isAmong(before, each), isAmong(after, each)])).toEqual(
        body.data.map(() => [!isThere, isThere]),
      );
    });
  }

  it('covers every relationship, and names only existing ones', () => {
    expect(cases.length).toBeGreaterThan(35);
    expect(listing.length).toBeGreaterThan(15);
    const types = new Set(naming.flatMap((one) => Object.keys(relationsOf(one)).map((name) => `${one.type} ${name}`)));
    const names = new Set(cases.map(([operation, name]) => `${operation} ${name}`));
    expect(Object.keys({ ...told, ...besides, ...readElsewhere }).filter((name) => !types.has(name))).toEqual([]);
    expect(Object.keys({ ...refused, ...elsewhere }).filter((name) => !names.has(name))).toEqual([]);
  });
});
