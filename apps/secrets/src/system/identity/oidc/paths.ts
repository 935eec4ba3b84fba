import type { Identity } from '../../../kernel/identity/identity';
import type { Path } from '../../../sdk/path';
import { assignmentPaths } from './assignments';
import { authorizePath } from './authorize';
import { clientPaths } from './client-paths';
import { introspectPath } from './introspect';
import { configPath, type PublicUrl } from './issuer';
import { keyPaths } from './key-paths';
import { providerPaths } from './provider-paths';
import { providerWellKnownPaths } from './provider-well-known';
import { rolePaths } from './role-paths';
import { scopePaths } from './scope-paths';
import { tokenEndpoint } from './token-endpoint';
import { tokenPath } from './token-path';
import { userinfoPath } from './userinfo';
import { wellKnownPaths } from './well-known';

/** `identity/oidc`: identity tokens for entities, and sign-in to applications. Decision 0122. */
export const oidcPaths = (identity: Identity, publicUrl: PublicUrl): Path[] => [
  configPath(publicUrl),
  ...keyPaths,
  ...rolePaths,
  tokenPath(identity, publicUrl),
  introspectPath(identity, publicUrl),
  ...wellKnownPaths(publicUrl),
  ...scopePaths,
  ...assignmentPaths,
  ...clientPaths,
  ...providerPaths(publicUrl),
  ...providerWellKnownPaths(publicUrl),
  authorizePath(identity, publicUrl),
  tokenEndpoint(identity, publicUrl),
  userinfoPath(identity),
];
