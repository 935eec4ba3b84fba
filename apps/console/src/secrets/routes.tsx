import {
  type AnyRoute,
  createRootRoute,
  createRoute,
  createRouter,
  type LazyRoute,
  retainSearchParams,
} from '@tanstack/react-router';
import { NotFound } from '../shell/not-found';
import { PageFault } from '../shell/page-fault';
import { auditSearch } from './audit/search';
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
const at = () => root;

const operations = () => import('./operations/routes');
const browser = () => import('./browser/routes');
const policies = () => import('./policies/routes');
const access = () => import('./access/routes');
const engines = () => import('./engines/routes');

/** Every page, what reads its address, and where it is loaded from when it is opened. */
const pages: {
  readonly [A in keyof Pages]: {
    readonly load?: () => Promise<LazyRoute<AnyRoute>>;
    readonly reads?: (search: Record<string, unknown>) => object;
  };
} = {
  '/': {},
  '/secrets': { load: () => browser().then((m) => m.secrets), reads: secretSearch },
  '/unwrap': { load: () => browser().then((m) => m.unwrap) },
  '/policies': { load: () => policies().then((m) => m.policies) },
  '/policies/explain': { load: () => policies().then((m) => m.explain), reads: explainSearch },
  '/policies/$name': { load: () => policies().then((m) => m.policy) },
  '/leases': { load: () => import('./leases/routes').then((m) => m.leases), reads: leaseSearch },
  '/access': { load: () => access().then((m) => m.methods) },
  '/access/entities': { load: () => access().then((m) => m.entities) },
  '/access/groups': { load: () => access().then((m) => m.groups) },
  '/access/tokens': { load: () => access().then((m) => m.tokens) },
  '/access/view-as': { load: () => access().then((m) => m.viewAs) },
  '/access/second-factor': { load: () => access().then((m) => m.secondFactor) },
  '/access/applications': { load: () => access().then((m) => m.applications) },
  '/engines': { load: () => engines().then((m) => m.engines) },
  '/engines/new': { load: () => engines().then((m) => m.newEngine) },
  '/engines/mount': { load: () => engines().then((m) => m.mount) },
  '/operations': { load: () => operations().then((m) => m.operations) },
  '/operations/key-shares': { load: () => operations().then((m) => m.keyShares) },
  '/limits': { load: () => operations().then((m) => m.limits) },
  '/namespaces': { load: () => operations().then((m) => m.namespaces) },
  '/audit': { load: () => import('./audit/routes').then((m) => m.audit), reads: auditSearch },
};

const routes = Object.entries(pages).map(([path, { load, reads }]) => {
  const route = createRoute({ getParentRoute: at, path, ...(reads ? { validateSearch: reads } : {}) });
  return load ? route.lazy(load) : route.update({ component: Overview });
});

export const router = createRouter({
  routeTree: root.addChildren(routes),
  basepath: '/ui',
  defaultPreload: 'intent',
  defaultErrorComponent: PageFault,
});
