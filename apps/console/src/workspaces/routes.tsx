import { createRoute, createRouter } from '@tanstack/react-router';
import { PageFault } from '../shell/page-fault';
import { adminRoutes } from './admin-routes';
import { organizationRoutes } from './organization-routes';
import { Organizations } from './organizations';
import { root } from './root';
import { workspaceRoutes } from './workspace-routes';

const organizations = createRoute({ getParentRoute: () => root, path: '/', component: Organizations });

export const router = createRouter({
  routeTree: root.addChildren([organizations, ...workspaceRoutes, ...organizationRoutes, ...adminRoutes]),
  basepath: '/ui',
  defaultPreload: 'intent',
  defaultErrorComponent: PageFault,
});
