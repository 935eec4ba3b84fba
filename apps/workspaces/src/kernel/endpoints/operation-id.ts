import type { Endpoint } from './endpoint';

const ofModule = '/organizations/:organization_name/registry-modules/:registry_name/:namespace/:module_name';
const oldDelete = '/registry-modules/actions/delete/:organization_name/:module_name';

/** Operations whose derived name would be wrong or is already taken. */
const exceptions: ReadonlyMap<string, string> = new Map(
  Object.entries({
    'GET /ping': 'ping',
    'PATCH /account/update': 'account_update',
    'POST /one-time-links/:secret': 'one_time_links_use',
    'PATCH /workspaces/:workspace_id/state-versions': 'workspaces_state_versions_rollback',
    // Of two lists, the caller's list or the complete list has the plain name.
    'GET /organization-memberships': 'organization_memberships_list_own',
    'GET /organizations/:organization_name/vars': 'organizations_vars_list',
    'GET /organizations/:organization_name/feature-sets': 'organizations_feature_sets_list',
    // The same endpoint at a second path.
    'GET /workspaces/:workspace_id/relationships/tag-bindings': 'workspaces_tag_bindings_list_related',
    'GET /projects/:project_id/relationships/tag-bindings': 'projects_tag_bindings_list_related',
    'GET /change-requests/:change_request_id/actions/archive': 'change_requests_archive_read',
    'GET /github-app-installations': 'github_app_installations_list_own',
    'GET /organizations/:organization_name/github-app-installations': 'organizations_github_app_installations_list',
    'GET /organizations/:organization_name/github-app-installations/:github_app_installation_id/repos':
      'organizations_github_app_installations_repos_list',
    // The organization is in the body.
    'POST /oauth-clients': 'oauth_clients_create_of_organization',
    'POST /varsets/:varset_id': 'varsets_update_post',
    // The workspace is in the query.
    'GET /runs': 'runs_list_of_workspace',
    // Lists in SCIM format.
    'GET /scim/v2/Users': 'scim_v2_users_list',
    'GET /scim/v2/Groups': 'scim_v2_groups_list',
    'GET /scim/v2/ResourceTypes': 'scim_v2_resource_types_list',
    'GET /scim/v2/Schemas': 'scim_v2_schemas_list',
    'GET /runs/:run_id/stream': 'runs_stream',
    'GET /workspaces/:workspace_id/runs/stream': 'workspaces_runs_stream',
    'GET /organizations/:organization_name/runs/stream': 'organizations_runs_stream',
    // Variants of the same operation: by name and by id, for a whole module and for a version, and their older forms.
    [`GET ${ofModule}/:module_provider`]: 'registry_modules_read_named',
    'POST /registry-modules': 'registry_modules_create_from_connection',
    [`PATCH ${ofModule}/:module_provider/:module_version`]: 'registry_modules_update_version',
    [`DELETE ${ofModule}`]: 'registry_modules_delete_of_all_providers',
    [`DELETE ${ofModule}/:module_provider/:module_version`]: 'registry_modules_delete_version',
    [`POST ${oldDelete}`]: 'registry_modules_delete_of_all_providers_post',
    [`POST ${oldDelete}/:module_provider`]: 'registry_modules_delete_post',
    [`POST ${oldDelete}/:module_provider/:module_version`]: 'registry_modules_delete_version_post',
    'GET /organizations/:organization_name/registry-providers/:registry_name/:namespace/:provider_name':
      'registry_providers_read_named',
    'GET /api/registry/v1/modules/:namespace/:module_name/:module_provider/:module_version':
      'api_registry_v1_modules_read_version',
  }),
);

const isPlural = (word: string): boolean => word.endsWith('s') && !word.endsWith('ss');

/** Alternative paths to the same endpoint: by name instead of id, or by the secret of a link instead of a token. */
const ways = ['name', 'signature'];

/**
 * The name of an operation in generated clients: its subject, then its action (`workspaces_read`). It depends only on
 * the path, the verb and the resource shown, so no other operation can change it. Names of an organization's resources
 * omit the organization, as do all lists. Names of resources that each organization has only once include it.
 */
export function operationId({ method, path, shows, streams }: Pick<Endpoint, 'method' | 'path' | 'shows' | 'streams'>) {
  const exception = exceptions.get(`${method} ${path}`);
  if (exception !== undefined) return exception;
  const segments = path.split('/').filter(Boolean);
  const fixed = segments.filter((segment) => !segment.startsWith(':'));
  const action = fixed.at(-2) === 'actions' ? fixed.at(-1) : undefined;
  const nouns = fixed.slice(0, action === undefined ? undefined : -2).filter((word) => word !== 'relationships');
  const isScope = nouns[0] === 'organizations' && nouns[1] !== undefined && isPlural(nouns[1]);
  const verb = action ?? verbOf(method, shows, streams, segments.at(-2) === 'relationships' && isPlural(nouns.at(-1)!));
  const way = ways.find((one) => segments.includes(`:${one}`));
  const words = [...nouns.slice(isScope ? 1 : 0), verb, ...(way === undefined ? [] : ['by', way])];
  return words
    .join('_')
    .replace(/(?<=[a-z])[A-Z]/g, '_$&')
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '_')
    .replace(/^_/, '');
}

function verbOf(method: Endpoint['method'], shows: Endpoint['shows'], streams: boolean, isMembership: boolean): string {
  if (method === 'GET') return shows === 'many' ? 'list' : 'read';
  // These add or remove references. The referenced resources are not changed.
  if (isMembership && shows === 'nothing')
    return { POST: 'add', DELETE: 'remove', PATCH: 'replace', PUT: 'replace' }[method];
  return { POST: 'create', PATCH: 'update', PUT: streams ? 'upload' : 'replace', DELETE: 'delete' }[method];
}
