import { type Backend, backend } from '../../sdk/backend';
import { authUrlPath } from './auth-url';
import { callbackPath } from './callback';
import { configPath } from './config-path';
import { loginPath, renewLogin } from './login';
import { pollPath } from './poll';
import type { OidcProvider } from './provider';
import { roleListPath, rolePath } from './role';

/**
 * Logins of machines with a JWT, and of users who sign in at an OpenID provider with a browser or device (decision
 * 0041). The mount types `jwt` and `oidc` are the same.
 */
export const jwt = (provider: OidcProvider): Backend =>
  backend({
    type: 'jwt',
    outside: true,
    kind: 'auth',
    summary: 'Logs users in with a JWT of a trusted issuer, or at an OpenID provider.',
    paths: [
      configPath(provider.keys),
      roleListPath,
      rolePath,
      loginPath(provider.keys),
      authUrlPath(provider),
      callbackPath(provider),
      pollPath(provider),
    ],
    renewLogin: renewLogin(provider),
  });
