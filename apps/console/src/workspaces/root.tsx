import { createRootRoute } from '@tanstack/react-router';
import { Frame } from '../shell/frame';
import { NotFound } from '../shell/not-found';
import { useFind } from './find';
import { useNavigation } from './navigation';
import { OrganizationSwitcher } from './organization-switcher';

export const root = createRootRoute({
  component: () => <Frame nav={useNavigation()} switcher={<OrganizationSwitcher />} find={useFind()} />,
  notFoundComponent: NotFound,
});
