import { createLazyRoute } from '@tanstack/react-router';
import { Settings } from './settings';

export const settings = createLazyRoute('/organizations/$organization/settings')({ component: Settings });
