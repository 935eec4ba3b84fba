/** Operations whose answers differ here in a way that clients may notice. */
export const different: Readonly<Record<string, string>> = {
  ...of('the type is `workspace_change_requests`', [
    'GET /change-requests/{change_request_id}',
    'GET /change-requests/{change_request_id}/actions/archive',
    'POST /change-requests/{change_request_id}/actions/archive',
    'GET /workspaces/{workspace_id}/change-requests',
  ]),
  ...of('comments have the type `comments`; the status may also be `post_plan_awaiting_decision`', [
    'GET /runs',
    'GET /runs/{run_id}',
    'GET /workspaces/{workspace_id}/runs',
    'GET /organizations/{organization_name}/runs',
  ]),
  ...of('null if there is none', [
    'GET /organizations/{organization_name}/relationships/data-retention-policy',
    'GET /workspaces/{workspace_id}/relationships/data-retention-policy',
  ]),
  ...of('answers 200 with the policy, as the client expects', [
    'PATCH /organizations/{organization_name}/relationships/data-retention-policy',
    'POST /organizations/{organization_name}/relationships/data-retention-policy',
  ]),
  ...of('an organization token may hold the lock, too', [
    'GET /organizations/{organization_name}/workspaces',
    'GET /organizations/{organization_name}/workspaces/{workspace_name}',
    'GET /workspaces/{workspace_id}',
    'POST /workspaces/{workspace_id}/actions/lock',
  ]),
  ...of('`email` is null for service accounts, and for people whose address the caller may not see', [
    'GET /account/details',
    'GET /users/{user_id}',
  ]),
  ...of('a document with `data`, as clients expect; the description leaves it out', [
    'GET /configuration-versions/{configuration_version_id}/ingress-attributes',
  ]),
  ...of('answers 201', [
    'POST /organizations/{organization_name}/agent-pools',
    'POST /organizations/{organization_name}/teams',
  ]),
};

function of(how: string, names: readonly string[]): Record<string, string> {
  return Object.fromEntries(names.map((name) => [name, how]));
}

/** Why operations are not built: a reason, and a pattern of their names. */
export const absent: Readonly<Record<string, RegExp>> = {
  'GitHub Apps belong to organizations, not to single users': /\/link-account$|github-app-oauth-tokens/,
  'workspaces are deleted at once': /\/recoverable-items/,
  'only for the vendor’s own tasks': /^GET \/task-results\/\S+\/body$/,
  'no banners': /^\S+ \/admin\/banners/,
  'no customer-managed keys (HYOK)': /\/hyok-|\/oidc-configurations/,
  'metrics are those of the whole service': /\/metrics-tokens/,
  'meant for the vendor’s own use': /\/provider-sets/,
  'no stacks': /\/stacks$/,
  'accounts of the vendor’s cloud': /\/hcp-organizations/,
  'no cost estimation; a run task can do it': /\/cost-estimates/,
  'mail needs no subscription': /\/email-recipient-statuses/,
  'calls to Git hosts are in the log of the service': /\/vcs-events/,
  'accounts at a Git host are named by users': /\/vcs-organizations/,
  'no billing': /\/invoices|^PATCH .*\/subscription$/,
  'no Sentinel policies': /\/policy-checks/,
  'no Terraform policies': /tf-policy-/,
  'test runs clean up by themselves': /\/cleanups\//,
  'a list of the vendor’s partners': /\/tasks\/integrations/,
  'workspaces stay in their organization': /\/workspace-transfers/,
};
