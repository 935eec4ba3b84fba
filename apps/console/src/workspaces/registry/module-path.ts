import type { Resource } from '../../api/workspaces';
import { useRead } from '../api';

export type Module = Resource<'RegistryModulesResource'>;

/** The parts of a module's address. */
export const pathOf = ({ attributes, relationships }: Module) => ({
  organization_name: relationships.organization.data?.id ?? attributes.namespace,
  registry_name: attributes['registry-name'],
  namespace: attributes.namespace,
  module_name: attributes.name,
  module_provider: attributes.provider,
});

/** The path of the tests of a module, below `/api/v2`. */
export function testsPathOf(module: Module): string {
  const { organization_name, registry_name, namespace, module_name, module_provider } = pathOf(module);
  const below = [registry_name, namespace, module_name, module_provider].map(encodeURIComponent).join('/');
  return `organizations/${encodeURIComponent(organization_name)}/tests/registry-modules/${below}`;
}

/** One module by its id. */
export const useModule = (id: string) =>
  useRead(['registry-module', id], (api) =>
    api.GET('/api/v2/registry-modules/{registry_module_id}', { params: { path: { registry_module_id: id } } }),
  );
