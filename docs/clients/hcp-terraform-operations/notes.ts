/** Operations that answer otherwise here in something one would notice. */
export const different: Readonly<Record<string, string>> = {};

/** Why operations are not built: a reason, and the names of those that have it. */
export const absent: Readonly<Record<string, RegExp>> = {
  'people do not connect apps of GitHub as themselves': /\/link-account$|github-app-oauth-tokens/,
  'repositories are named; no host is asked for lists': /github-app-installations\S*\/repos$/,
  'workspaces are deleted at once': /\/recoverable-items/,
  'results of the vendor’s own tasks': /^GET \/task-results\/\S+\/body$/,
  'a connection belongs to the organization in the path': /^POST \/oauth-clients$/,
  'site administrators have no banners': /^\S+ \/admin\/banners/,
  'lists of allowed addresses are not kept: a proxy in front decides who reaches the service': /\/cidr-range/,
  'keys stay in the keyring of the service': /\/hyok-|\/oidc-configurations/,
  'metrics are those of the whole service': /\/metrics-tokens/,
  'meant for the vendor’s own use': /\/provider-sets/,
  'there are no stacks': /\/stacks$/,
  'accounts of the vendor’s cloud': /\/hcp-organizations/,
  'costs are not estimated; a run task can': /\/cost-estimates/,
  'mail goes to members and to addresses that administrators name, without a subscription':
    /\/email-recipient-statuses/,
  'needs a call to every kind of Git host, or a log of them':
    /\/authorized-repos|\/vcs-organizations|\/vcs-events|\/vcs\//,
  'nothing is sold': /\/invoices|^PATCH .*\/subscription$/,
  'policies of Sentinel are not run': /\/policy-checks/,
  'policies of a third language are not run': /tf-policy-/,
  'a test run cleans up itself': /\/cleanups\//,
  'a list of the vendor’s partners': /\/tasks\/integrations/,
  'workspaces stay in their organization': /\/workspace-transfers/,
};
