import { type Backend, backend } from '../../sdk/backend';
import { configPath } from './config';
import { loginPath, renewLogin } from './login';
import { roleListPath, rolePath } from './role';
import type { Trust } from './trust';

/** Logins of whoever has the key of a certificate that is trusted. Decision 0126. */
export const cert = (trust: Trust): Backend =>
  backend({
    type: 'cert',
    kind: 'auth',
    summary: 'Logs in clients by their TLS certificates.',
    paths: [configPath, roleListPath, rolePath, loginPath(trust)],
    renewLogin: renewLogin(trust),
  });
