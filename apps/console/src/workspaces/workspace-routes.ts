import { createRoute, lazyRouteComponent } from '@tanstack/react-router';
import { keeps } from './filters';
import { root } from './root';

const getParentRoute = () => root;
const inOrganization = '/organizations/$organization';
const inWorkspace = `${inOrganization}/workspaces/$workspace` as const;
const runs = () => import('./runs/pages');
const sets = () => import('./variable-sets/variable-sets');
const notifications = () => import('./notifications/pages');
const filters = keeps('q', 'status', 'page');

/** The workspaces of an organization, one of them, and its runs. */
export const workspaceRoutes = [
  createRoute({
    getParentRoute,
    path: inOrganization,
    validateSearch: keeps('q', 'tags', 'project', 'status'),
    component: lazyRouteComponent(() => import('./workspace/workspaces'), 'Workspaces'),
  }),
  createRoute({
    getParentRoute,
    path: `${inOrganization}/runs`,
    validateSearch: filters,
    component: lazyRouteComponent(runs, 'OrganizationRuns'),
  }),
  createRoute({
    getParentRoute,
    path: `${inOrganization}/runs/queue`,
    validateSearch: filters,
    component: lazyRouteComponent(runs, 'Queue'),
  }),
  createRoute({
    getParentRoute,
    path: `${inOrganization}/varsets`,
    component: lazyRouteComponent(sets, 'VariableSets'),
  }),
  createRoute({
    getParentRoute,
    path: `${inOrganization}/varsets/$set`,
    component: lazyRouteComponent(sets, 'VariableSetPage'),
  }),
  createRoute({
    getParentRoute,
    path: inWorkspace,
    component: lazyRouteComponent(() => import('./workspace/overview'), 'Overview'),
  }),
  createRoute({
    getParentRoute,
    path: `${inWorkspace}/runs`,
    validateSearch: filters,
    component: lazyRouteComponent(runs, 'WorkspaceRuns'),
  }),
  createRoute({
    getParentRoute,
    path: `${inWorkspace}/runs/$run`,
    validateSearch: keeps('view'),
    component: lazyRouteComponent(() => import('./runs/run-page'), 'RunPage'),
  }),
  createRoute({
    getParentRoute,
    path: `${inWorkspace}/variables`,
    component: lazyRouteComponent(() => import('./workspace/variables'), 'Variables'),
  }),
  createRoute({
    getParentRoute,
    path: `${inWorkspace}/states`,
    validateSearch: keeps('page', 'from', 'to'),
    component: lazyRouteComponent(() => import('./workspace/states'), 'States'),
  }),
  createRoute({
    getParentRoute,
    path: `${inWorkspace}/access`,
    component: lazyRouteComponent(() => import('./workspace/access'), 'WorkspaceAccess'),
  }),
  createRoute({
    getParentRoute,
    path: `${inWorkspace}/notifications`,
    validateSearch: keeps('page'),
    component: lazyRouteComponent(notifications, 'WorkspaceNotifications'),
  }),
  createRoute({
    getParentRoute,
    path: `${inWorkspace}/notifications/$notification`,
    component: lazyRouteComponent(notifications, 'WorkspaceNotification'),
  }),
  createRoute({
    getParentRoute,
    path: `${inOrganization}/projects/$project/notifications`,
    validateSearch: keeps('page'),
    component: lazyRouteComponent(notifications, 'ProjectNotifications'),
  }),
  createRoute({
    getParentRoute,
    path: `${inOrganization}/projects/$project/notifications/$notification`,
    component: lazyRouteComponent(notifications, 'ProjectNotification'),
  }),
  createRoute({
    getParentRoute,
    path: `${inWorkspace}/settings`,
    component: lazyRouteComponent(() => import('./workspace/settings'), 'Settings'),
  }),
];
