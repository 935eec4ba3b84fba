import { createRoute, createRouter, lazyRouteComponent as lazy, type RouteComponent } from '@tanstack/react-router';
import { PageFault } from '../shell/page-fault';
import { auditFilters } from './audit/search';
import { workspaceFilters } from './explorer/query';
import { keeps } from './filters';
import { Organizations } from './organizations';
import { root } from './root';

/** A page with its address and the filters that the address may have. */
const page = (path: string, component: RouteComponent, ...filters: readonly string[]) =>
  createRoute({
    getParentRoute: () => root,
    path,
    component,
    ...(filters.length === 0 ? {} : { validateSearch: keeps(...filters) }),
  });

const inOrganization = '/organizations/$organization';
const inWorkspace = `${inOrganization}/workspaces/$workspace`;
const inProject = `${inOrganization}/projects/$project`;
const runs = () => import('./runs/pages');
const sets = () => import('./variable-sets/variable-sets');
const policies = () => import('./policies/policies');
const policySets = () => import('./policies/policy-sets');
const dryRuns = () => import('./policies/dry-runs');
const registry = () => import('./registry/modules');
const registryModule = () => import('./registry/module');
const moduleTests = () => import('./registry/module-tests');
const queries = () => import('./workspace/queries');
const registryProviders = () => import('./registry/providers');
const explorer = () => import('./explorer/explorer');
const notifications = () => import('./notifications/pages');

/** All pages, with the filters in their addresses and the modules that they are loaded from. */
const pages = [
  page('/', Organizations),
  page(
    '/account',
    lazy(() => import('./account/account'), 'Account'),
    'page',
  ),
  page(
    '/authorize',
    lazy(() => import('./before-sign-in/authorize'), 'Authorize'),
    'asked',
  ),
  page(
    '/one-time-link',
    lazy(() => import('./before-sign-in/one-time-link'), 'OneTimeLinkPage'),
  ),

  page(
    inOrganization,
    lazy(() => import('./workspace/workspaces'), 'Workspaces'),
    'q',
    'tags',
    'project',
    'status',
    'sort',
  ),
  page(`${inOrganization}/runs`, lazy(runs, 'OrganizationRuns'), 'q', 'status', 'page'),
  page(`${inOrganization}/runs/queue`, lazy(runs, 'Queue'), 'q', 'status', 'page'),
  page(
    `${inOrganization}/explorer`,
    lazy(explorer, 'ExplorerWorkspaces'),
    ...workspaceFilters.map(([name]) => name),
    'sort',
    'page',
  ),
  page(`${inOrganization}/explorer/providers`, lazy(explorer, 'ExplorerProviders'), 'q', 'sort', 'page'),
  page(`${inOrganization}/explorer/modules`, lazy(explorer, 'ExplorerModules'), 'q', 'sort', 'page'),
  page(`${inOrganization}/explorer/versions`, lazy(explorer, 'ExplorerVersions'), 'q', 'sort', 'page'),
  page(`${inOrganization}/varsets`, lazy(sets, 'VariableSets')),
  page(`${inOrganization}/varsets/$set`, lazy(sets, 'VariableSetPage')),
  page(`${inOrganization}/registry`, lazy(registry, 'Modules'), 'q', 'page'),
  page(`${inOrganization}/registry/modules/$module`, lazy(registryModule, 'ModulePage'), 'version', 'breaks'),
  page(`${inOrganization}/registry/modules/$module/tests`, lazy(moduleTests, 'ModuleTests'), 'page'),
  page(`${inOrganization}/registry/modules/$module/tests/$test`, lazy(moduleTests, 'ModuleTest')),
  page(
    `${inOrganization}/registry/modules/$module/provision`,
    lazy(() => import('./registry/provision'), 'Provision'),
  ),
  page(`${inOrganization}/registry/providers`, lazy(registryProviders, 'Providers'), 'q', 'page'),
  page(`${inOrganization}/registry/providers/$provider`, lazy(registryProviders, 'ProviderPage'), 'breaks'),
  page(`${inOrganization}/policies`, lazy(policies, 'Policies'), 'q', 'page'),
  page(`${inOrganization}/policies/$policy`, lazy(policies, 'PolicyPage')),
  page(`${inOrganization}/policies/dry-runs`, lazy(dryRuns, 'DryRuns'), 'page'),
  page(`${inOrganization}/policies/dry-runs/$dryRun`, lazy(dryRuns, 'DryRunPage'), 'status', 'page'),
  page(`${inOrganization}/policies/sets`, lazy(policySets, 'PolicySets'), 'q', 'page'),
  page(`${inOrganization}/policies/sets/$set`, lazy(policySets, 'PolicySetPage')),
  page(
    `${inOrganization}/settings`,
    lazy(() => import('./settings/settings'), 'Settings'),
  ),
  page(
    `${inOrganization}/projects`,
    lazy(() => import('./projects/projects'), 'Projects'),
    'q',
    'page',
  ),
  page(
    inProject,
    lazy(() => import('./projects/project'), 'Project'),
    'q',
    'status',
    'sort',
    'page',
  ),
  page(`${inProject}/notifications`, lazy(notifications, 'ProjectNotifications'), 'page'),
  page(`${inProject}/notifications/new`, lazy(notifications, 'NewProjectNotification')),
  page(`${inProject}/notifications/$notification`, lazy(notifications, 'ProjectNotification')),
  page(
    `${inOrganization}/teams`,
    lazy(() => import('./teams/teams'), 'Teams'),
    'q',
    'page',
  ),
  page(
    `${inOrganization}/teams/$team`,
    lazy(() => import('./teams/team'), 'Team'),
  ),
  page(
    `${inOrganization}/members`,
    lazy(() => import('./members/members'), 'Members'),
    'q',
    'status',
    'page',
  ),
  page(
    `${inOrganization}/tokens`,
    lazy(() => import('./tokens/tokens'), 'Tokens'),
    'page',
  ),
  page(
    `${inOrganization}/ssh-keys`,
    lazy(() => import('./ssh-keys/ssh-keys'), 'SshKeys'),
    'page',
  ),
  page(
    `${inOrganization}/addresses`,
    lazy(() => import('./address-lists/lists'), 'AddressLists'),
    'page',
  ),
  page(
    `${inOrganization}/addresses/$list`,
    lazy(() => import('./address-lists/list'), 'AddressList'),
    'page',
  ),
  page(
    `${inOrganization}/agents`,
    lazy(() => import('./agents/pools'), 'Pools'),
    'q',
    'page',
  ),
  page(
    `${inOrganization}/agents/$pool`,
    lazy(() => import('./agents/pool'), 'Pool'),
    'page',
  ),
  page(
    `${inOrganization}/version-control`,
    lazy(() => import('./vcs/connections'), 'Connections'),
    'page',
  ),
  page(
    `${inOrganization}/version-control/new`,
    lazy(() => import('./vcs/new-connection'), 'NewConnection'),
  ),
  page(
    `${inOrganization}/version-control/$connection`,
    lazy(() => import('./vcs/connection'), 'Connection'),
  ),
  page(
    `${inOrganization}/retention`,
    lazy(() => import('./retention/retention'), 'Retention'),
  ),
  page(
    `${inOrganization}/audit`,
    lazy(() => import('./audit/audit'), 'Audit'),
    ...auditFilters.map(([name]) => name),
  ),

  page(
    '/runs/$run',
    lazy(() => import('./runs/run-address'), 'RunAddress'),
  ),
  page(
    inWorkspace,
    lazy(() => import('./workspace/overview'), 'Overview'),
  ),
  page(`${inWorkspace}/runs`, lazy(runs, 'WorkspaceRuns'), 'q', 'status', 'page'),
  page(
    `${inWorkspace}/runs/$run`,
    lazy(() => import('./runs/run-page'), 'RunPage'),
    'view',
  ),
  page(`${inWorkspace}/queries`, lazy(queries, 'Queries'), 'page'),
  page(`${inWorkspace}/queries/$query`, lazy(queries, 'QueryPage')),
  page(
    `${inWorkspace}/variables`,
    lazy(() => import('./workspace/variables'), 'Variables'),
  ),
  page(
    `${inWorkspace}/states/$state`,
    lazy(() => import('./workspace/state-version'), 'StateVersionPage'),
  ),
  page(
    `${inWorkspace}/states`,
    lazy(() => import('./workspace/states'), 'States'),
    'page',
    'from',
    'to',
  ),
  page(
    `${inWorkspace}/access`,
    lazy(() => import('./workspace/access'), 'WorkspaceAccess'),
  ),
  page(
    `${inWorkspace}/change-requests`,
    lazy(() => import('./workspace/change-requests'), 'ChangeRequests'),
    'page',
  ),
  page(`${inWorkspace}/notifications`, lazy(notifications, 'WorkspaceNotifications'), 'page'),
  page(`${inWorkspace}/notifications/new`, lazy(notifications, 'NewWorkspaceNotification')),
  page(`${inWorkspace}/notifications/$notification`, lazy(notifications, 'WorkspaceNotification')),
  page(
    `${inWorkspace}/settings`,
    lazy(() => import('./workspace/settings'), 'Settings'),
  ),

  page(
    '/admin',
    lazy(() => import('./admin/settings'), 'AdminSettings'),
  ),
  page(
    '/admin/users',
    lazy(() => import('./admin/users'), 'AdminUsers'),
    'q',
    'admin',
    'suspended',
    'page',
  ),
  page(
    '/admin/organizations',
    lazy(() => import('./admin/organizations'), 'AdminOrganizations'),
    'q',
    'page',
  ),
  page(
    '/admin/runs',
    lazy(() => import('./admin/runs'), 'AdminRuns'),
    'status',
    'page',
  ),
  page(
    '/admin/versions',
    lazy(() => import('./admin/versions'), 'AdminVersions'),
    'tool',
    'q',
    'page',
  ),
  page(
    '/admin/sign-in',
    lazy(() => import('./admin/sign-in/providers'), 'SignInProviders'),
    'page',
  ),
  page(
    '/admin/sign-in/new',
    lazy(() => import('./admin/sign-in/new-provider'), 'NewProvider'),
  ),
  page(
    '/admin/sign-in/$provider',
    lazy(() => import('./admin/sign-in/provider'), 'SignInProvider'),
  ),
  page(
    '/admin/saml',
    lazy(() => import('./admin/sign-in/saml'), 'Saml'),
  ),
  page(
    '/admin/scim',
    lazy(() => import('./admin/sign-in/scim'), 'Scim'),
    'q',
    'page',
  ),
  page(
    '/admin/audit',
    lazy(() => import('./audit/audit'), 'AdminAudit'),
    ...auditFilters.map(([name]) => name),
  ),
  page(
    '/admin/retention',
    lazy(() => import('./admin/retention'), 'AdminRetention'),
  ),
];

export const router = createRouter({
  routeTree: root.addChildren(pages),
  basepath: '/ui',
  defaultPreload: 'intent',
  defaultErrorComponent: PageFault,
});
