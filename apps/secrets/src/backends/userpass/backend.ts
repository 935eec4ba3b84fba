import { type Backend, backend } from '../../sdk/backend';
import { loginOf, loginPath, renewLogin } from './login';
import { passkeyPaths } from './passkey';
import { Passwords } from './password';
import { userPaths } from './user';

/** Logins with a name and a password stored by the service itself, or with a passkey. */
export const userpass = (publicUrl: string | undefined): Backend => {
  const passwords = new Passwords();
  return backend({
    type: 'userpass',
    kind: 'auth',
    summary: 'Logs users in with a user name and password, or with a passkey.',
    paths: [...userPaths(passwords), loginPath(passwords), ...passkeyPaths(passwords, publicUrl, loginOf)],
    renewLogin,
  });
};
