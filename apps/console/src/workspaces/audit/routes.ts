import { createLazyRoute } from '@tanstack/react-router';
import { Audit } from './audit';

export const audit = createLazyRoute('/organizations/$organization/audit')({ component: Audit });
