import { createLazyRoute } from '@tanstack/react-router';
import { KeyShares } from './key-shares';
import { Limits } from './limits';
import { Namespaces } from './namespaces';
import { Operations } from './operations';

export const operations = createLazyRoute('/operations')({ component: Operations });
export const keyShares = createLazyRoute('/operations/key-shares')({ component: KeyShares });
export const limits = createLazyRoute('/limits')({ component: Limits });
export const namespaces = createLazyRoute('/namespaces')({ component: Namespaces });
