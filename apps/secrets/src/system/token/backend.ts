import { backend } from '../../sdk/backend';
import { createPaths } from './create';
import { lookupPaths } from './lookup';
import type { TokenPort } from './port';
import { renewPaths } from './renew';
import { revokePaths } from './revoke';
import { rolePaths } from './role';

/** Tokens: made, looked at, prolonged and ended. */
export const token = (tokens: TokenPort) =>
  backend({
    type: 'token',
    kind: 'system',
    summary: 'token based credentials',
    paths: [
      ...createPaths(tokens),
      ...lookupPaths(tokens),
      ...renewPaths(tokens),
      ...revokePaths(tokens),
      ...rolePaths,
    ],
  });
