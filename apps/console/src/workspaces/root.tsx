import { createRootRoute } from '@tanstack/react-router';
import { Frame } from '../shell/frame';
import { NotFound } from '../shell/not-found';
import { useNavigation } from './navigation';

export const root = createRootRoute({ component: () => <Frame nav={useNavigation()} />, notFoundComponent: NotFound });
