import { createRootRoute, createRoute, createRouter } from '@tanstack/react-router';
import { Frame, type NavGroup } from '../shell/frame';
import { NotFound } from '../shell/not-found';
import { Organizations } from './organizations';

const nav: readonly NavGroup[] = [{ items: [{ label: 'Organizations', to: '/', key: 'o' }] }];

const root = createRootRoute({ component: () => <Frame nav={nav} />, notFoundComponent: NotFound });
const organizations = createRoute({ getParentRoute: () => root, path: '/', component: Organizations });

export const router = createRouter({
  routeTree: root.addChildren([organizations]),
  basepath: '/ui',
  defaultPreload: 'intent',
});
