import { backend } from '../../sdk/backend';
import { createPaths } from './create';
import { lookupPaths } from './lookup';
import type { TokenParts } from './parts';
import { renewPaths } from './renew';
import { revokePaths } from './revoke';
import { rolePaths } from './role';

/** Creates, looks up, renews and revokes tokens. */
export const token = (parts: TokenParts) =>
  backend({
    type: 'token',
    kind: 'system',
    summary: 'token based credentials',
    paths: [...createPaths(parts), ...lookupPaths(parts), ...renewPaths(parts), ...revokePaths(parts), ...rolePaths],
  });
