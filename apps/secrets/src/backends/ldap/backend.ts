import { type Backend, backend } from '../../sdk/backend';
import { configPath } from './config';
import type { Directory } from './directory';
import { loginPath, renewLogin } from './login';
import { groupPaths, userPaths } from './names';

/** Logins with the name, password and groups of an LDAP directory. Decision 0116. */
export const ldap = (directory: Directory): Backend =>
  backend({
    type: 'ldap',
    outside: true,
    kind: 'auth',
    summary: 'Logs in users of an LDAP directory.',
    paths: [configPath, ...userPaths, ...groupPaths, loginPath(directory)],
    renewLogin: renewLogin(directory),
  });
