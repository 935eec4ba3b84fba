import { createRoute } from '@tanstack/react-router';
import { auditSearch } from './audit/search';
import { keeps } from './filters';
import { root } from './root';

const getParentRoute = () => root;
const page = keeps('page');
const search = keeps('q', 'page');

/** The pages that manage an organization and its people, and everybody's own. */
export const organizationRoutes = [
  createRoute({ getParentRoute, path: '/authorize', validateSearch: keeps('asked') }).lazy(() =>
    import('./doors/routes').then((m) => m.authorize),
  ),
  createRoute({ getParentRoute, path: '/one-time-link' }).lazy(() =>
    import('./doors/routes').then((m) => m.oneTimeLink),
  ),
  createRoute({ getParentRoute, path: '/account', validateSearch: page }).lazy(() =>
    import('./account/routes').then((m) => m.account),
  ),
  createRoute({ getParentRoute, path: '/organizations/$organization/settings' }).lazy(() =>
    import('./settings/routes').then((m) => m.settings),
  ),
  createRoute({ getParentRoute, path: '/organizations/$organization/projects', validateSearch: search }).lazy(() =>
    import('./projects/routes').then((m) => m.projects),
  ),
  createRoute({ getParentRoute, path: '/organizations/$organization/projects/$project' }).lazy(() =>
    import('./projects/routes').then((m) => m.project),
  ),
  createRoute({ getParentRoute, path: '/organizations/$organization/teams', validateSearch: search }).lazy(() =>
    import('./teams/routes').then((m) => m.teams),
  ),
  createRoute({ getParentRoute, path: '/organizations/$organization/teams/$team' }).lazy(() =>
    import('./teams/routes').then((m) => m.team),
  ),
  createRoute({
    getParentRoute,
    path: '/organizations/$organization/members',
    validateSearch: keeps('q', 'status', 'page'),
  }).lazy(() => import('./members/routes').then((m) => m.members)),
  createRoute({ getParentRoute, path: '/organizations/$organization/tokens', validateSearch: page }).lazy(() =>
    import('./tokens/routes').then((m) => m.tokens),
  ),
  createRoute({ getParentRoute, path: '/organizations/$organization/ssh-keys', validateSearch: page }).lazy(() =>
    import('./ssh-keys/routes').then((m) => m.sshKeys),
  ),
  createRoute({ getParentRoute, path: '/organizations/$organization/agents', validateSearch: search }).lazy(() =>
    import('./agents/routes').then((m) => m.pools),
  ),
  createRoute({ getParentRoute, path: '/organizations/$organization/agents/$pool', validateSearch: page }).lazy(() =>
    import('./agents/routes').then((m) => m.pool),
  ),
  createRoute({ getParentRoute, path: '/organizations/$organization/version-control', validateSearch: page }).lazy(() =>
    import('./vcs/routes').then((m) => m.connections),
  ),
  createRoute({ getParentRoute, path: '/organizations/$organization/version-control/$connection' }).lazy(() =>
    import('./vcs/routes').then((m) => m.connection),
  ),
  createRoute({ getParentRoute, path: '/organizations/$organization/retention' }).lazy(() =>
    import('./retention/routes').then((m) => m.retention),
  ),
  createRoute({ getParentRoute, path: '/organizations/$organization/audit', validateSearch: auditSearch }).lazy(() =>
    import('./audit/routes').then((m) => m.audit),
  ),
];
