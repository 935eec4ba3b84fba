import { registry } from '../src/registry';

const notThere = (wanted: 'auth' | 'secret', without: readonly string[]) =>
  registry
    .filter(({ kind, always, usually }) => kind === wanted && always === undefined && usually === undefined)
    .map(({ type }) => type)
    .filter((type) => !without.includes(type));

/** The types of auth methods that are not mounted by default; tests over all operations mount each of them. */
export const authMethods: readonly string[] = notThere('auth', ['oidc', 'azure']);

/** The types of secrets engines that are not mounted by default, without kv, which has two versions. */
export const secretsEngines: readonly string[] = notThere('secret', ['kv', 'nomad', 'aws']);
