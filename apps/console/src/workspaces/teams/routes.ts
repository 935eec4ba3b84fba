import { createLazyRoute } from '@tanstack/react-router';
import { Team } from './team';
import { Teams } from './teams';

export const teams = createLazyRoute('/organizations/$organization/teams')({ component: Teams });
export const team = createLazyRoute('/organizations/$organization/teams/$team')({ component: Team });
