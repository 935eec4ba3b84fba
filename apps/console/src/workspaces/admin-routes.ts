import { createRoute } from '@tanstack/react-router';
import { keeps } from './filters';
import { root } from './root';

const getParentRoute = () => root;
const load = () => import('./admin/routes');

/** The pages of site administrators. */
export const adminRoutes = [
  createRoute({ getParentRoute, path: '/admin' }).lazy(() => load().then((m) => m.settings)),
  createRoute({
    getParentRoute,
    path: '/admin/users',
    validateSearch: keeps('q', 'admin', 'suspended', 'page'),
  }).lazy(() => load().then((m) => m.users)),
  createRoute({ getParentRoute, path: '/admin/organizations', validateSearch: keeps('q', 'page') }).lazy(() =>
    load().then((m) => m.organizations),
  ),
  createRoute({ getParentRoute, path: '/admin/runs', validateSearch: keeps('status', 'page') }).lazy(() =>
    load().then((m) => m.runs),
  ),
  createRoute({ getParentRoute, path: '/admin/versions', validateSearch: keeps('q', 'page') }).lazy(() =>
    load().then((m) => m.versions),
  ),
  createRoute({ getParentRoute, path: '/admin/sign-in', validateSearch: keeps('page') }).lazy(() =>
    load().then((m) => m.signInProviders),
  ),
  createRoute({ getParentRoute, path: '/admin/sign-in/$provider' }).lazy(() => load().then((m) => m.signInProvider)),
  createRoute({ getParentRoute, path: '/admin/saml' }).lazy(() => load().then((m) => m.saml)),
  createRoute({ getParentRoute, path: '/admin/scim', validateSearch: keeps('q', 'page') }).lazy(() =>
    load().then((m) => m.scim),
  ),
  createRoute({ getParentRoute, path: '/admin/retention' }).lazy(() => load().then((m) => m.retention)),
];
