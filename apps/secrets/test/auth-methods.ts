import { registry } from '../src/registry';

/** Second names of methods that are mounted under both. */
const further = ['oidc', 'azure'];

/** The types of auth methods that an installation does not begin with, each once: what sweeps over everything mount. */
export const authMethods: readonly string[] = registry
  .filter(({ kind, type, usually }) => kind === 'auth' && usually === undefined && !further.includes(type))
  .map(({ type }) => type);
