import { createRootRoute, createRoute, createRouter, retainSearchParams } from '@tanstack/react-router';
import { NotFound } from '../shell/not-found';
import { PageFault } from '../shell/page-fault';
import { auditSearch } from './audit/search';
import { secretSearch } from './browser/search';
import { leaseSearch } from './leases/search';
import { Overview } from './overview';
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

const routes = [
  createRoute({ getParentRoute: at, path: '/', component: Overview }),
  createRoute({ getParentRoute: at, path: '/secrets', validateSearch: secretSearch }).lazy(() =>
    browser().then((m) => m.secrets),
  ),
  createRoute({ getParentRoute: at, path: '/unwrap' }).lazy(() => browser().then((m) => m.unwrap)),
  createRoute({ getParentRoute: at, path: '/policies' }).lazy(() => policies().then((m) => m.policies)),
  createRoute({ getParentRoute: at, path: '/policies/explain', validateSearch: explainSearch }).lazy(() =>
    policies().then((m) => m.explain),
  ),
  createRoute({ getParentRoute: at, path: '/policies/$name' }).lazy(() => policies().then((m) => m.policy)),
  createRoute({ getParentRoute: at, path: '/leases', validateSearch: leaseSearch }).lazy(() =>
    import('./leases/routes').then((m) => m.leases),
  ),
  createRoute({ getParentRoute: at, path: '/access' }).lazy(() => access().then((m) => m.methods)),
  createRoute({ getParentRoute: at, path: '/access/entities' }).lazy(() => access().then((m) => m.entities)),
  createRoute({ getParentRoute: at, path: '/access/groups' }).lazy(() => access().then((m) => m.groups)),
  createRoute({ getParentRoute: at, path: '/access/tokens' }).lazy(() => access().then((m) => m.tokens)),
  createRoute({ getParentRoute: at, path: '/access/view-as' }).lazy(() => access().then((m) => m.viewAs)),
  createRoute({ getParentRoute: at, path: '/access/second-factor' }).lazy(() => access().then((m) => m.secondFactor)),
  createRoute({ getParentRoute: at, path: '/access/applications' }).lazy(() => access().then((m) => m.applications)),
  createRoute({ getParentRoute: at, path: '/engines' }).lazy(() => engines().then((m) => m.engines)),
  createRoute({ getParentRoute: at, path: '/engines/new' }).lazy(() => engines().then((m) => m.newEngine)),
  createRoute({ getParentRoute: at, path: '/engines/mount' }).lazy(() => engines().then((m) => m.mount)),
  createRoute({ getParentRoute: at, path: '/operations' }).lazy(() => operations().then((m) => m.operations)),
  createRoute({ getParentRoute: at, path: '/operations/key-shares' }).lazy(() => operations().then((m) => m.keyShares)),
  createRoute({ getParentRoute: at, path: '/limits' }).lazy(() => operations().then((m) => m.limits)),
  createRoute({ getParentRoute: at, path: '/namespaces' }).lazy(() => operations().then((m) => m.namespaces)),
  createRoute({ getParentRoute: at, path: '/audit', validateSearch: auditSearch }).lazy(() =>
    import('./audit/routes').then((m) => m.audit),
  ),
];

export const router = createRouter({
  routeTree: root.addChildren(routes),
  basepath: '/ui',
  defaultPreload: 'intent',
  defaultErrorComponent: PageFault,
});
