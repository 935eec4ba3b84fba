import { type Backend, backend } from '../../sdk/backend';
import { loginPath, renewLogin } from './login';
import { Passwords } from './password';
import { userPaths } from './user';

/** Logins with a name and a password stored by the service itself. */
export const userpass = (): Backend => {
  const passwords = new Passwords();
  return backend({
    type: 'userpass',
    kind: 'auth',
    summary: 'Logs users in with a name and a password.',
    paths: [...userPaths(passwords), loginPath(passwords)],
    renewLogin,
  });
};
