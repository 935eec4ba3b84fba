import { createLazyRoute } from '@tanstack/react-router';
import { Explain } from './explain';
import { Policies } from './policies';
import { PolicyPage } from './policy';

export const policies = createLazyRoute('/policies')({ component: Policies });
export const policy = createLazyRoute('/policies/$name')({ component: PolicyPage });
export const explain = createLazyRoute('/policies/explain')({ component: Explain });
