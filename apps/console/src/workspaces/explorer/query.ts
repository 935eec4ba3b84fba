/** The views, by the names that the service uses, with the columns that they can be sorted by. */
export const views = {
  workspaces: {
    path: '',
    label: 'Workspaces',
    sorts: [
      ['', 'Name'],
      ['-resources_drifted', 'Most drifted'],
      ['-checks_failed', 'Most failed checks'],
      ['-workspace_updated_at', 'Latest update'],
      ['workspace_terraform_version', 'Terraform version'],
      ['-provider_count', 'Most providers'],
    ],
  },
  providers: { path: '/providers', label: 'Providers', sorts: [] },
  modules: { path: '/modules', label: 'Modules', sorts: [] },
  tf_versions: { path: '/versions', label: 'Terraform versions', sorts: [] },
} as const;
export type ViewName = keyof typeof views;

/** The sort orders of the other views; the default is most used first. */
export const usageSorts = [
  ['-workspace_count', 'Most used'],
  ['workspace_count', 'Least used'],
] as const;

/** The filters of workspaces, by their names in the address, each with its field, operator and label. */
export const workspaceFilters = [
  ['q', 'workspace_name', 'contains', 'Name'],
  ['project', 'project_name', 'contains', 'Project'],
  ['provider', 'providers', 'contains', 'Provider'],
  ['module', 'modules', 'contains', 'Module'],
  ['version', 'workspace_terraform_version', 'is', 'Terraform version'],
  ['drift', 'drifted', 'is', 'Drift'],
] as const;

export type ExplorerAddress = Partial<Record<(typeof workspaceFilters)[number][0] | 'sort' | 'page', string>>;

/** The query to send to the service. */
export function queryOf(view: ViewName, { page, sort, ...search }: ExplorerAddress): Record<string, string> {
  const filters =
    view === 'workspaces'
      ? workspaceFilters
      : view === 'tf_versions'
        ? ([['q', 'version', 'contains']] as const)
        : ([['q', 'source', 'contains']] as const);
  const conditions = filters.flatMap(([name, field, operator]) =>
    search[name] ? [[field, operator, search[name]]] : [],
  );
  const order = sort || (view === 'workspaces' ? '' : '-workspace_count');
  return {
    type: view,
    ...Object.fromEntries(
      conditions.map(([field, operator, value], at) => [`filter[${at}][${field}][${operator}][0]`, value!]),
    ),
    ...(order === '' ? {} : { sort: order }),
    ...(page ? { 'page[number]': page } : {}),
  };
}
