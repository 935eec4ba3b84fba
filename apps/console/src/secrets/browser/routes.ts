import { createLazyRoute } from '@tanstack/react-router';
import { Secrets } from './secrets';
import { UnwrapPage } from './unwrap';

export const secrets = createLazyRoute('/secrets')({ component: Secrets });
export const unwrap = createLazyRoute('/unwrap')({ component: UnwrapPage });
