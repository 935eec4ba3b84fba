import { createLazyRoute } from '@tanstack/react-router';
import { Authorize } from './authorize';
import { OneTimeLinkPage } from './one-time-link';

export const authorize = createLazyRoute('/authorize')({ component: Authorize });
export const oneTimeLink = createLazyRoute('/one-time-link')({ component: OneTimeLinkPage });
