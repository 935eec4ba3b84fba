import { registry } from '../src/registry';

/** Other names of methods that stand under their own one as well. */
const further = ['oidc', 'azure'];

/** The types of auth methods that an installation does not begin with, each once: what sweeps over everything mount. */
export const authMethods: readonly string[] = registry
  .filter(({ kind, type, usually }) => kind === 'auth' && usually === undefined && !further.includes(type))
  .map(({ type }) => type);
