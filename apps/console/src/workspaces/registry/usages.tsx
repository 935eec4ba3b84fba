import { Link } from '@tanstack/react-router';
import type { AnswerTo, WorkspacesApi } from '../../api/workspaces';
import { Time } from '../../design/time';
import { type ApiAnswer, includedOf, useOrganizationName, useRead } from '../api';
import { useFilters } from '../filters';
import { ResourceTable } from '../parts/resource-table';
import { SearchBox } from '../parts/search-box';
import { type ModuleUser, TryVersion } from './try-version';

type UsagesAnswer =
  | AnswerTo<'/api/v2/registry-modules/{registry_module_id}/usages'>
  | AnswerTo<'/api/v2/registry-providers/{registry_provider_id}/usages'>;
interface UsagesQuery {
  readonly include: string;
  readonly 'page[size]': number;
  readonly 'filter[breaks-with]'?: string;
}

const reads = {
  module: (api: WorkspacesApi, id: string, query: UsagesQuery): Promise<ApiAnswer<UsagesAnswer>> =>
    api.GET('/api/v2/registry-modules/{registry_module_id}/usages', {
      params: { path: { registry_module_id: id }, query },
    }),
  provider: (api: WorkspacesApi, id: string, query: UsagesQuery): Promise<ApiAnswer<UsagesAnswer>> =>
    api.GET('/api/v2/registry-providers/{registry_provider_id}/usages', {
      params: { path: { registry_provider_id: id }, query },
    }),
} as const;

/** The workspaces that use a module or a provider; on request only those that do not accept a version. */
export function Usages({
  what,
  id,
  name,
}: {
  readonly what: keyof typeof reads;
  readonly id: string;
  /** The name of a module, whose workspaces can be planned with another version. Absent for a provider. */
  readonly name?: string;
}) {
  const org = useOrganizationName();
  const [{ breaks }, setFilters] = useFilters<'breaks'>();
  const query = {
    include: 'workspace',
    'page[size]': 100,
    ...(breaks === undefined ? {} : { 'filter[breaks-with]': breaks }),
  };
  const usages = useRead([`registry-${what}`, id, 'usages', breaks], (api) => reads[what](api, id, query));
  const users = new Map<string, ModuleUser>();
  for (const { attributes, relationships } of usages.data?.data ?? []) {
    const workspace = includedOf(usages.data?.included, relationships.workspace);
    if (workspace === undefined || users.has(workspace.id)) continue;
    users.set(workspace.id, { id: workspace.id, name: workspace.attributes.name, source: attributes.source });
  }
  // Users who may not read all workspaces do not see this part.
  if (usages.error !== null && breaks === undefined) return null;
  return (
    <section className="stack-tight" aria-labelledby="usages">
      <h2 id="usages">Used by</h2>
      <SearchBox
        label="Only workspaces whose constraint excludes version"
        value={breaks}
        onSearch={(version) => setFilters({ breaks: version })}
      />
      <ResourceTable
        label="Used by"
        query={usages}
        outline={2}
        empty={
          <p className="second">
            {breaks === undefined
              ? `No workspace used this ${what} in its latest plan.`
              : `No workspace that uses this ${what} refuses ${breaks}.`}
          </p>
        }
        columns={[
          {
            head: 'Workspace',
            cell: ({ relationships: { workspace } }) => {
              const name = includedOf(usages.data?.included, workspace)?.attributes.name;
              return name === undefined ? (
                workspace.data?.id
              ) : (
                <Link to={`/organizations/${encodeURIComponent(org)}/workspaces/${encodeURIComponent(name)}`}>
                  {name}
                </Link>
              );
            },
          },
          { head: 'Version', className: 'tight', cell: ({ attributes }) => attributes.version },
          {
            head: 'Accepts',
            cell: ({ attributes: { constraint } }) => (constraint === '' ? 'any version' : <code>{constraint}</code>),
          },
          { head: 'Since', className: 'tight', cell: ({ attributes }) => <Time at={attributes['used-at']} /> },
        ]}
      />
      {name === undefined || users.size === 0 ? null : <TryVersion module={name} users={[...users.values()]} />}
    </section>
  );
}
