import { createRootRoute, createRoute, createRouter } from '@tanstack/react-router';
import { Frame } from '../shell/frame';
import { NotFound } from '../shell/not-found';
import { auditSearch } from './audit/search';
import { navigation } from './navigation';
import { Overview } from './overview';

const root = createRootRoute({ component: () => <Frame nav={navigation} />, notFoundComponent: NotFound });
const at = () => root;

const routes = [
  createRoute({ getParentRoute: at, path: '/', component: Overview }),
  createRoute({ getParentRoute: at, path: '/operations' }).lazy(() =>
    import('./operations/routes').then((m) => m.operations),
  ),
  createRoute({ getParentRoute: at, path: '/limits' }).lazy(() => import('./operations/routes').then((m) => m.limits)),
  createRoute({ getParentRoute: at, path: '/namespaces' }).lazy(() =>
    import('./operations/routes').then((m) => m.namespaces),
  ),
  createRoute({ getParentRoute: at, path: '/audit', validateSearch: auditSearch }).lazy(() =>
    import('./audit/routes').then((m) => m.audit),
  ),
];

export const router = createRouter({ routeTree: root.addChildren(routes), basepath: '/ui', defaultPreload: 'intent' });
