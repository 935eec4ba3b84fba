import {
  createRootRoute,
  createRoute,
  createRouter,
  lazyRouteComponent as lazy,
  type RouteComponent,
  retainSearchParams,
} from '@tanstack/react-router';
import { NotFound } from '../shell/not-found';
import { PageFault } from '../shell/page-fault';
import { auditSearch, readSearch } from './audit/search';
import { secretSearch } from './browser/search';
import { leaseSearch } from './leases/search';
import { Overview } from './overview';
import type { Pages } from './pages';
import { explainSearch } from './policies/search';
import { namespaceSearch, Root } from './root';

const root = createRootRoute({
  component: Root,
  notFoundComponent: NotFound,
  validateSearch: namespaceSearch,
  search: { middlewares: [retainSearchParams(['ns'])] },
});

/** All pages, with their lazy imports and search parsers. */
const pages: {
  readonly [A in keyof Pages]: readonly [RouteComponent, reads?: (search: Record<string, unknown>) => object];
} = {
  '/': [Overview],
  '/secrets': [lazy(() => import('./browser/secrets'), 'Secrets'), secretSearch],
  '/unwrap': [lazy(() => import('./browser/unwrap'), 'UnwrapPage')],
  '/policies': [lazy(() => import('./policies/policies'), 'Policies')],
  '/policies/explain': [lazy(() => import('./policies/explain'), 'Explain'), explainSearch],
  '/policies/$name': [lazy(() => import('./policies/policy'), 'PolicyPage')],
  '/leases': [lazy(() => import('./leases/leases'), 'Leases'), leaseSearch],
  '/leases/lease': [lazy(() => import('./leases/lease'), 'LeasePage')],
  '/access': [lazy(() => import('./access/methods'), 'Methods')],
  '/access/entities': [lazy(() => import('./access/identities'), 'Entities')],
  '/access/groups': [lazy(() => import('./access/identities'), 'Groups')],
  '/access/tokens': [lazy(() => import('./access/tokens'), 'Tokens')],
  '/access/mount': [lazy(() => import('./engines/mount'), 'MountPage')],
  '/access/view-as': [lazy(() => import('./access/view-as'), 'ViewAs')],
  '/access/second-factor': [lazy(() => import('./access/second-factor'), 'SecondFactor')],
  '/access/applications': [lazy(() => import('./access/applications'), 'Applications')],
  '/engines': [lazy(() => import('./engines/engines'), 'Engines')],
  '/engines/new': [lazy(() => import('./engines/new-engine'), 'NewEngine')],
  '/access/new': [lazy(() => import('./engines/new-engine'), 'NewMethod')],
  '/engines/mount': [lazy(() => import('./engines/mount'), 'MountPage')],
  '/operations': [lazy(() => import('./operations/operations'), 'Operations')],
  '/operations/key-shares': [lazy(() => import('./operations/key-shares'), 'KeyShares')],
  '/limits': [lazy(() => import('./operations/limits'), 'Limits')],
  '/namespaces': [lazy(() => import('./operations/namespaces'), 'Namespaces')],
  '/audit': [lazy(() => import('./audit/audit'), 'Audit'), auditSearch],
  '/audit/reads': [lazy(() => import('./audit/reads'), 'ReadsPage'), readSearch],
};

const routes = Object.entries(pages).map(([path, [component, reads]]) =>
  createRoute({ getParentRoute: () => root, path, component, ...(reads ? { validateSearch: reads } : {}) }),
);

export const router = createRouter({
  routeTree: root.addChildren(routes),
  basepath: '/ui',
  defaultPreload: 'intent',
  defaultErrorComponent: PageFault,
});
