import { createRootRoute, createRoute, createRouter } from '@tanstack/react-router';
import { Frame, type NavGroup } from '../shell/frame';
import { NotFound } from '../shell/not-found';
import { Overview } from './overview';

const nav: readonly NavGroup[] = [{ items: [{ label: 'Overview', to: '/', key: 'o' }] }];

const root = createRootRoute({ component: () => <Frame nav={nav} />, notFoundComponent: NotFound });
const overview = createRoute({ getParentRoute: () => root, path: '/', component: Overview });

export const router = createRouter({
  routeTree: root.addChildren([overview]),
  basepath: '/ui',
  defaultPreload: 'intent',
});
