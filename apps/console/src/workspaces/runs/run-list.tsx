import { useQueryClient } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import type { AnswerTo, Resource, WorkspacesApi } from '../../api/workspaces';
import { SelectField, TextField } from '../../design/field';
import { Empty } from '../../design/page';
import type { Column } from '../../design/table';
import { Time } from '../../design/time';
import { type ApiAnswer, includedOf, useRead } from '../api';
import { useAddress } from '../filters';
import { ResourceTable } from '../parts/resource-table';
import { Status, statusOptions } from '../parts/states';
import { useEvents } from '../use-events';
import { ChangeCounts, kindOf, sources, titleOf } from './run-types';

interface RunFilters {
  readonly status?: string;
  readonly q?: string;
  readonly page?: number;
  readonly plans?: boolean;
}

type Run = Resource<'RunsResource'>;

/** The query of the list. */
export interface RunQuery {
  include: string;
  'page[size]': number;
  'page[number]': number;
  'filter[status]'?: string;
  'search[basic]'?: string;
  'filter[operation]'?: string;
}

type RunsAnswer = AnswerTo<'/api/v2/organizations/{organization_name}/runs'>;

/** The paths of runs and of their event stream, below `/api/v2`. */
export interface RunSource {
  readonly key: readonly string[];
  readonly stream: string;
  read(api: WorkspacesApi, query: RunQuery): Promise<ApiAnswer<RunsAnswer>>;
}

export interface RunListProps {
  readonly org: string;
  readonly runs: RunSource;
  /** The workspace, if all runs belong to the same workspace. */
  readonly ws?: string;
  readonly filters?: boolean;
}

/** Runs, newest first, updated live. */
export function RunList({ org, runs, ws, filters: filtered = true }: RunListProps) {
  const [filters, setFilters] = useAddress<RunFilters>();
  const queries = useQueryClient();
  const change = (more: RunFilters) => setFilters({ page: undefined, ...more });
  const query = {
    include: 'created_by,workspace,plan',
    'page[size]': 20,
    'page[number]': filters.page ?? 1,
    ...(filtered
      ? {
          ...(filters.status ? { 'filter[status]': filters.status } : {}),
          ...(filters.q ? { 'search[basic]': filters.q } : {}),
          'filter[operation]': 'plan_and_apply,plan_only,save_plan,refresh_only,destroy,empty_apply',
        }
      : {}),
  };
  const found = useRead([...runs.key, query], (api) => runs.read(api, query), { keeps: true });
  useEvents(runs.stream, ({ event }) => {
    if (event !== 'ready') void queries.invalidateQueries({ queryKey: ['api', ...runs.key] });
  });
  const columns: Column<Run>[] = [
    {
      head: 'Run',
      cell: (run) => {
        const name = ws ?? includedOf(found.data?.included, run.relationships.workspace)?.attributes.name ?? '';
        return (
          <div className="stack-none">
            <Link to={`/organizations/${org}/workspaces/${name}/runs/${run.id}`}>
              {titleOf(run.attributes, run.id)}
            </Link>
            <span className="second small">
              {ws === undefined ? `${name} · ` : ''}
              {kindOf(run.attributes)} · from the {sources.get(run.attributes.source) ?? run.attributes.source}
            </span>
          </div>
        );
      },
    },
    {
      head: 'Changes',
      className: 'tight wide-only',
      cell: (run) => <ChangeCounts plan={includedOf(found.data?.included, run.relationships.plan)?.attributes} />,
    },
    { head: 'Status', className: 'tight', cell: ({ attributes }) => <Status status={attributes.status} /> },
    {
      head: 'By',
      className: 'wide-only',
      cell: (run) => includedOf(found.data?.included, run.relationships['created-by'])?.attributes.username ?? '–',
    },
    { head: 'When', className: 'tight', cell: ({ attributes }) => <Time at={attributes['created-at']} /> },
  ];
  return (
    <div className="stack">
      {filtered ? (
        <search className="filters">
          <TextField
            label="Search runs"
            type="search"
            value={filters.q ?? ''}
            onChange={(q) => change({ q })}
            placeholder="Message, id or person"
          />
          <SelectField
            label="Status"
            value={filters.status ?? ''}
            onChange={(status) => change({ status })}
            options={statusOptions}
          />
        </search>
      ) : null}
      <ResourceTable
        label="Runs"
        columns={columns}
        query={found}
        paged
        narrow="stacked"
        empty={
          <Empty command="terraform init && terraform plan">
            {filters.status || filters.q
              ? 'No run matches these filters.'
              : 'No run yet. Start one from the command line, or here.'}
          </Empty>
        }
      />
    </div>
  );
}
