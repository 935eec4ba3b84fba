import { createLazyRoute } from '@tanstack/react-router';
import { Members } from './members';

export const members = createLazyRoute('/organizations/$organization/members')({ component: Members });
