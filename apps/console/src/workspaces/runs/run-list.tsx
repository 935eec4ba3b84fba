import { useQueryClient } from '@tanstack/react-query';
import { Link, useNavigate, useSearch } from '@tanstack/react-router';
import { SelectField, TextField } from '../../design/field';
import { Empty } from '../../design/page';
import { Time } from '../../design/time';
import { includedOf, query, refOf } from '../data/documents';
import { useMany } from '../data/use-api';
import { useEvents } from '../data/use-events';
import { Pager } from '../parts/pager';
import { type Column, ResourceTable } from '../parts/resource-table';
import { Status, statusOptions } from '../parts/states';
import { kindOf, type RunAttributes } from './run-types';

interface Filters {
  readonly status?: string;
  readonly q?: string;
  readonly page?: number;
  readonly plans?: boolean;
}

export interface RunListProps {
  readonly org: string;
  /** Where the runs are, and the stream beside them, below `/api/v2`. */
  readonly path: string;
  readonly stream: string;
  /** The workspace, where they are all of one. */
  readonly ws?: string;
  readonly filters?: boolean;
}

/** Runs, newest first, as they come and go. */
export function RunList({ org, path, stream, ws, filters: filtered = true }: RunListProps) {
  const filters = useSearch({ strict: false }) as Filters;
  const navigate = useNavigate();
  const queries = useQueryClient();
  const change = (more: Filters) =>
    void navigate({
      to: '.',
      search: ((old: object) => ({ ...old, page: undefined, ...more })) as never,
      replace: true,
    });
  const asked = useMany<RunAttributes>(
    path +
      query({
        include: 'created_by,workspace',
        'page[size]': 20,
        'page[number]': filters.page,
        ...(filtered
          ? {
              'filter[status]': filters.status,
              'search[basic]': filters.q,
              'filter[operation]': 'plan_and_apply,plan_only,save_plan,refresh_only,destroy,empty_apply',
            }
          : {}),
      }),
  );
  useEvents(stream, ({ event }) => {
    if (event !== 'ready')
      void queries.invalidateQueries({ predicate: ({ queryKey }) => String(queryKey[0]).startsWith(path) });
  });
  const { data, error, refetch } = asked;
  const columns: Column<RunAttributes>[] = [
    {
      head: 'Run',
      cell: (run) => {
        const name = ws ?? includedOf<{ name: string }>(data?.included, refOf(run, 'workspace'))?.attributes.name ?? '';
        return (
          <div className="stack-none">
            <Link to={`/organizations/${org}/workspaces/${name}/runs/${run.id}`}>
              {run.attributes.message || run.id}
            </Link>
            <span className="second small">
              {ws === undefined ? `${name} · ` : ''}
              {kindOf(run.attributes)}
            </span>
          </div>
        );
      },
    },
    { head: 'Status', className: 'tight', cell: ({ attributes }) => <Status status={attributes.status} /> },
    {
      head: 'By',
      className: 'wide-only',
      cell: (run) =>
        includedOf<{ username: string }>(data?.included, refOf(run, 'created-by'))?.attributes.username ?? '–',
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
        rows={data?.data}
        error={error}
        onRetry={() => void refetch()}
        empty={
          <Empty command="terraform init && terraform plan">
            {filters.status || filters.q
              ? 'No run fits these filters.'
              : 'No run yet. Push a plan from the tool, or start one here.'}
          </Empty>
        }
      />
      <Pager list={data} onPage={(page) => change({ page })} />
    </div>
  );
}
