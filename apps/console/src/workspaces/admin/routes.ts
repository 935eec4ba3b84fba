import { createLazyRoute } from '@tanstack/react-router';
import { AdminOrganizations } from './organizations';
import { AdminRetention } from './retention';
import { AdminRuns } from './runs';
import { AdminSettings } from './settings';
import { AdminUsers } from './users';
import { AdminVersions } from './versions';

export const settings = createLazyRoute('/admin')({ component: AdminSettings });
export const users = createLazyRoute('/admin/users')({ component: AdminUsers });
export const organizations = createLazyRoute('/admin/organizations')({ component: AdminOrganizations });
export const runs = createLazyRoute('/admin/runs')({ component: AdminRuns });
export const versions = createLazyRoute('/admin/versions')({ component: AdminVersions });
export const retention = createLazyRoute('/admin/retention')({ component: AdminRetention });
