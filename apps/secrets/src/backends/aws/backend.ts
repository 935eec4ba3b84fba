import { type Backend, backend } from '../../sdk/backend';
import { clientPath } from './client';
import { identityPath } from './identity';
import { loginPath, renewLogin } from './login';
import type { AwsParts } from './parts';
import { roleListPaths, rolePath } from './role';

/** Logins of AWS users and roles, authenticated by a signed request. Decision 0025. */
export const aws = (parts: AwsParts): Backend =>
  backend({
    type: 'aws',
    outside: true,
    kind: 'auth',
    summary: 'Logs in AWS users and roles with a request that they signed.',
    paths: [clientPath, identityPath, ...roleListPaths, rolePath(parts), loginPath(parts)],
    renewLogin,
  });
