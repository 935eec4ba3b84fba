import { createLazyRoute } from '@tanstack/react-router';
import { Tokens } from './tokens';

export const tokens = createLazyRoute('/organizations/$organization/tokens')({ component: Tokens });
