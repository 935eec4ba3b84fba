import { Link } from '@tanstack/react-router';
import type { Resource } from '../../api/workspaces';
import { Badge } from '../../design/badge';
import { SelectField, TextField } from '../../design/field';
import { Empty } from '../../design/page';
import type { Column } from '../../design/table';
import { Time } from '../../design/time';
import { includedOf, useRead } from '../api';
import { useFilters } from '../filters';
import { ResourceTable } from '../parts/resource-table';
import { Status, statusOptions } from '../parts/states';
import { NewWorkspace } from '../workspace/new-workspace';
import type { Workspace } from '../workspace/use-workspace';
import { workspaceSorts } from '../workspace/workspace-sorts';

const pageSize = 50;

interface ProjectProps {
  readonly project: Resource<'ProjectsResource'>;
  readonly organization: string;
}

/** The workspaces of a project: their newest run, lock and drift; the filters are in the address. */
export function ProjectWorkspaces({ project, organization }: ProjectProps) {
  const [{ q, status, sort, page }, change] = useFilters<'q' | 'status' | 'sort' | 'page'>();
  const query = {
    include: 'current_run',
    'filter[project][id]': project.id,
    'page[size]': pageSize,
    'page[number]': Number(page ?? 1),
    ...(q ? { 'search[name]': q } : {}),
    ...(status ? { 'filter[current-run][status]': status } : {}),
    ...(sort ? { sort } : {}),
  };
  const workspaces = useRead(
    ['workspaces', organization, query],
    (api) =>
      api.GET('/api/v2/organizations/{organization_name}/workspaces', {
        params: { path: { organization_name: organization }, query },
      }),
    { keeps: true },
  );
  const drifted = useDrifted(project.id, organization);
  const columns: readonly Column<Workspace>[] = [
    { head: 'Workspace', cell: (workspace) => <Name workspace={workspace} organization={organization} /> },
    {
      head: 'Current run',
      className: 'tight',
      cell: ({ attributes: { name }, relationships }) => {
        const run = includedOf(workspaces.data?.included, relationships['current-run']);
        if (run === undefined) return <span className="second">none</span>;
        return (
          <Link to={`/organizations/${organization}/workspaces/${name}/runs/${run.id}`}>
            <Status status={run.attributes.status} />
          </Link>
        );
      },
    },
    {
      head: 'Drift',
      className: 'tight',
      cell: ({ id }) => {
        const count = drifted.get(id);
        return count === undefined ? <span className="second">–</span> : <Badge tone="amber">{count} drifted</Badge>;
      },
    },
    {
      head: 'Latest change',
      className: 'tight',
      cell: ({ attributes }) => <Time at={attributes['latest-change-at']} />,
    },
  ];
  const hasFilters = Boolean(q || status);
  return (
    <section className="stack-tight" aria-labelledby="workspaces">
      <h2 id="workspaces">
        Workspaces <span className="second">{project.attributes['workspace-count'].toLocaleString('en')}</span>
      </h2>
      {project.attributes['workspace-count'] === 0 ? null : (
        <search className="filters">
          <TextField label="Search by name" type="search" value={q ?? ''} onChange={(q) => change({ q })} />
          <SelectField
            label="Status of the current run"
            value={status ?? ''}
            onChange={(status) => change({ status })}
            options={statusOptions}
          />
          <SelectField
            label="Sort by"
            value={sort ?? ''}
            onChange={(sort) => change({ sort })}
            options={workspaceSorts}
          />
        </search>
      )}
      <ResourceTable
        label="Workspaces"
        query={workspaces}
        paged
        outline={3}
        columns={columns}
        empty={
          hasFilters ? (
            <Empty>No workspace of this project matches these filters.</Empty>
          ) : (
            <Empty action={<NewWorkspace org={organization} within={project} />}>
              You can see no workspaces in this project. A workspace has the state, the variables and the runs of one
              configuration.
            </Empty>
          )
        }
      />
    </section>
  );
}

function Name({ workspace, organization }: { readonly workspace: Workspace; readonly organization: string }) {
  const { name, description, locked } = workspace.attributes;
  return (
    <>
      <span className="row">
        <Link to={`/organizations/${organization}/workspaces/${name}`}>{name}</Link>
        {locked ? <Badge tone="violet">locked</Badge> : null}
      </span>
      {description ? <p className="second small">{description}</p> : null}
    </>
  );
}

/**
 * The number of drifted resources of each workspace of a project, by the id of the workspace. Workspaces without drift
 * are absent.
 */
function useDrifted(project: string, organization: string): ReadonlyMap<string, number> {
  const query = {
    type: 'workspaces',
    'filter[0][project_external_id][is][0]': project,
    'filter[1][drifted][is][0]': 'true',
    'page[size]': 100,
  };
  const found = useRead(['explorer', organization, query], (api) =>
    api.GET('/api/v2/organizations/{organization_name}/explorer', {
      params: { path: { organization_name: organization }, query: query as never },
    }),
  );
  return new Map(
    (found.data?.data ?? []).flatMap(({ attributes: { 'external-id': id, 'resources-drifted': count } }) =>
      id ? [[id, count ?? 0] as const] : [],
    ),
  );
}
