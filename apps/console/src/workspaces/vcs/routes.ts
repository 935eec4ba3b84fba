import { createLazyRoute } from '@tanstack/react-router';
import { Connection } from './connection';
import { Connections } from './connections';

export const connections = createLazyRoute('/organizations/$organization/version-control')({ component: Connections });
export const connection = createLazyRoute('/organizations/$organization/version-control/$connection')({
  component: Connection,
});
