import { createRootRoute } from '@tanstack/react-router';
import { Frame } from '../shell/frame';
import { NotFound } from '../shell/not-found';
import { useFind } from './find';
import { useNavigation } from './navigation';

export const root = createRootRoute({
  component: () => <Frame nav={useNavigation()} find={useFind()} />,
  notFoundComponent: NotFound,
});
