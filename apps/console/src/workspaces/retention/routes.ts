import { createLazyRoute } from '@tanstack/react-router';
import { Retention } from './retention';

export const retention = createLazyRoute('/organizations/$organization/retention')({ component: Retention });
