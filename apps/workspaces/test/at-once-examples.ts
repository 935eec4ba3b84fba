import { createHash } from 'node:crypto';
import { agentExamples } from './at-once-agents';
import { stateOf } from './run-fixture';
import { signingKey } from './signed-provider';
import { ref, resource } from './start-workspaces';

// biome-ignore lint/suspicious/noExplicitAny: bodies of every endpoint
type Body = any;

/** A caller. */
export interface Person {
  readonly id: string;
  readonly token: string;
  readonly username: string;
}

/** The clients and helpers that examples use to create their objects. */
export interface World {
  /**
   * Returns `data` from the answer to a request of the site administrator, who owns every organization; throws if it is
   * refused.
   */
  root(method: string, path: string, body?: object): Promise<Body>;
  /** The same request, sent by another person. */
  as(
    token: string,
    method: string,
    path: string,
    body?: object,
    headers?: Readonly<Record<string, string>>,
  ): Promise<Body>;
  /** An unused name. */
  fresh(): string;
  person(): Promise<Person>;
  /** The organization that most examples share. */
  readonly organization: string;
  /** An SSH key for cloning. */
  readonly sshKey: string;
  readonly password: string;
  /** The current code of an authenticator. */
  codeOf(secret: string): string;
  /** Stores a configuration in a workspace; returns its id. */
  configuration(workspaceId: string): Promise<string>;
  /** Uploads an archive to a signed link. */
  upload(url: string): Promise<unknown>;
  /** An archive for an upload. */
  readonly archive: Buffer;
  /** A run that waits for confirmation, or has a worker that sends no reports and may not stop. */
  run(how: 'planned' | 'planning' | 'canceled long ago'): Promise<{ id: string; workspaceId: string }>;
}

/** One operation called by many at once, always about the same object. */
export interface Example {
  /** Values of the path's parameters. */
  readonly at?: Readonly<Record<string, string>>;
  /** The address to use instead of the path with its parameters: a signed link. */
  readonly url?: string;
  /** The body of the n-th call. */
  readonly body?: (n: number) => object | Buffer | string;
  readonly token?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly query?: string;
  /**
   * Accepted statuses besides success: of later callers of an operation that succeeds once. No other refusal is
   * accepted, since the object exists throughout.
   */
  readonly also?: readonly number[];
  /** Runs between the calls, for example to recreate objects that the calls remove. */
  readonly between?: () => Promise<unknown>;
}

/** Prepares an object and returns the calls of the operation, or the reason why it is left out. */
export type Making = ((world: World) => Promise<Example> | Example) | string;

const hosted = 'is of the other edition';
const asOfPlans = 'is that of plans: hidden-results.test.ts';
const once = { also: [404] } as const;

const notification = (name: string, isNew = true) =>
  resource('notification-configurations', {
    name,
    ...(isNew ? { 'destination-type': 'generic' } : {}),
    url: 'http://127.0.0.1:1/',
    triggers: ['run:errored'],
  });
const ofNotification = async (world: World) => {
  const { id } = await workspace(world);
  const made = await world.root('POST', `workspaces/${id}/notification-configurations`, notification(world.fresh()));
  return { at: { notification_configuration_id: made.id } };
};
/** A module with an announced version. */
const moduleIn = async (world: World) => {
  const { organization } = world;
  const name = world.fresh();
  await world.root('POST', under(world, 'registry-modules'), resource('registry-modules', { name, provider: 'crane' }));
  const body = resource('registry-module-versions', { version: '1.0.0' });
  const made = await world.root('POST', `registry-modules/${organization}/${name}/crane/versions`, body);
  const at = {
    organization_name: organization,
    registry_name: 'private',
    namespace: organization,
    module_name: name,
    module_provider: 'crane',
    module_version: '1.0.0',
  };
  return { at, upload: made.links.upload as string };
};
const ofHosts = 'needs a Git host: modules-from-git.test.ts';
const ofSigners = 'needs keys and signatures: registry-providers.test.ts';
const providerPath =
  '/organizations/:organization_name/registry-providers/:registry_name/:namespace/:provider_name' as const;
const registryProvider = (name: string, namespace: string) =>
  resource('registry-providers', { name, namespace, 'registry-name': 'private' });
const providerVersion = (version: string) =>
  resource('registry-provider-versions', { version, 'key-id': 'ABCDEF', protocols: ['5.0'] });
const platform = (os: string) =>
  resource('registry-provider-platforms', { os, arch: 'amd64', shasum: 'ab'.repeat(32), filename: `${os}.zip` });
/** A provider with a version and a platform, without files. */
const providerIn = async (world: World) => {
  const { organization } = world;
  const name = world.fresh();
  await world.root('POST', under(world, 'registry-providers'), registryProvider(name, organization));
  const at = `${under(world, 'registry-providers')}/private/${organization}/${name}/versions`;
  await world.root('POST', at, providerVersion('1.0.0'));
  await world.root('POST', `${at}/1.0.0/platforms`, platform('linux'));
  return {
    organization_name: organization,
    registry_name: 'private',
    namespace: organization,
    provider_name: name,
    provider_version: '1.0.0',
    os: 'linux',
    arch: 'amd64',
  };
};
const testsPath =
  '/organizations/:organization_name/tests/registry-modules/:registry_name/:namespace/:module_name/:module_provider';
/** A module with tests enabled, and a configuration to test. */
const testedModule = async (world: World) => {
  const { at } = await moduleIn(world);
  const path = `organizations/${at.organization_name}/registry-modules/private/${at.namespace}/${at.module_name}/crane`;
  const on = resource('registry-modules', { 'test-config': { 'tests-enabled': true } });
  await world.root('PATCH', path, on);
  const tests = path.replace('/registry-modules/', '/tests/registry-modules/');
  const configuration = await world.root('POST', `${tests}/test-runs/configuration-versions`);
  const { id } = configuration;
  await world.upload(configuration.attributes['upload-url']);
  return { at, tests, body: resource('test-runs', {}, { 'configuration-version': ref('configuration-versions', id) }) };
};
const testRunIn = async (world: World) => {
  const { at, tests, body } = await testedModule(world);
  return { ...at, test_run_id: (await world.root('POST', `${tests}/test-runs`, body)).id as string };
};
const testVariableIn = async (world: World) => {
  const { at, tests } = await testedModule(world);
  const body = resource('vars', { key: 'a', value: 'b', category: 'env' });
  return { ...at, test_variable_id: (await world.root('POST', `${tests}/vars`, body)).id as string };
};
const queryIn = async (world: World): Promise<Body> => {
  const { id } = await workspace(world);
  await world.configuration(id);
  return world.root('POST', 'queries', resource('queries', {}, { workspace: ref('workspaces', id) }));
};
const tagged = (key: string, value: string) => ({
  'tag-bindings': { data: [{ type: 'tag-bindings', attributes: { key, value } }] },
});
/** A dry run of policies over one run. */
const dryRunOf = async (world: World) => {
  await world.run('planned');
  const rule = { name: world.fresh(), kind: 'opa', query: 'data.x.deny', 'enforcement-level': 'advisory' };
  const { id } = await world.root('POST', under(world, 'policies'), resource('policies', rule));
  const body = resource('policy-dry-runs', {}, { policies: { data: [ref('policies', id).data] } });
  return () => body;
};
const afterCancel = 'ends what was canceled a minute ago: module-tests.test.ts';
const moduleReference = async (world: World) => {
  const { organization_name, namespace, module_name, module_provider } = (await moduleIn(world)).at;
  const path = `organizations/${organization_name}/registry-modules/private/${namespace}/${module_name}/${module_provider}`;
  return { 'registry-module': ref('registry-modules', (await world.root('GET', path)).id) };
};
const noCodeIn = async (world: World): Promise<Body> =>
  world.root('POST', under(world, 'no-code-modules'), resource('no-code-modules', {}, await moduleReference(world)));
const ofPublished = 'needs a published version: no-code-modules.test.ts';
const deletedModule = async (world: World) => ({ at: (await moduleIn(world)).at, ...once });
const runTask = (name: string) =>
  resource('tasks', { name, url: 'http://127.0.0.1:1/', category: 'task', enabled: false });
const taskIn = (world: World): Promise<Body> => world.root('POST', under(world, 'tasks'), runTask(world.fresh()));
const attachment = async (world: World) =>
  resource(
    'workspace-tasks',
    { 'enforcement-level': 'advisory', stages: ['pre_plan'] },
    { task: ref('tasks', (await taskIn(world)).id) },
  );
const attachedTask = async (world: World) => {
  const { id } = await workspace(world);
  const made = await world.root('POST', `workspaces/${id}/tasks`, await attachment(world));
  return { at: { workspace_id: id, workspace_task_id: made.id } };
};
const policyAttributes = { kind: 'opa', query: 'data.x.deny', 'enforcement-level': 'advisory' };
const policyIn = (world: World): Promise<Body> => makeIn(world, 'policies', 'policies', policyAttributes);
const policySetIn = (world: World): Promise<Body> => makeIn(world, 'policy-sets', 'policy-sets', { kind: 'opa' });
const parameter = (key: string, value = 'v') => resource('vars', { key, value, category: 'policy-set' });
const parameterIn = async (world: World) => {
  const { id } = await policySetIn(world);
  const made = await world.root('POST', `policy-sets/${id}/parameters`, parameter('k'));
  return { at: { policy_set_id: id, parameter_id: made.id } };
};
/** Adds a member to a list of a policy set, and removes it. */
const memberOf = (list: string, type: string, make: (world: World) => Promise<Body>) =>
  Object.fromEntries(
    (['POST', 'DELETE'] as const).map((method) => [
      `${method} /policy-sets/:policy_set_id/relationships/${list}`,
      async (world: World) => {
        const data = [{ type, id: (await make(world)).id }];
        return { at: { policy_set_id: (await policySetIn(world)).id }, body: () => ({ data }) };
      },
    ]),
  );
const selector = { data: [{ 'tag-key': 'env', 'tag-value': 'prod', 'is-exclude': false }] };
const second = { also: [409] } as const;
const taken = { also: [422] } as const;

const under = ({ organization }: World, path: string) => `organizations/${organization}/${path}`;
const makeIn = (world: World, path: string, type: string, attributes: object = {}, relationships?: object) =>
  world.root('POST', under(world, path), resource(type, { name: world.fresh(), ...attributes }, relationships));
const workspace = (world: World, attributes: object = {}): Promise<Body> =>
  makeIn(world, 'workspaces', 'workspaces', attributes);
const project = (world: World): Promise<Body> => makeIn(world, 'projects', 'projects');
const team = (world: World): Promise<Body> => makeIn(world, 'teams', 'teams');
const set = (world: World): Promise<Body> => makeIn(world, 'varsets', 'varsets');
const pool = (world: World): Promise<Body> => makeIn(world, 'agent-pools', 'agent-pools');
const addresses = (world: World): Promise<Body> => makeIn(world, 'cidr-range-lists', 'cidr-range-lists');
/** A range that allows every address. */
const anyAddress = (n: number) => resource('cidr-ranges', { range: '0.0.0.0/0', enabled: n % 2 === 0 });
const addressRange = async (world: World): Promise<Body> => {
  const { id } = await addresses(world);
  return world.root('POST', `cidr-range-lists/${id}/relationships/cidr-ranges`, anyAddress(1));
};
const listOfPools = async (world: World): Promise<Example> => {
  const [{ id }, { id: poolId }] = [await addresses(world), await pool(world)];
  return { at: { cidr_range_list_id: id }, body: () => ({ data: [ref('agent-pools', poolId).data] }) };
};
const reservedKey = (world: World): Promise<Body> =>
  world.root('POST', under(world, 'reserved-tag-keys'), resource('reserved-tag-keys', { key: world.fresh() }));
const key = (world: World): Promise<Body> => makeIn(world, 'ssh-keys', 'ssh-keys', { value: world.sshKey });
/** The plan of a run that has ended. */
const endedPlan = async (world: World): Promise<string> => {
  const { id } = await world.run('planned');
  await world.root('POST', `runs/${id}/actions/discard`, {});
  return (await world.root('GET', `runs/${id}/plan`)).id;
};
const planExport = async (world: World): Promise<object> => {
  const run = await world.root('GET', `runs/${(await world.run('planned')).id}`);
  const plan = ref('plans', run.relationships.plan.data.id);
  return resource('plan-exports', { 'data-type': 'sentinel-mock-bundle-v0' }, { plan });
};
const connection = (world: World, more: object = {}): Promise<Body> =>
  makeIn(world, 'oauth-clients', 'oauth-clients', {
    'service-provider': 'github',
    'http-url': 'https://code.test',
    'api-url': 'https://api.code.test',
    'oauth-token-string': 'text',
    ...more,
  });
const variable = (name: string) => resource('vars', { key: name, value: 'v', category: 'env' });
const variableIn = async (world: World, path: string) => {
  const { id } = await workspace(world);
  const made = await world.root('POST', `workspaces/${id}/vars`, variable(world.fresh()));
  return { path, at: { workspace_id: id, variable_id: made.id } };
};
const member = async (world: World, organization = world.organization) => {
  const person = await world.person();
  const body = resource('organization-memberships', { email: `${person.username}@example.com` });
  const made = await world.root('POST', `organizations/${organization}/organization-memberships`, body);
  return { ...person, membershipId: made.id as string, link: (made.meta['invite-url'] as string).split('/').at(-1)! };
};
const joined = async (world: World) => {
  const someone = await member(world);
  await world.as(someone.token, 'POST', `one-time-links/${someone.link}`);
  return someone;
};
const organization = async (world: World): Promise<string> => {
  const name = world.fresh();
  await world.root('POST', 'organizations', resource('organizations', { name, email: 'a@b.co' }));
  return name;
};
const version = (n: number) => `9.${n}.${Math.floor(Math.random() * 1e6)}`;

/** The workspace of an example, by its id and by its name. */
const ofWorkspace = async (world: World, attributes: object = {}) => {
  const made = await workspace(world, attributes);
  return {
    workspace_id: made.id as string,
    organization_name: world.organization,
    name: made.attributes.name as string,
  };
};
const onWorkspace =
  (body?: Example['body'], more: Partial<Example> = {}): Making =>
  async (world) => ({ at: await ofWorkspace(world), body, ...more });
/** The value of one key-value tag, different each time. */
const sameKey = (n: number) => ({ data: [{ type: 'tag-bindings', attributes: { key: 'same', value: `v${n}` } }] });
/** An object of the shared organization, by the id it is created with. */
const onThing =
  (param: string, make: (world: World) => Promise<Body>, body?: Example['body'], more: Partial<Example> = {}): Making =>
  async (world) => ({ at: { [param]: (await make(world)).id }, body, ...more });
/** Adds objects to a collection of the shared organization, each with a new name. */
const adding =
  (type: string, attributes: (world: World) => object = () => ({})): Making =>
  (world) => ({
    at: { organization_name: world.organization },
    body: () => resource(type, { name: world.fresh(), ...attributes(world) }),
  });
const description = (type: string) => (n: number) => resource(type, { description: `d${n}` });
const named = (type: string) => (n: number) => resource(type, { name: `n${n}-${Math.random().toString(36).slice(2)}` });

/** A workspace locked by the administrator, as uploads of states require. */
const lockedWorkspace = async (world: World): Promise<string> => {
  const { id } = await workspace(world);
  await world.root('POST', `workspaces/${id}/actions/lock`, {});
  return id;
};
const stateBody = (serial: number, inline = true) => {
  const bytes = stateOf(serial);
  const md5 = createHash('md5').update(bytes).digest('hex');
  const state = inline ? { state: bytes.toString('base64') } : {};
  return resource('state-versions', { serial, md5, ...state });
};
const announcedState: Making = async (world) => {
  const id = await lockedWorkspace(world);
  const made = await world.root('POST', `workspaces/${id}/state-versions`, stateBody(1, false));
  return { url: made.attributes['hosted-state-upload-url'], body: () => stateOf(1), also: [404, 409] };
};
const oldState = async (world: World): Promise<string> => {
  const id = await lockedWorkspace(world);
  const first = await world.root('POST', `workspaces/${id}/state-versions`, stateBody(1));
  await world.root('POST', `workspaces/${id}/state-versions`, stateBody(2));
  return first.id;
};
const oldConfiguration = async (world: World): Promise<string> => {
  const { id } = await workspace(world);
  const first = await world.configuration(id);
  await world.configuration(id);
  return first;
};
const backingData = (param: string, old: (world: World) => Promise<string>, path: string, before?: string): Making => {
  return async (world) => {
    const id = await old(world);
    if (before) await world.root('POST', `${path}/${id}/actions/${before}`, {});
    return { at: { [param]: id }, also: [400] };
  };
};
const locking = (verb: 'lock' | 'unlock' | 'heartbeat' | 'force-unlock'): Making => {
  return async (world) => {
    const at = await ofWorkspace(world);
    const lock = () => world.root('POST', `workspaces/${at.workspace_id}/actions/lock`, { 'heartbeat-seconds': 60 });
    const unlock = () => world.root('POST', `workspaces/${at.workspace_id}/actions/force-unlock`, {});
    if (verb !== 'lock') await lock();
    if (verb === 'heartbeat') return { at };
    return { at, ...second, body: () => ({}), between: verb === 'lock' ? unlock : lock };
  };
};
const consumer: Making = async (world) => {
  const { id } = await workspace(world);
  return {
    at: await ofWorkspace(world, { 'global-remote-state': false }),
    body: () => ({ data: [ref('workspaces', id).data] }),
  };
};
const tag = async (world: World): Promise<{ workspaceId: string; id: string; name: string }> => {
  const { id } = await workspace(world);
  const name = world.fresh();
  await world.root('POST', `workspaces/${id}/relationships/tags`, { data: [{ type: 'tags', attributes: { name } }] });
  const [found] = await world.root('GET', `workspaces/${id}/relationships/tags`);
  return { workspaceId: id, id: found.id, name };
};
const grants = (kind: 'workspace' | 'project') => ({
  type: `team-${kind}s`,
  make: async (world: World) => {
    const [who, what] = [await team(world), await (kind === 'workspace' ? workspace(world) : project(world))];
    const to = { team: ref('teams', who.id), [kind]: ref(`${kind}s`, what.id) };
    return resource(`team-${kind}s`, { access: 'read' }, to);
  },
});
const granted = (kind: 'workspace' | 'project') => async (world: World) => {
  const { type, make } = grants(kind);
  return world.root('POST', type, await make(world));
};
const access = (type: string) => (n: number) => resource(type, { access: n % 2 ? 'write' : 'read' });
const ofTeam = (method: 'POST' | 'DELETE', by: 'users' | 'organization-memberships'): Making => {
  return async (world) => {
    const [{ id: team_id }, someone] = [await team(world), await joined(world)];
    const id = by === 'users' ? someone.id : someone.membershipId;
    const body = { data: [{ type: by, id }] };
    if (method === 'DELETE') await world.root('POST', `teams/${team_id}/relationships/${by}`, body);
    return { at: { team_id }, body: () => body };
  };
};
const ofSet = (method: 'POST' | 'DELETE', what: 'workspaces' | 'projects'): Making => {
  return async (world) => {
    const [{ id: varset_id }, thing] = [await set(world), await (what === 'projects' ? project : workspace)(world)];
    const body = { data: [ref(what, thing.id).data] };
    if (method === 'DELETE') await world.root('POST', `varsets/${varset_id}/relationships/${what}`, body);
    return { at: { varset_id }, body: () => body };
  };
};
const ofClient: Making = async (world) => {
  const [client, { id }] = [await connection(world, { 'organization-scoped': false }), await project(world)];
  return { at: { oauth_client_id: client.id }, body: () => ({ data: [ref('projects', id).data] }) };
};
const setVariable = async (world: World) => {
  const { id: varset_id } = await set(world);
  const made = await world.root('POST', `varsets/${varset_id}/relationships/vars`, variable(world.fresh()));
  return { varset_id, variable_id: made.id as string };
};
const retention = (n: number) =>
  resource('data-retention-policy-delete-olders', { 'delete-older-than-n-days': 100 + n });
const olderRetention = (n: number) => resource('data-retention-policies', { 'delete-older-than-n-days': 100 + n });
const ofRun = (how: Parameters<World['run']>[0]): Making => {
  return async (world) => ({ at: { run_id: (await world.run(how)).id }, body: () => ({}), ...second });
};
const someone =
  (more: Partial<Example> = {}): Making =>
  async (world) => ({ at: { user_id: (await world.person()).id }, ...more });
const ofVersion = (type: string, body?: Example['body'], more: Partial<Example> = {}): Making => {
  return async (world) => {
    const attributes = { version: version(1), url: 'https://example.com/t.zip', sha: 'ab' };
    const made = await world.root('POST', `admin/${type}`, resource(type, attributes));
    return { at: { version_id: made.id }, body, ...more };
  };
};
const provider = (name: string) =>
  resource('sign-in-providers', {
    name,
    issuer: 'https://id.example',
    'client-id': 'keystead',
    'client-secret': 'a secret of ours',
  });
const ofProvider = (body?: Example['body'], more: Partial<Example> = {}): Making => {
  return async (world) => {
    const made = await world.root('POST', 'admin/sign-in-providers', provider(world.fresh()));
    return { at: { provider_id: made.id }, body, ...more };
  };
};
/** A token for the directory, which is switched on. */
const directory = async (world: World): Promise<string> => {
  await world.root('PATCH', 'admin/scim-settings', resource('scim-settings', { enabled: true, paused: false }));
  const body = resource('authentication-tokens', { description: world.fresh() });
  return (await world.root('POST', 'admin/scim-tokens', body)).attributes.token;
};
/** A person or a group of the directory, called with its token. */
const inDirectory = (
  kind: 'Users' | 'Groups',
  body?: (name: string) => Example['body'],
  more: Partial<Example> = {},
): Making => {
  return async (world) => {
    const token = await directory(world);
    const name = world.fresh();
    const about = kind === 'Users' ? { userName: name } : { displayName: name };
    const { id } = await world.as(token, 'POST', `/scim/v2/${kind}`, about);
    const param = kind === 'Users' ? 'scim_user_id' : 'scim_group_id';
    return { at: { [param]: id }, token, body: body?.(name), ...more };
  };
};
const addingToDirectory = (key: string): Making => {
  return async (world) => ({
    token: await directory(world),
    body: () => ({ [key]: world.fresh() }),
  });
};
const operation = (path: string, value: (n: number) => unknown) => (n: number) => ({
  Operations: [{ op: 'replace', path, value: value(n) }],
});
/** A team, linked with a group of the directory by default. */
const ofLinkedTeam = (isLinked: boolean, body?: Example['body'], more: Partial<Example> = {}): Making => {
  return async (world) => {
    const token = await directory(world);
    const { id } = await world.as(token, 'POST', '/scim/v2/Groups', { displayName: world.fresh() });
    const at = { team_id: (await team(world)).id as string };
    const link = resource('scim-group-mappings', { 'scim-group-id': id });
    if (isLinked) await world.root('POST', `admin/teams/${at.team_id}/scim-group-mapping`, link);
    return { at, body: isLinked ? body : () => link, ...more };
  };
};
const newVersion = (type: string): Making => {
  const attributes = (n: number) => ({ version: version(n), url: 'https://example.com/t.zip', sha: 'ab' });
  return () => ({ body: (n) => resource(type, attributes(n)) });
};
const versionsOf = (type: string): Record<string, Making> => ({
  [`POST /admin/${type}`]: newVersion(type),
  [`PATCH /admin/${type}/:version_id`]: ofVersion(type, (n) => resource(type, { deprecated: n % 2 === 0 })),
  [`DELETE /admin/${type}/:version_id`]: ofVersion(type, undefined, once),
});
const changeRequests = (ids: readonly string[]) => ({
  data: {
    attributes: { action_type: 'change_requests', action_inputs: { subject: 's', message: 'm' }, target_ids: ids },
  },
});

const changeRequest: Making = async (world) => {
  const { id } = await workspace(world);
  await world.root('POST', under(world, 'explorer/bulk-actions'), changeRequests([id]));
  const [made] = await world.root('GET', `workspaces/${id}/change-requests`);
  return { at: { change_request_id: made.id } };
};

const tokenOf = (param: string, make: (world: World) => Promise<string>, method: 'POST' | 'DELETE'): Making => {
  return async (world) => {
    const id = await make(world);
    const path = `${param === 'team_id' ? 'teams' : 'organizations'}/${id}/authentication-token`;
    const again = () => world.root('POST', path, resource('authentication-tokens'));
    await again();
    return method === 'POST'
      ? { at: { [param]: id }, body: () => resource('authentication-tokens') }
      : { at: { [param]: id }, ...once, between: again };
  };
};
const idOf = (make: (world: World) => Promise<Body>) => async (world: World) => (await make(world)).id as string;
const asPerson =
  (body: (world: World, person: Person, n: number) => object, more: Partial<Example> = {}): Making =>
  async (world) => {
    const person = await world.person();
    return { token: person.token, body: (n) => body(world, person, n), ...more };
  };
const enrolled = async (world: World) => {
  const person = await world.person();
  const body = resource('two-factor', { password: world.password });
  const begun = await world.as(person.token, 'POST', 'account/two-factor', body);
  return { person, secret: begun.attributes.secret as string };
};
const redirect = 'http://localhost:10003/login';
const verifier = 'v'.repeat(64);
const loginCode = () =>
  resource('login-codes', {
    'client-id': 'keystead-cli',
    'redirect-uri': redirect,
    'code-challenge': createHash('sha256').update(verifier).digest('base64url'),
  });

const changedOrganization: Making = async (world) => ({
  at: { organization_name: await organization(world) },
  body: (n) => resource('organizations', { email: `a${n}@b.co` }),
});

/** How each writing operation is called, by method and path. */
export const examples: Readonly<Record<string, Making>> = {
  'PATCH /account/update': asPerson((world) => resource('users', { username: world.fresh() })),
  'PATCH /account/password': asPerson(({ password }) =>
    resource('users', { current_password: password, password, password_confirmation: password }),
  ),
  'POST /organizations': (world) => ({
    body: () => resource('organizations', { name: world.fresh(), email: 'a@b.co' }),
  }),
  'PATCH /organizations/:organization_name': changedOrganization,
  'PUT /organizations/:organization_name': changedOrganization,
  'DELETE /organizations/:organization_name': async (world) => ({
    at: { organization_name: await organization(world) },
    ...once,
  }),
  'POST /admin/organizations/:organization_name/subscription': hosted,
  'POST /organizations/:organization_name/teams': adding('teams'),
  'PATCH /teams/:team_id': onThing('team_id', team, named('teams')),
  'DELETE /teams/:team_id': onThing('team_id', team, undefined, once),
  'POST /teams/:team_id/relationships/users': ofTeam('POST', 'users'),
  'DELETE /teams/:team_id/relationships/users': ofTeam('DELETE', 'users'),
  'POST /teams/:team_id/relationships/organization-memberships': ofTeam('POST', 'organization-memberships'),
  'DELETE /teams/:team_id/relationships/organization-memberships': ofTeam('DELETE', 'organization-memberships'),
  'POST /organizations/:organization_name/organization-memberships': (world) => ({
    at: { organization_name: world.organization },
    body: () => resource('organization-memberships', { email: `${world.fresh()}@example.com` }),
  }),
  'DELETE /organization-memberships/:membership_id': async (world) => ({
    at: { membership_id: (await member(world)).membershipId },
    ...once,
  }),
  'POST /users/:user_id/authentication-tokens': async (world) => {
    const { id, token } = await world.person();
    return { at: { user_id: id }, token, body: () => resource('authentication-tokens') };
  },
  'DELETE /authentication-tokens/:token_id': async (world) => {
    const made = await world.root(
      'POST',
      `teams/${await idOf(team)(world)}/authentication-token`,
      resource('authentication-tokens'),
    );
    return { at: { token_id: made.id }, ...once };
  },
  'DELETE /organizations/:organization_name/team-tokens': async (world) => {
    const path = `teams/${await idOf(team)(world)}/authentication-token`;
    const { id } = await world.root('POST', path, resource('authentication-tokens'));
    const at = { organization_name: world.organization };
    return { at, body: () => ({ data: [{ type: 'authentication-tokens', id }] }), ...taken };
  },
  'POST /teams/:team_id/authentication-token': tokenOf('team_id', idOf(team), 'POST'),
  'POST /teams/:team_id/authentication-tokens': onThing('team_id', team, (n) =>
    resource('authentication-tokens', { description: `t${n}` }),
  ),
  'DELETE /teams/:team_id/authentication-token': tokenOf('team_id', idOf(team), 'DELETE'),
  'POST /organizations/:organization_name/authentication-token': tokenOf('organization_name', organization, 'POST'),
  'DELETE /organizations/:organization_name/authentication-token': tokenOf('organization_name', organization, 'DELETE'),
  'POST /session': async (world) => {
    const { username } = await world.person();
    return { body: () => resource('sessions', { username, password: world.password }) };
  },
  'DELETE /session': async (world) => {
    const { username } = await world.person();
    const made = await world.root('POST', 'session', resource('sessions', { username, password: world.password }));
    return { token: made.attributes.token, also: [401, 404] };
  },
  'POST /account/two-factor': asPerson(({ password }) => resource('two-factor', { password })),
  // A code is accepted once, and only a few wrong codes are allowed.
  'POST /account/two-factor/actions/verify': async (world) => {
    const { person, secret } = await enrolled(world);
    return {
      token: person.token,
      body: () => resource('two-factor', { code: world.codeOf(secret) }),
      also: [422, 429],
    };
  },
  'DELETE /account/two-factor': async (world) => {
    const { person } = await enrolled(world);
    const { password } = world;
    return { token: person.token, body: () => resource('two-factor', { password }), ...once };
  },
  'POST /one-time-links/:secret': async (world) => {
    const { link, token } = await member(world);
    return { at: { secret: link }, token, ...once };
  },
  'POST /admin/users/:user_id/actions/reset_password': someone(),
  'POST /admin/users/:user_id/actions/confirm_email': async (world) => {
    const { id, token } = await world.person();
    const asked = resource('users', { email: `${world.fresh()}@b.co` });
    await world.as(token, 'PATCH', 'account/update', asked);
    return { at: { user_id: id }, body: () => asked, ...once };
  },
  'POST /account/login-codes': asPerson(loginCode),
  'POST /oauth2/token': async (world) => {
    const { token } = await world.person();
    const made = await world.as(token, 'POST', 'account/login-codes', loginCode());
    const form = new URLSearchParams({
      grant_type: 'authorization_code',
      client_id: 'keystead-cli',
      redirect_uri: redirect,
      code: made.attributes.code,
      code_verifier: verifier,
    });
    return { url: '/oauth2/token', body: () => form.toString(), also: [400] };
  },
  'POST /organizations/:organization_name/projects': adding('projects'),
  'PATCH /projects/:project_id': onThing('project_id', project, description('projects')),
  'DELETE /projects/:project_id': onThing('project_id', project, undefined, once),
  'POST /projects/:project_id/relationships/workspaces': async (world) => {
    const [{ id: project_id }, { id }] = [await project(world), await workspace(world)];
    return { at: { project_id }, body: () => ({ data: [ref('workspaces', id).data] }) };
  },
  'POST /organizations/:organization_name/ssh-keys': adding('ssh-keys', ({ sshKey: value }) => ({ value })),
  'PATCH /ssh-keys/:ssh_key_id': onThing('ssh_key_id', key, named('ssh-keys')),
  'DELETE /ssh-keys/:ssh_key_id': onThing('ssh_key_id', key, undefined, once),
  'POST /organizations/:organization_name/oauth-clients': adding('oauth-clients', () => ({
    'service-provider': 'github',
    'http-url': 'https://code.test',
    'api-url': 'https://api.code.test',
    'oauth-token-string': 'text',
  })),
  'POST /oauth-clients': (world) => ({
    body: () =>
      resource('oauth-clients', {
        'organization-id': world.organization,
        'service-provider': 'github',
        'http-url': 'https://code.test',
        'api-url': 'https://api.code.test',
        'oauth-token-string': 'text',
      }),
  }),
  'PATCH /oauth-clients/:oauth_client_id': onThing('oauth_client_id', connection, named('oauth-clients')),
  'DELETE /oauth-clients/:oauth_client_id': onThing('oauth_client_id', connection, undefined, once),
  'POST /oauth-clients/:oauth_client_id/relationships/projects': ofClient,
  'DELETE /oauth-clients/:oauth_client_id/relationships/projects': ofClient,
  'PATCH /oauth-tokens/:oauth_token_id': async (world) => {
    const client = await connection(world);
    const oauth_token_id = client.relationships['oauth-tokens'].data[0].id;
    return { at: { oauth_token_id }, body: () => resource('oauth-tokens', { 'ssh-key': world.sshKey }) };
  },
  'DELETE /oauth-tokens/:oauth_token_id': async (world) => {
    const client = await connection(world);
    return { at: { oauth_token_id: client.relationships['oauth-tokens'].data[0].id }, ...once };
  },
  'POST /organizations/:organization_name/agent-pools': adding('agent-pools'),
  'PATCH /agent-pools/:pool_id': onThing('pool_id', pool, named('agent-pools')),
  'DELETE /agent-pools/:pool_id': onThing('pool_id', pool, undefined, once),
  ...agentExamples,
  'POST /organizations/:organization_name/cidr-range-lists': adding('cidr-range-lists'),
  'PATCH /cidr-range-lists/:cidr_range_list_id': onThing('cidr_range_list_id', addresses, named('cidr-range-lists')),
  'DELETE /cidr-range-lists/:cidr_range_list_id': onThing('cidr_range_list_id', addresses, undefined, once),
  'POST /cidr-range-lists/:cidr_range_list_id/relationships/agent-pools': listOfPools,
  'DELETE /cidr-range-lists/:cidr_range_list_id/relationships/agent-pools': listOfPools,
  'POST /cidr-range-lists/:cidr_range_list_id/relationships/cidr-ranges': onThing(
    'cidr_range_list_id',
    addresses,
    anyAddress,
  ),
  'PATCH /cidr-ranges/:cidr_range_id': onThing('cidr_range_id', addressRange, anyAddress),
  'DELETE /cidr-ranges/:cidr_range_id': onThing('cidr_range_id', addressRange, undefined, once),
  'POST /agent-pools/:pool_id/authentication-tokens': onThing('pool_id', pool, (n) =>
    resource('authentication-tokens', { description: `a${n}` }),
  ),
  'POST /organizations/:organization_name/workspaces': adding('workspaces'),
  'PATCH /workspaces/:workspace_id': onWorkspace(description('workspaces')),
  'PATCH /organizations/:organization_name/workspaces/:name': onWorkspace((n) =>
    resource('workspaces', { 'auto-apply': n % 2 === 0 }),
  ),
  'DELETE /workspaces/:workspace_id': onWorkspace(undefined, once),
  'DELETE /organizations/:organization_name/workspaces/:name': onWorkspace(undefined, once),
  'POST /workspaces/:workspace_id/actions/safe-delete': onWorkspace(undefined, once),
  'POST /organizations/:organization_name/workspaces/:name/actions/safe-delete': onWorkspace(undefined, once),
  'POST /workspaces/:workspace_id/actions/lock': locking('lock'),
  'POST /organizations/:organization_name/workspaces/:name/actions/lock': locking('lock'),
  'POST /workspaces/:workspace_id/actions/unlock': locking('unlock'),
  'POST /organizations/:organization_name/workspaces/:name/actions/unlock': locking('unlock'),
  'POST /workspaces/:workspace_id/actions/heartbeat': locking('heartbeat'),
  'POST /organizations/:organization_name/workspaces/:name/actions/heartbeat': locking('heartbeat'),
  'POST /workspaces/:workspace_id/actions/force-unlock': locking('force-unlock'),
  'POST /organizations/:organization_name/workspaces/:name/actions/force-unlock': locking('force-unlock'),
  'PATCH /workspaces/:workspace_id/relationships/ssh-key': async (world) => {
    const { id } = await key(world);
    const body = (n: number) => resource('workspaces', { id: n % 2 ? id : null });
    return { at: await ofWorkspace(world), body };
  },
  'POST /workspaces/:workspace_id/relationships/remote-state-consumers': consumer,
  'PATCH /workspaces/:workspace_id/relationships/remote-state-consumers': consumer,
  'DELETE /workspaces/:workspace_id/relationships/remote-state-consumers': consumer,
  'DELETE /organizations/:organization_name/tags': async (world) => {
    const { id } = await tag(world);
    return { at: { organization_name: world.organization }, body: () => ({ data: [{ type: 'tags', id }] }), ...once };
  },
  'POST /tags/:tag_id/relationships/workspaces': async (world) => {
    const [{ id: tag_id }, { id }] = [await tag(world), await workspace(world)];
    return { at: { tag_id }, body: () => ({ data: [ref('workspaces', id).data] }) };
  },
  'POST /workspaces/:workspace_id/relationships/tags': async (world) => {
    const name = world.fresh();
    return { at: await ofWorkspace(world), body: () => ({ data: [{ type: 'tags', attributes: { name } }] }) };
  },
  'DELETE /workspaces/:workspace_id/relationships/tags': async (world) => {
    const { workspaceId, name } = await tag(world);
    return { at: { workspace_id: workspaceId }, body: () => ({ data: [{ type: 'tags', attributes: { name } }] }) };
  },
  'PATCH /workspaces/:workspace_id/tag-bindings': onWorkspace(sameKey),
  'PATCH /projects/:project_id/tag-bindings': onThing('project_id', project, sameKey),
  'POST /workspaces/:workspace_id/relationships/tag-bindings': onWorkspace(sameKey),
  'PATCH /workspaces/:workspace_id/relationships/tag-bindings': onWorkspace(sameKey),
  'POST /projects/:project_id/relationships/tag-bindings': onThing('project_id', project, sameKey),
  'PATCH /projects/:project_id/relationships/tag-bindings': onThing('project_id', project, sameKey),
  'POST /organizations/:organization_name/reserved-tag-keys': async (world) => ({
    at: { organization_name: world.organization },
    body: () => resource('reserved-tag-keys', { key: world.fresh() }),
  }),
  'PATCH /reserved-tag-keys/:reserved_tag_key_id': onThing('reserved_tag_key_id', reservedKey, (n) =>
    resource('reserved-tag-keys', { 'disable-overrides': n % 2 === 0 }),
  ),
  'DELETE /reserved-tag-keys/:reserved_tag_key_id': onThing('reserved_tag_key_id', reservedKey, undefined, once),
  'POST /team-workspaces': async (world) => {
    const body = await grants('workspace').make(world);
    return { body: () => body, ...taken };
  },
  'PATCH /team-workspaces/:team_workspace_id': onThing(
    'team_workspace_id',
    granted('workspace'),
    access('team-workspaces'),
  ),
  'DELETE /team-workspaces/:team_workspace_id': onThing('team_workspace_id', granted('workspace'), undefined, once),
  'POST /team-projects': async (world) => {
    const body = await grants('project').make(world);
    return { body: () => body, ...taken };
  },
  'PATCH /team-projects/:team_project_id': onThing('team_project_id', granted('project'), access('team-projects')),
  'DELETE /team-projects/:team_project_id': onThing('team_project_id', granted('project'), undefined, once),
  'POST /workspaces/:workspace_id/vars': onWorkspace((n) => variable(`k${n}`)),
  'PATCH /workspaces/:workspace_id/vars/:variable_id': async (world) => ({
    ...(await variableIn(world, 'workspace')),
    body: (n) => resource('vars', { value: `v${n}` }),
  }),
  'PATCH /vars/:variable_id': async (world) => ({
    ...(await variableIn(world, 'own')),
    body: (n) => resource('vars', { value: `v${n}` }),
  }),
  'PATCH /workspaces/:workspace_id/relationships/vars': async (world) => {
    const { at } = await variableIn(world, 'workspace');
    const change = (n: number) => ({ type: 'vars', id: at.variable_id, attributes: { value: `v${n}` } });
    return { at: { workspace_id: at.workspace_id }, body: (n) => ({ data: [change(n)] }) };
  },
  'DELETE /workspaces/:workspace_id/vars/:variable_id': async (world) => ({
    ...(await variableIn(world, 'workspace')),
    ...once,
  }),
  'DELETE /vars/:variable_id': async (world) => ({ ...(await variableIn(world, 'own')), ...once }),
  'POST /vars': async (world) => {
    const { id } = await workspace(world);
    const at = { workspace: ref('workspaces', id) };
    return { body: (n) => resource('vars', { key: `k${n}`, value: 'v', category: 'env' }, at) };
  },
  'POST /organizations/:organization_name/varsets': adding('varsets'),
  'PATCH /varsets/:varset_id': onThing('varset_id', set, description('varsets')),
  'PUT /varsets/:varset_id': onThing('varset_id', set, description('varsets')),
  'POST /varsets/:varset_id': onThing('varset_id', set, description('varsets')),
  'DELETE /varsets/:varset_id': onThing('varset_id', set, undefined, once),
  'POST /varsets/:varset_id/relationships/workspaces': ofSet('POST', 'workspaces'),
  'DELETE /varsets/:varset_id/relationships/workspaces': ofSet('DELETE', 'workspaces'),
  'POST /varsets/:varset_id/relationships/projects': ofSet('POST', 'projects'),
  'DELETE /varsets/:varset_id/relationships/projects': ofSet('DELETE', 'projects'),
  'POST /varsets/:varset_id/relationships/vars': onThing('varset_id', set, (n) => variable(`k${n}`)),
  'PATCH /varsets/:varset_id/relationships/vars/:variable_id': async (world) => ({
    at: await setVariable(world),
    body: (n) => resource('vars', { value: `v${n}` }),
  }),
  'DELETE /varsets/:varset_id/relationships/vars/:variable_id': async (world) => ({
    at: await setVariable(world),
    ...once,
  }),
  // Of all states with the same serial, one is stored and the rest are refused.
  'POST /workspaces/:workspace_id/state-versions': async (world) => ({
    at: { workspace_id: await lockedWorkspace(world) },
    body: (n) => stateBody(1 + Math.floor(n / 4)),
    ...second,
  }),
  'PATCH /workspaces/:workspace_id/state-versions': async (world) => {
    const workspace_id = await lockedWorkspace(world);
    const made = await world.root('POST', `workspaces/${workspace_id}/state-versions`, stateBody(1));
    const to = { 'rollback-state-version': ref('state-versions', made.id) };
    return { at: { workspace_id }, body: () => resource('state-versions', {}, to) };
  },
  'PUT /state-versions/:state_version_id/content/raw': announcedState,
  'PUT /state-versions/:state_version_id/content/json': async (world) => {
    const id = await lockedWorkspace(world);
    const made = await world.root('POST', `workspaces/${id}/state-versions`, stateBody(1, false));
    const json = Buffer.from('{"format_version":"1.0"}');
    return { url: made.attributes['hosted-json-state-upload-url'], body: () => json, also: [404, 409] };
  },
  'POST /state-versions/:state_version_id/actions/soft_delete_backing_data': backingData(
    'state_version_id',
    oldState,
    'state-versions',
  ),
  'POST /state-versions/:state_version_id/actions/restore_backing_data': backingData(
    'state_version_id',
    oldState,
    'state-versions',
    'soft_delete_backing_data',
  ),
  'POST /state-versions/:state_version_id/actions/permanently_delete_backing_data': backingData(
    'state_version_id',
    oldState,
    'state-versions',
    'soft_delete_backing_data',
  ),
  'POST /plans/:id/actions/soft-delete-backing-data': backingData('id', endedPlan, 'plans'),
  'POST /plans/:id/actions/restore-backing-data': backingData('id', endedPlan, 'plans', 'soft-delete-backing-data'),
  'POST /plans/:id/actions/permanently-delete-backing-data': backingData(
    'id',
    endedPlan,
    'plans',
    'soft-delete-backing-data',
  ),
  'POST /applies/:id/actions/soft-delete-backing-data': asOfPlans,
  'POST /applies/:id/actions/restore-backing-data': asOfPlans,
  'POST /applies/:id/actions/permanently-delete-backing-data': asOfPlans,
  'POST /assessments/:assessment_result_id/actions/soft-delete-backing-data': asOfPlans,
  'POST /assessments/:assessment_result_id/actions/restore-backing-data': asOfPlans,
  'POST /assessments/:assessment_result_id/actions/permanently-delete-backing-data': asOfPlans,
  'POST /workspaces/:workspace_id/actions/assess': 'succeeds once until a worker has planned: hidden-results.test.ts',
  'POST /quarantined-states/:quarantined_id/actions/promote': async (world) => {
    const id = await lockedWorkspace(world);
    await world.root('POST', `workspaces/${id}/state-versions`, stateBody(5));
    await world.root('POST', `workspaces/${id}/state-versions`, stateBody(3)).catch(() => undefined);
    const [kept] = await world.root('GET', `workspaces/${id}/quarantined-states`);
    return { at: { quarantined_id: kept.id }, ...once };
  },
  'POST /runs': async (world) => {
    const { id } = await workspace(world);
    await world.configuration(id);
    return { body: () => resource('runs', {}, { workspace: ref('workspaces', id) }) };
  },
  'POST /runs/:run_id/actions/apply': ofRun('planned'),
  'POST /runs/:run_id/actions/discard': ofRun('planned'),
  'POST /runs/:run_id/actions/cancel': ofRun('planning'),
  'POST /runs/:run_id/actions/force-cancel': ofRun('canceled long ago'),
  'POST /runs/:run_id/actions/force-execute': async (world) => {
    const { workspaceId } = await world.run('planned');
    const { id } = await world.root(
      'POST',
      'runs',
      resource('runs', {}, { workspace: ref('workspaces', workspaceId) }),
    );
    return { at: { run_id: id }, body: () => ({}), also: [403, 409] };
  },
  // A workspace has a limited number of different sources.
  'POST /workspaces/:workspace_id/run-triggers': async (world) => {
    const { id } = await workspace(world);
    const body = resource('run-triggers', {}, { sourceable: ref('workspaces', id) });
    return { at: await ofWorkspace(world), body: () => body, ...taken };
  },
  'DELETE /run-triggers/:run_trigger_id': async (world) => {
    const [{ id }, source] = [await workspace(world), await workspace(world)];
    const body = resource('run-triggers', {}, { sourceable: ref('workspaces', source.id) });
    const made = await world.root('POST', `workspaces/${id}/run-triggers`, body);
    return { at: { run_trigger_id: made.id }, ...once };
  },
  'POST /workspaces/:workspace_id/notification-configurations': async (world) => ({
    at: await ofWorkspace(world),
    body: () => notification(world.fresh()),
  }),
  'POST /projects/:project_id/notification-configurations': async (world) => {
    const { id } = await world.root(
      'POST',
      `organizations/${world.organization}/projects`,
      resource('projects', { name: world.fresh() }),
    );
    return { at: { project_id: id }, body: () => notification(world.fresh()) };
  },
  'POST /teams/:team_id/notification-configurations': onThing('team_id', team, (n) =>
    resource('notification-configurations', {
      name: `n${n}`,
      'destination-type': 'generic',
      url: 'http://127.0.0.1:1/',
      triggers: ['change_request:created'],
    }),
  ),
  'POST /organizations/:organization_name/explorer/bulk-actions': async (world) => {
    const { id } = await workspace(world);
    return { at: { organization_name: world.organization }, body: () => changeRequests([id]), also: [422] };
  },
  'POST /workspaces/change-requests/:change_request_id': changeRequest,
  'POST /change-requests/:change_request_id/actions/archive': changeRequest,
  'PATCH /organizations/:organization_name/token-ttl-policies': async (world) => ({
    at: { organization_name: (await organization(world)) as string },
    body: (n) =>
      resource('organization-token-ttl-policies', {
        'token-ttl-policies': [{ 'token-type': 'team', 'max-ttl-ms': 86_400_000 + n }],
      }),
  }),
  'PATCH /organizations/:organization_name/audit-configuration': (world) => ({
    at: { organization_name: world.organization },
    body: () => resource('audit-configurations', { 'audit-trails': { enabled: true } }),
  }),
  'POST /organizations/:organization_name/audit-configuration/test': (world) => ({
    at: { organization_name: world.organization },
  }),
  'PATCH /notification-configurations/:notification_configuration_id': async (world) => ({
    ...(await ofNotification(world)),
    body: () => notification(world.fresh(), false),
  }),
  'POST /notification-configurations/:notification_configuration_id/actions/verify':
    'sends to an address that has to answer: notifications.test.ts',
  'POST /notification-configurations/:notification_configuration_id/actions/enable':
    'sends to an address that has to answer: notifications.test.ts',
  'DELETE /notification-configurations/:notification_configuration_id': async (world) => ({
    ...(await ofNotification(world)),
    ...once,
  }),
  'POST /organizations/:organization_name/tasks': (world) => ({
    at: { organization_name: world.organization },
    body: () => runTask(world.fresh()),
  }),
  'PATCH /tasks/:task_id': onThing('task_id', taskIn, (n) => resource('tasks', { description: `text ${n}` })),
  'DELETE /tasks/:task_id': onThing('task_id', taskIn, undefined, once),
  'POST /workspaces/:workspace_id/tasks': async (world) => {
    const [at, body] = [await ofWorkspace(world), await attachment(world)];
    return { at, body: () => body, ...taken };
  },
  'PATCH /workspaces/:workspace_id/tasks/:workspace_task_id': async (world) => ({
    ...(await attachedTask(world)),
    body: (n) => resource('workspace-tasks', { 'enforcement-level': n % 2 === 0 ? 'advisory' : 'mandatory' }),
  }),
  'DELETE /workspaces/:workspace_id/tasks/:workspace_task_id': async (world) => ({
    ...(await attachedTask(world)),
    ...once,
  }),
  'POST /task-stages/:task_stage_id/actions/override': 'needs a task that did not pass: run-tasks.test.ts',
  'PATCH /task-results/:task_result_id/callback': 'needs the token of a request: run-tasks.test.ts',
  'POST /organizations/:organization_name/policies': (world) => ({
    at: { organization_name: world.organization },
    body: () => resource('policies', { name: world.fresh(), ...policyAttributes }),
  }),
  'PATCH /policies/:policy_id': onThing('policy_id', policyIn, (n) =>
    resource('policies', { description: `text ${n}` }),
  ),
  'DELETE /policies/:policy_id': onThing('policy_id', policyIn, undefined, once),
  'PUT /policies/:policy_id/upload': async (world) => ({
    at: { policy_id: (await policyIn(world)).id },
    body: () => Buffer.from('package x'),
  }),
  'POST /organizations/:organization_name/policy-sets': (world) => ({
    at: { organization_name: world.organization },
    body: () => resource('policy-sets', { name: world.fresh(), kind: 'opa' }),
  }),
  'PATCH /policy-sets/:policy_set_id': onThing('policy_set_id', policySetIn, (n) =>
    resource('policy-sets', { description: `text ${n}` }),
  ),
  'DELETE /policy-sets/:policy_set_id': onThing('policy_set_id', policySetIn, undefined, once),
  ...memberOf('policies', 'policies', policyIn),
  ...memberOf('workspaces', 'workspaces', workspace),
  ...memberOf('workspace-exclusions', 'workspaces', workspace),
  ...memberOf('projects', 'projects', project),
  ...memberOf('project-exclusions', 'projects', project),
  'POST /policy-sets/:policy_set_id/tag-selectors': onThing('policy_set_id', policySetIn, () => selector),
  'DELETE /policy-sets/:policy_set_id/tag-selectors': onThing('policy_set_id', policySetIn, () => selector),
  'POST /policy-sets/:policy_set_id/parameters': onThing('policy_set_id', policySetIn, () => parameter('one'), taken),
  'PATCH /policy-sets/:policy_set_id/parameters/:parameter_id': async (world) => ({
    ...(await parameterIn(world)),
    body: (n) => resource('vars', { value: `v${n}` }),
  }),
  'DELETE /policy-sets/:policy_set_id/parameters/:parameter_id': async (world) => ({
    ...(await parameterIn(world)),
    ...once,
  }),
  'POST /policy-sets/:policy_set_id/versions': onThing('policy_set_id', policySetIn, () => ({})),
  'PUT /policy-set-versions/:policy_set_version_id/object/policies.tar.gz': 'takes one archive once: policies.test.ts',
  [`PATCH ${providerPath}`]: async (world) => ({
    at: await providerIn(world),
    body: (n) => resource('registry-providers', {}, tagged('crane', `v${n}`)),
  }),
  'POST /organizations/:organization_name/policy-dry-runs': async (world) => ({
    at: { organization_name: world.organization },
    body: await dryRunOf(world),
    also: [409],
  }),
  'POST /policy-dry-runs/:policy_dry_run_id/actions/cancel': onThing(
    'policy_dry_run_id',
    async (world) => {
      const all: Body[] = await world.root('GET', under(world, 'policy-dry-runs'));
      const running = all.find(({ attributes }) => attributes.status === 'running');
      return running ?? world.root('POST', under(world, 'policy-dry-runs'), (await dryRunOf(world))());
    },
    undefined,
    second,
  ),
  'POST /organizations/:organization_name/registry-modules': (world) => ({
    at: { organization_name: world.organization },
    body: () => resource('registry-modules', { name: world.fresh(), provider: 'crane' }),
  }),
  'DELETE /organizations/:organization_name/registry-modules/:registry_name/:namespace/:module_name': deletedModule,
  'DELETE /organizations/:organization_name/registry-modules/:registry_name/:namespace/:module_name/:module_provider':
    deletedModule,
  'DELETE /organizations/:organization_name/registry-modules/:registry_name/:namespace/:module_name/:module_provider/:module_version':
    deletedModule,
  'POST /registry-modules/actions/delete/:organization_name/:module_name': deletedModule,
  'POST /registry-modules/actions/delete/:organization_name/:module_name/:module_provider': deletedModule,
  'POST /registry-modules/actions/delete/:organization_name/:module_name/:module_provider/:module_version':
    deletedModule,
  'POST /registry-modules/:organization_name/:module_name/:module_provider/versions': async (world) => {
    const { at } = await moduleIn(world);
    return { at, body: () => resource('registry-module-versions', { version: '2.0.0' }), ...taken };
  },
  'PUT /registry-module-versions/:module_version_id/object/module.tar.gz': async (world) => ({
    url: (await moduleIn(world)).upload,
    body: () => world.archive,
  }),
  'POST /organizations/:organization_name/registry-modules/vcs': ofHosts,
  'POST /registry-modules': ofHosts,
  'PATCH /organizations/:organization_name/registry-modules/:registry_name/:namespace/:module_name/:module_provider':
    ofHosts,
  'POST /registry-modules/:registry_module_id/actions/resync': ofHosts,
  [`POST ${testsPath}/test-runs`]: async (world) => {
    const { at, body } = await testedModule(world);
    return { at, body: () => body, also: [409] };
  },
  [`POST ${testsPath}/test-runs/configuration-versions`]: async (world) => ({ at: (await moduleIn(world)).at }),
  [`POST ${testsPath}/test-runs/:test_run_id/cancel`]: async (world) => ({ at: await testRunIn(world), ...second }),
  [`POST ${testsPath}/test-runs/:test_run_id/force-cancel`]: afterCancel,
  [`POST ${testsPath}/vars`]: async (world) => ({
    at: (await moduleIn(world)).at,
    body: () => resource('vars', { key: world.fresh(), value: 'b', category: 'env' }),
  }),
  [`PATCH ${testsPath}/vars/:test_variable_id`]: async (world) => ({
    at: await testVariableIn(world),
    body: (n) => resource('vars', { value: `v${n}` }),
  }),
  [`DELETE ${testsPath}/vars/:test_variable_id`]: async (world) => ({ at: await testVariableIn(world), ...once }),
  'POST /queries': async (world) => {
    const { id } = await workspace(world);
    await world.configuration(id);
    return { body: () => resource('queries', {}, { workspace: ref('workspaces', id) }), also: [409] };
  },
  'POST /queries/:query_id/actions/cancel': onThing('query_id', queryIn, undefined, second),
  'POST /queries/:query_id/actions/force-cancel': afterCancel,
  'POST /organizations/:organization_name/no-code-modules': async (world) => {
    const relationships = await moduleReference(world);
    return {
      at: { organization_name: world.organization },
      body: () => resource('no-code-modules', {}, relationships),
      ...taken,
    };
  },
  'PATCH /no-code-modules/:no_code_module_id': onThing('no_code_module_id', noCodeIn, (n) =>
    resource('no-code-modules', { enabled: n % 2 === 0 }),
  ),
  'DELETE /no-code-modules/:no_code_module_id': onThing('no_code_module_id', noCodeIn, undefined, once),
  'POST /no-code-modules/:no_code_module_id/workspaces': ofPublished,
  'POST /no-code-modules/:no_code_module_id/workspaces/:workspace_id/upgrade': ofPublished,
  'PATCH /organizations/:organization_name/registry-modules/:registry_name/:namespace/:module_name/:module_provider/:module_version':
    async (world) => ({
      at: (await moduleIn(world)).at,
      body: (n) => ({
        data: {
          type: 'module-versions',
          attributes: { deprecation: { 'deprecated-status': 'Deprecated', reason: String(n) } },
        },
      }),
    }),
  'POST /organizations/:organization_name/registry-providers': (world) => ({
    at: { organization_name: world.organization },
    body: () => registryProvider(world.fresh(), world.organization),
  }),
  [`DELETE ${providerPath}`]: async (world) => ({ at: await providerIn(world), ...once }),
  [`POST ${providerPath}/versions`]: async (world) => ({
    at: await providerIn(world),
    body: () => providerVersion('2.0.0'),
    ...taken,
  }),
  [`DELETE ${providerPath}/versions/:provider_version`]: async (world) => ({ at: await providerIn(world), ...once }),
  [`POST ${providerPath}/versions/:provider_version/platforms`]: async (world) => ({
    at: await providerIn(world),
    body: () => platform('darwin'),
    ...taken,
  }),
  [`DELETE ${providerPath}/versions/:provider_version/platforms/:os/:arch`]: async (world) => ({
    at: await providerIn(world),
    ...once,
  }),
  'PUT /registry-provider-versions/:provider_version_id/object/SHA256SUMS': ofSigners,
  'PUT /registry-provider-versions/:provider_version_id/object/SHA256SUMS.sig': ofSigners,
  'PUT /registry-provider-platforms/:provider_platform_id/object/provider.zip': ofSigners,
  'POST /api/registry/private/v2/gpg-keys': async ({ organization }) => {
    const { publicKey } = await signingKey('Ann');
    const body = resource('gpg-keys', { namespace: organization, 'ascii-armor': publicKey });
    return { body: () => body, ...taken };
  },
  'PATCH /api/registry/private/v2/gpg-keys/:namespace/:key_id': ofSigners,
  'DELETE /api/registry/private/v2/gpg-keys/:namespace/:key_id': ofSigners,
  // One at a time.
  'POST /plan-exports': async (world) => {
    const body = await planExport(world);
    return { body: () => body, ...taken };
  },
  'DELETE /plan-exports/:plan_export_id': async (world) => {
    const { id } = await world.root('POST', 'plan-exports', await planExport(world));
    return { at: { plan_export_id: id }, ...once };
  },
  'POST /runs/:run_id/comments': async (world) => ({
    at: { run_id: (await world.run('planned')).id },
    body: (n) => resource('comments', { body: `c${n}` }),
  }),
  'POST /workspaces/:workspace_id/configuration-versions': onWorkspace(() =>
    resource('configuration-versions', { 'auto-queue-runs': false }),
  ),
  'PUT /configuration-versions/:configuration_version_id/content': async (world) => {
    const { id } = await workspace(world);
    const body = resource('configuration-versions', { 'auto-queue-runs': false });
    const made = await world.root('POST', `workspaces/${id}/configuration-versions`, body);
    return { url: made.attributes['upload-url'], body: () => world.archive, also: [404, 409] };
  },
  'POST /configuration-versions/:configuration_version_id/actions/archive': async (world) => ({
    at: { configuration_version_id: await oldConfiguration(world) },
    ...second,
  }),
  'POST /configuration-versions/:configuration_version_id/actions/soft_delete_backing_data': backingData(
    'configuration_version_id',
    oldConfiguration,
    'configuration-versions',
  ),
  'POST /configuration-versions/:configuration_version_id/actions/restore_backing_data': backingData(
    'configuration_version_id',
    oldConfiguration,
    'configuration-versions',
    'soft_delete_backing_data',
  ),
  'POST /configuration-versions/:configuration_version_id/actions/permanently_delete_backing_data': backingData(
    'configuration_version_id',
    oldConfiguration,
    'configuration-versions',
    'soft_delete_backing_data',
  ),
  ...Object.fromEntries(
    ['/organizations/:organization_name', '/workspaces/:workspace_id', '/admin'].flatMap((of) => {
      const path = of === '/admin' ? '/admin/data-retention-policy' : `${of}/relationships/data-retention-policy`;
      const on = (body?: Example['body']): Making => {
        return async (world) => ({
          at: { organization_name: await organization(world), workspace_id: (await workspace(world)).id },
          body,
        });
      };
      return [
        [`POST ${path}`, on(retention)],
        [`PATCH ${path}`, on(olderRetention)],
        [`DELETE ${path}`, on()],
      ];
    }),
  ),
  'PATCH /admin/organizations/:organization_name': async (world) => ({
    at: { organization_name: await organization(world) },
    body: (n) => resource('organizations', { 'access-beta-tools': n % 2 === 0 }),
  }),
  'DELETE /admin/organizations/:organization_name': async (world) => ({
    at: { organization_name: await organization(world) },
    ...once,
  }),
  'PATCH /admin/organizations/:organization_name/relationships/module-consumers': async (world) => {
    const [organization_name, other] = [await organization(world), await organization(world)];
    return { at: { organization_name }, body: () => ({ data: [{ type: 'organizations', id: other }] }) };
  },
  'DELETE /admin/users/:user_id': someone(once),
  'POST /admin/users/:user_id/actions/grant_admin': someone(),
  'POST /admin/users/:user_id/actions/revoke_admin': someone(),
  'POST /admin/users/:user_id/actions/suspend': someone(),
  'POST /admin/users/:user_id/actions/unsuspend': someone(),
  'POST /admin/users/:user_id/actions/disable_two_factor': someone(),
  'DELETE /admin/workspaces/:workspace_id': onWorkspace(undefined, once),
  'POST /admin/runs/:run_id/actions/force-cancel': ofRun('planning'),
  'POST /admin/sign-in-providers': (world) => {
    const name = world.fresh();
    return { body: (n) => provider(`${name} ${n}`) };
  },
  'PATCH /admin/sign-in-providers/:provider_id': ofProvider((n) =>
    resource('sign-in-providers', { 'links-accounts': n % 2 === 0 }),
  ),
  'DELETE /admin/sign-in-providers/:provider_id': ofProvider(undefined, once),
  'PATCH /admin/saml-settings': () => ({
    body: (n) => resource('saml-settings', { debug: n % 2 === 0, 'attr-groups': `groups-${n}` }),
  }),
  'POST /admin/saml-settings/actions/revoke-old-certificate': () => ({}),
  'POST /oauth-clients/:oauth_client_id/authorizations': 'leads a person to a Git host, as its own test shows',
  'POST /oauth-clients/:oauth_client_id/oauth-tokens': 'takes what a Git host gave once, as its own test shows',
  'POST /organizations/:organization_name/github-app-manifests': 'leads a person to a Git host, as its own test shows',
  'POST /github-app-manifests/:manifest_id/oauth-clients': 'takes what a Git host gave once, as its own test shows',
  'POST /webhooks/vcs/:vcs_repository_id':
    'accepts only deliveries that a Git host has signed, each once; has a separate test',
  'POST /webhooks/github-app/:oauth_client_id':
    'accepts only deliveries that a Git host has signed, each once; has a separate test',
  'POST /users/saml/auth': 'takes what a provider has signed for one sign-in: once, as its own test shows',
  'PATCH /admin/scim-settings': () => ({ body: () => resource('scim-settings', { enabled: true }) }),
  'DELETE /admin/scim-settings': () => ({}),
  'POST /admin/scim-tokens': () => ({ body: description('authentication-tokens') }),
  'DELETE /admin/scim-tokens/:scim_token_id': async (world) => {
    const body = resource('authentication-tokens', { description: world.fresh() });
    return { at: { scim_token_id: (await world.root('POST', 'admin/scim-tokens', body)).id }, ...once };
  },
  'POST /admin/teams/:team_id/scim-group-mapping': ofLinkedTeam(false, undefined, second),
  'PATCH /admin/teams/:team_id/scim-group-mapping': ofLinkedTeam(true, (n) =>
    resource('scim-group-mappings', { 'scim-sync-paused': n % 2 === 0 }),
  ),
  'DELETE /admin/teams/:team_id/scim-group-mapping': ofLinkedTeam(true, undefined, second),
  'POST /scim/v2/Users': addingToDirectory('userName'),
  'PUT /scim/v2/Users/:scim_user_id': inDirectory('Users', (userName) => (n) => ({ userName, title: `t${n}` })),
  'PATCH /scim/v2/Users/:scim_user_id': inDirectory('Users', () => operation('active', (n) => n % 2 === 0)),
  'DELETE /scim/v2/Users/:scim_user_id': inDirectory('Users', undefined, once),
  'POST /scim/v2/Groups': addingToDirectory('displayName'),
  'PUT /scim/v2/Groups/:scim_group_id': inDirectory('Groups', (displayName) => (n) => ({
    displayName,
    externalId: `${displayName}-${n}`,
  })),
  'PATCH /scim/v2/Groups/:scim_group_id': inDirectory('Groups', (name) =>
    operation('displayName', (n) => `${name}-${n}`),
  ),
  'DELETE /scim/v2/Groups/:scim_group_id': inDirectory('Groups', undefined, once),
  'DELETE /admin/reserved-names/:reserved_name_id': async (world) => {
    const name = world.fresh();
    await world.root('POST', 'organizations', resource('organizations', { name, email: 'a@example.com' }));
    await world.root('POST', `organizations/${name}/workspaces`, resource('workspaces', { name: 'web' }));
    await world.root('PATCH', `organizations/${name}`, resource('organizations', { name: world.fresh() }));
    return { at: { reserved_name_id: `organization-${name.toLowerCase()}` }, ...once };
  },
  ...versionsOf('infra-versions'),
  ...versionsOf('terraform-versions'),
  ...versionsOf('opa-versions'),
  ...versionsOf('sentinel-versions'),
  'POST /admin/oidc-settings/actions/rotate-key': () => ({}),
  'POST /admin/oidc-settings/actions/trim-key': () => ({}),
  'PATCH /admin/general-settings': () => ({
    body: (n) => resource('general-settings', { 'support-email-address': `a${n}@b.co` }),
  }),
  'PATCH /admin/twilio-settings': () => ({ body: () => resource('twilio-settings', { enabled: false }) }),
  'POST /admin/twilio-settings/verify': 'is always refused: admin.test.ts',
  'PATCH /admin/cost-estimation-settings': () => ({
    body: (n) => resource('cost-estimation-settings', { enabled: n % 2 === 0 }),
  }),
};
