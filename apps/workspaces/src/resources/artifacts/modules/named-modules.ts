import type { LookupBy } from '../../../kernel/endpoints/endpoint';
import * as organizations from '../../organizations/organizations/service';
import { findNamed, findPublic, type RegistryModule } from './module';

/** The path of an organization's modules. */
export const inOrganization = '/organizations/:organization_name/registry-modules' as const;
/** The organization that a path names. */
export const loadOrganization = ({ db, env, params }: LookupBy<'organization_name'>) =>
  organizations.findByName(db, env, params.organization_name);

type NameParts = 'organization_name' | 'module_name';
type SomeParts = Partial<Record<'registry_name' | 'namespace' | 'module_provider' | 'module_version', string>>;
/** The names in the path of a module. */
export type Naming = LookupBy<NameParts> & { readonly params: SomeParts };

/** The modules that a path names. */
async function loadNamed(lookup: Naming): Promise<RegistryModule[]> {
  const { db, params, principal } = lookup;
  const organization = await loadOrganization(lookup);
  const { module_name: name, module_provider: provider, registry_name: registryName = 'private' } = params;
  const namespace = params.namespace ?? organization?.name ?? '';
  return findNamed(db, principal, organization, { registryName, namespace, name, provider });
}

/**
 * The modules that a path without a registry names: those of the private registry, or of the public registry if there
 * are none.
 */
export async function loadAnywhere(lookup: Naming): Promise<RegistryModule[]> {
  const found = await loadNamed(lookup);
  if (found.length > 0 || lookup.params.registry_name !== undefined) return found;
  const { db, principal, params } = lookup;
  const { module_name: name, module_provider: provider } = params;
  return findPublic(db, principal, await loadOrganization(lookup), name, provider);
}

/** The module that a path names. */
export const loadModule = async (lookup: Naming): Promise<RegistryModule | undefined> => (await loadNamed(lookup))[0];

/** The paths of a module in its organization: for all providers, and for a single provider. */
export const byName = `${inOrganization}/:registry_name/:namespace/:module_name` as const;
export const byProvider = `${byName}/:module_provider` as const;

/** The module that a path names, if its versions are stored here. */
export const loadPrivate = async (lookup: Naming): Promise<RegistryModule | undefined> => {
  const found = await loadModule(lookup);
  return found?.registryName === 'private' ? found : undefined;
};
