import { createLazyRoute } from '@tanstack/react-router';
import { Leases } from './leases';

export const leases = createLazyRoute('/leases')({ component: Leases });
