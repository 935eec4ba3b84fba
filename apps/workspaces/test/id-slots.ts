import type { Endpoint } from '../src/kernel/endpoints/endpoint';
import { ref, resource } from './start-workspaces';
import type { Tenant } from './tenant';

/** A place for an id in a body, and how a body with it is built. */
export interface Slot {
  readonly name: string;
  readonly type: string;
  body(id: string): object;
}

const typeOf: Readonly<Record<string, string>> = {
  'default-agent-pool': 'agent-pools',
  'default-agent-pool-id': 'agent-pools',
  'agent-pool': 'agent-pools',
  'agent-pool-id': 'agent-pools',
  'agent-pools': 'agent-pools',
  'oauth-token-id': 'oauth-tokens',
  'vcshost-app-installation-id': 'github-app-installations',
  organization: 'organizations',
  'organization-id': 'organizations',
  project: 'projects',
  parent: 'projects',
  'allowed-workspaces': 'workspaces',
  'excluded-workspaces': 'workspaces',
  'allowed-projects': 'projects',
  workspace: 'workspaces',
  sourceable: 'workspaces',
  'remote-state-consumers': 'workspaces',
  team: 'teams',
  run: 'runs',
  plan: 'plans',
  'rollback-state-version': 'state-versions',
  'configuration-version': 'configuration-versions',
  'ssh-key': 'ssh-keys',
  task: 'tasks',
  'registry-module': 'registry-modules',
  policies: 'policies',
  workspaces: 'workspaces',
  projects: 'projects',
  'workspace-exclusions': 'workspaces',
  'project-exclusions': 'projects',
};
/** Names that end like ids and are not ids of this service. */
const others = ['key-id', 'sso-team-id', 'owners-team-saml-role-id', 'client-id'];

let counter = 0;
/** Other values that a body needs for the id to be checked. */
const needed = (path: string, method: string, slot: string): object => {
  const name = `new-${++counter}`;
  const isNew = method === 'POST' ? { name } : {};
  const isPool = slot.includes('agent-pool');
  if (path === '/organizations')
    return { ...isNew, email: 'a@b.co', ...(isPool ? { 'default-execution-mode': 'agent' } : {}) };
  if (path.startsWith('/organizations/:organization_name/workspaces') || path === '/workspaces/:workspace_id') {
    if (slot === 'oauth-token-id' || slot === 'vcshost-app-installation-id')
      return { ...isNew, 'vcs-repo': { identifier: 'a/b' } };
    return { ...isNew, ...(isPool ? { 'execution-mode': 'agent' } : {}) };
  }
  if (path.endsWith('/registry-modules/vcs') || path === '/registry-modules')
    return { ...isNew, provider: 'crane', 'vcs-repo': { identifier: 'a/b' } };
  if (path.endsWith('/projects') || path === '/projects/:project_id') {
    return { ...isNew, ...(isPool ? { 'default-execution-mode': 'agent' } : {}) };
  }
  if (path === '/no-code-modules/:no_code_module_id/workspaces') {
    return { ...isNew, ...(isPool ? { 'execution-mode': 'agent' } : {}) };
  }
  if (path === '/organizations/:organization_name') return isPool ? { 'default-execution-mode': 'agent' } : {};
  if (slot === 'task') return { 'enforcement-level': 'advisory', stages: ['post_plan'] };
  if (path.endsWith('/organization-memberships')) return { email: `${name}@example.com` };
  if (path.includes('oauth-clients')) {
    const code = {
      'service-provider': 'github',
      'http-url': 'https://c.test',
      'api-url': 'https://a.test',
      'oauth-token-string': 't',
    };
    return { ...(method === 'POST' ? { ...code, name } : {}), 'organization-scoped': false };
  }
  if (path.endsWith('/github-app-manifests')) return { 'http-url': 'https://c.test', 'api-url': 'https://a.test' };
  if (path.includes('cidr-range-lists')) return isNew;
  if (path.includes('agent-pools')) return { ...isNew, 'organization-scoped': false };
  if (path === '/team-workspaces' || path === '/team-projects') return { access: 'read' };
  if (path === '/plan-exports') return { 'data-type': 'sentinel-mock-bundle-v0' };
  if (path === '/vars') return { key: name, value: 'v', category: 'env' };
  if (path.includes('varsets')) return isNew;
  if (path.endsWith('/state-versions') && method === 'POST') return { serial: 100 + counter, md5: 'a'.repeat(32) };
  return {};
};

/** Relationships that must be there besides the checked one. */
const nested = (mine: Pick<Tenant, 'ids' | 'params'>, path: string, slot: string): object => {
  if (path === '/team-workspaces')
    return slot === 'team'
      ? { workspace: ref('workspaces', mine.ids.workspaces!) }
      : { team: ref('teams', mine.ids.teams!) };
  if (path === '/team-projects')
    return slot === 'team' ? { project: ref('projects', mine.ids.projects!) } : { team: ref('teams', mine.ids.teams!) };
  if (path === '/oauth-clients' && !slot.startsWith('organization'))
    return { organization: ref('organizations', mine.ids.organizations!) };
  if ((path === '/runs' || path === '/queries') && slot !== 'workspace')
    return { workspace: ref('workspaces', mine.params[':workspace_id']!) };
  return {};
};

type Schema = { type?: string; properties?: Record<string, Schema>; anyOf?: Schema[]; oneOf?: Schema[] };
const propertiesOf = (schema: Schema | undefined, name: string): Record<string, Schema> => {
  const inner = schema?.properties?.[name];
  return (
    inner?.properties ??
    [...(inner?.anyOf ?? []), ...(inner?.oneOf ?? [])].find(({ properties }) => properties)?.properties ??
    {}
  );
};
const isMany = (schema: Schema): boolean => JSON.stringify(schema).includes('"array"');

/** The places of ids in the body of an operation, by its declaration; other required values are those of `mine`. */
export function idSlots(endpoint: Endpoint, mine: Pick<Tenant, 'ids' | 'params'>): Slot[] {
  const { path, method } = endpoint;
  const schema = endpoint.body?.jsonSchema() as Schema | undefined;
  const data = schema?.properties?.data;
  const last = path.split('/').at(-1)!;
  if (data?.type === 'array') {
    const type = typeOf[last] ?? last;
    return ['tag-bindings', 'tag-selectors'].includes(type)
      ? []
      : [{ name: last, type, body: (id) => ({ data: [{ type, id }] }) }];
  }
  if (last === 'ssh-key') {
    return [{ name: last, type: 'ssh-keys', body: (id) => ({ data: { type: 'workspaces', attributes: { id } } }) }];
  }
  const document = (attributes: object, relationships: object) => resource(typeIn(endpoint), attributes, relationships);
  const related = Object.entries(propertiesOf(data, 'relationships'))
    .filter(([name]) => !['tag-bindings', 'variable-options', 'feature-set'].includes(name))
    // Variables of a new workspace are complete resources.
    .filter(([name]) => !(name === 'vars' && endpoint.path.startsWith('/no-code-modules/')))
    .map(([name, shape]): Slot => {
      const type = typeOf[name] ?? name;
      return {
        name,
        type,
        body: (id) => {
          const one = { type, id };
          return document(needed(path, method, name), {
            ...nested(mine, path, name),
            [name]: { data: isMany(shape) ? [one] : one },
          });
        },
      };
    });
  const named = Object.entries(propertiesOf(data, 'attributes')).flatMap(([name, shape]) => {
    const inner =
      name === 'vcs-repo' || name === 'test-config'
        ? Object.keys(propertiesOf({ properties: { it: shape } }, 'it')).map((n) => [name, n])
        : [[name]];
    return inner.filter((path_) => path_.at(-1)!.endsWith('-id') && !others.includes(path_.at(-1)!));
  });
  const attributes = named.map((at): Slot => {
    const name = at.at(-1)!;
    return {
      name,
      type: typeOf[name]!,
      body: (id) => {
        const rest = needed(path, method, name) as Record<string, object>;
        return document(
          { ...rest, ...(at.length === 1 ? { [name]: id } : { [at[0]!]: { ...rest[at[0]!], [name]: id } }) },
          {},
        );
      },
    };
  });
  return [...related, ...attributes];
}

/** The type that a document of an operation has. */
function typeIn(endpoint: Endpoint): string {
  const text = JSON.stringify(endpoint.body?.jsonSchema() ?? {});
  return /"type":\{[^{}]*"(?:const|enum)":\[?"([^"]+)"/.exec(text)?.[1] ?? endpoint.serializer?.type ?? '';
}
