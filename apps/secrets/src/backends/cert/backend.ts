import { type Backend, backend } from '../../sdk/backend';
import { configPath } from './config';
import { ListSource } from './list-source';
import { fetchWhenDue, listListPath, listPath } from './lists';
import { loginPath, renewLogin } from './login';
import { Responders } from './responders';
import { roleListPath, rolePath } from './role';
import { Trust } from './trust';

/** The dependencies of this method: the clock, for pauses after unanswered calls. */
export interface CertParts {
  readonly clock: { now(): number };
}

/** Logins with the key of a trusted certificate. Decision 0126. */
export function cert({ clock }: CertParts): Backend {
  const trust = new Trust(new Responders(clock));
  const source = new ListSource(clock, (storage) => trust.authoritiesIn(storage));
  return backend({
    type: 'cert',
    outside: true,
    kind: 'auth',
    summary: 'Logs in clients by their TLS certificates.',
    paths: [configPath, roleListPath, rolePath, listListPath, listPath(source), loginPath(trust)],
    renewLogin: renewLogin(trust),
    tick: fetchWhenDue(source),
  });
}
