import { createLazyRoute } from '@tanstack/react-router';
import { Account } from './account';

export const account = createLazyRoute('/account')({ component: Account });
