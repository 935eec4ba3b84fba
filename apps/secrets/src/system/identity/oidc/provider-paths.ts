import { z } from 'zod';
import { stillThere } from '../../../sdk/collection';
import { commaList, string } from '../../../sdk/fields';
import { path } from '../../../sdk/path';
import { data, empty, keys, missing } from '../../../sdk/reply';
import type { Storage } from '../../../sdk/storage';
import { fillClaims } from './claims-template';
import { checkIssuer, type PublicUrl } from './issuer';
import {
  defaultProviderName,
  findProvider,
  issuerOf,
  newProvider,
  type Provider,
  providers,
  serves,
} from './providers';
import { scopes } from './scope-paths';
import { allOf, distinct, refuse, settle, withName } from './settings';

const texts = z.array(z.string());
const Output = z.object({ issuer: z.string(), allowed_client_ids: texts, scopes_supported: texts });
const anonymous = { entity: { id: '', name: '', metadata: {}, aliases: [] }, groups: [] };

/** The OpenID providers of a namespace. */
export function providerPaths(publicUrl: PublicUrl) {
  const shown = (provider: Provider, name: string, namespacePath: string) => ({
    ...provider,
    issuer: issuerOf(provider, name, namespacePath, publicUrl) ?? `/v1/${namespacePath}identity/oidc/provider/${name}`,
  });
  return [
    path('oidc/provider', {
      summary: 'The OpenID providers of this namespace.',
      list: {
        summary: 'List the providers, or those that a given client may use.',
        input: z.object({
          allowed_client_id: string().optional().describe('List only the providers that this client may use.'),
        }),
        output: z.object({ keys: texts, key_info: z.record(z.string(), Output) }),
        async run({ input, storage, namespace }) {
          const { allowed_client_id: clientId } = input;
          const names = withName(await providers.list(storage), defaultProviderName);
          const found = await stillThere(names, (name) => findProvider(storage, name));
          const listed = found.filter(([, provider]) => !clientId || serves(provider, clientId));
          return keys(
            listed.map(([name]) => name),
            Object.fromEntries(listed.map(([name, one]) => [name, shown(one, name, namespace.path)])),
          );
        },
      },
    }),
    path('oidc/provider/:name', {
      summary: 'An OpenID provider for applications.',
      exists: async ({ params, storage }) => (await findProvider(storage, params.name)) !== undefined,
      read: {
        summary: 'Read a provider.',
        output: Output,
        async run({ params: { name }, storage, namespace }) {
          const found = await findProvider(storage, name);
          return found ? data(shown(found, name, namespace.path)) : missing;
        },
      },
      write: {
        summary: 'Create a provider, or change some of its fields.',
        input: z.object({
          issuer: string()
            .optional()
            .describe('Scheme, host and port of the iss claim. Empty: those of the service’s public URL.'),
          allowed_client_ids: commaList().optional().describe('Client IDs that may use the provider; * for all.'),
          scopes_supported: commaList().optional().describe('Scopes that can be requested in addition to openid.'),
        }),
        async run({ params: { name }, input, storage, warn }) {
          if (input.issuer !== undefined) checkIssuer(input.issuer, { warn });
          const conflicts = await settle(storage, async (tx) => {
            const before = (await findProvider(tx, name)) ?? newProvider;
            const scopes_supported = distinct(input.scopes_supported ?? before.scopes_supported);
            const found = await conflictsOf(tx, scopes_supported);
            const allowed_client_ids = distinct(input.allowed_client_ids ?? before.allowed_client_ids);
            const issuer = input.issuer ?? before.issuer;
            providers.put(tx, name, { issuer, allowed_client_ids, scopes_supported });
            return found;
          });
          for (const conflict of conflicts) warn(conflict);
          return empty;
        },
      },
      delete: {
        summary: 'Delete a provider. Also succeeds if it does not exist.',
        async run({ params: { name }, storage }) {
          if (name === defaultProviderName) {
            refuse(`deletion of OIDC provider ${JSON.stringify(name)} not allowed`);
          }
          await settle(storage, async (tx) => providers.delete(tx, name));
          return empty;
        },
      },
    }),
  ];
}

/** Scopes that cannot be requested together; throws `invalid` for unknown scopes. */
async function conflictsOf(tx: Storage, names: readonly string[]): Promise<string[]> {
  const byName = new Map(await allOf(tx, scopes));
  const owners = new Map<string, string>();
  const conflicts: string[] = [];
  for (const name of names) {
    const scope = byName.get(name) ?? refuse(`scope ${JSON.stringify(name)} does not exist`);
    for (const claim of Object.keys(fillClaims(scope.template, anonymous, 0))) {
      const owner = owners.get(claim);
      if (owner !== undefined) {
        conflicts.push(
          `Found scope templates with conflicting top-level keys: conflict ${JSON.stringify(claim)} in scopes ${JSON.stringify(name)}, ${JSON.stringify(owner)}. They cannot be requested together.`,
        );
      }
      owners.set(claim, name);
    }
  }
  return conflicts;
}
