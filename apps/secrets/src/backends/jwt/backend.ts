import { type Backend, backend } from '../../sdk/backend';
import { configPath } from './config-path';
import type { IssuerKeys } from './keys';
import { loginPath, renewLogin } from './login';
import { roleListPath, rolePath } from './role';

/** Logins with tokens that some issuer signed: continuous integration, clusters, other services. Decision 0041. */
export const jwt = (keys: IssuerKeys): Backend =>
  backend({
    type: 'jwt',
    outside: true,
    kind: 'auth',
    summary: 'Logs in whoever brings a token that a known issuer signed.',
    paths: [configPath(keys), roleListPath, rolePath, loginPath(keys)],
    renewLogin,
  });
