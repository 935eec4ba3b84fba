import { type Backend, backend } from '../../sdk/backend';
import { loginPath, renewLogin } from './login';
import { rolePaths } from './role';
import { roleFieldPaths } from './role-field';
import { secretIdPaths } from './secret-id';

/** Logins of machines with a role id and a secret id. */
export const approle = (): Backend =>
  backend({
    type: 'approle',
    kind: 'auth',
    summary: 'Logs machines in with a role ID and a secret ID.',
    paths: [...rolePaths(), ...roleFieldPaths(), ...secretIdPaths(), loginPath],
    renewLogin,
  });
