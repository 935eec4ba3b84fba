import { createLazyRoute } from '@tanstack/react-router';
import { Pool } from './pool';
import { Pools } from './pools';

export const pools = createLazyRoute('/organizations/$organization/agents')({ component: Pools });
export const pool = createLazyRoute('/organizations/$organization/agents/$pool')({ component: Pool });
