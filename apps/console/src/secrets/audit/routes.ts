import { createLazyRoute } from '@tanstack/react-router';
import { Audit } from './audit';

export const audit = createLazyRoute('/audit')({ component: Audit });
