import { type Backend, backend } from '../../sdk/backend';
import { configPath } from './config';
import { loginPath, renewLogin } from './login';
import { teamPaths, userPaths } from './map';
import type { Organizations } from './organizations';

/** Logins of members of a GitHub organization, with their GitHub tokens. Decision 0115. */
export const github = (organizations: Organizations): Backend =>
  backend({
    type: 'github',
    outside: true,
    kind: 'auth',
    summary: 'Logs in members of a GitHub organization.',
    paths: [configPath(organizations), ...teamPaths, ...userPaths, loginPath(organizations)],
    renewLogin: renewLogin(organizations),
  });
