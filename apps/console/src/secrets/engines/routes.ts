import { createLazyRoute } from '@tanstack/react-router';
import { Engines } from './engines';
import { MountPage } from './mount';
import { NewEngine } from './new-engine';

export const engines = createLazyRoute('/engines')({ component: Engines });
export const newEngine = createLazyRoute('/engines/new')({ component: NewEngine });
export const mount = createLazyRoute('/engines/mount')({ component: MountPage });
