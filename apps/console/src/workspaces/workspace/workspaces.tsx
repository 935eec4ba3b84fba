import { useQueries } from '@tanstack/react-query';
import { Link, useNavigate, useSearch } from '@tanstack/react-router';
import { useCallback, useEffect, useState } from 'react';
import { Badge } from '../../design/badge';
import { ErrorNotice } from '../../design/error-notice';
import { SelectField, TextField } from '../../design/field';
import { Empty, PageHead, SameBy, Skeleton } from '../../design/page';
import { Time } from '../../design/time';
import { useSession } from '../../shell/session';
import { useOrganizationName } from '../api';
import { type Item, includedOf, type Many, query, refOf } from '../data/documents';
import { useMany } from '../data/use-api';
import { useEvents } from '../data/use-events';
import { Status, statusOptions } from '../parts/states';
import { VirtualList } from '../parts/virtual-list';
import { NewWorkspace } from './new-workspace';
import { organizationPath, type WorkspaceAttributes } from './use-workspace';

const pageSize = 100;

interface Filters {
  readonly q?: string;
  readonly tags?: string;
  readonly project?: string;
  readonly status?: string;
}

interface Row {
  readonly workspace: Item<WorkspaceAttributes>;
  readonly run: Item<{ status: string; 'created-at': string }> | undefined;
  readonly project: Item<{ name: string }> | undefined;
}

/** The workspaces of an organization, however many; the filters stand in the address. */
export function Workspaces() {
  const org = useOrganizationName();
  const filters = useSearch({ strict: false }) as Filters;
  const navigate = useNavigate();
  const [text, setText] = useState(filters.q ?? '');
  const [tags, setTags] = useState(filters.tags ?? '');
  const change = useCallback(
    (more: Filters) =>
      void navigate({ to: '.', search: ((old: object) => clean({ ...old, ...more })) as never, replace: true }),
    [navigate],
  );
  useEffect(() => {
    const timer = setTimeout(() => change({ q: text, tags }), 250);
    return () => clearTimeout(timer);
  }, [text, tags, change]);
  const projects = useMany<{ name: string }>(`${organizationPath(org)}/projects?page[size]=100`);
  const hasFilters = Object.values(filters).some(Boolean);
  return (
    <div className="stack">
      <PageHead
        title={org}
        crumbs={[{ label: 'Organizations', to: '/' }, { label: org }]}
        actions={<NewWorkspace org={org} />}
      />
      <search className="filters">
        <TextField label="Search by name" type="search" value={text} onChange={setText} />
        <TextField label="Tags" type="search" value={tags} onChange={setTags} placeholder="env, team" />
        <SelectField
          label="Project"
          value={filters.project ?? ''}
          onChange={(project) => change({ project })}
          options={[
            { value: '', label: 'All projects' },
            ...(projects.data?.data ?? []).map(({ id, attributes }) => ({ value: id, label: attributes.name })),
          ]}
        />
        <SelectField
          label="Status of the current run"
          value={filters.status ?? ''}
          onChange={(status) => change({ status })}
          options={statusOptions}
        />
      </search>
      <List org={org} filters={filters} hasFilters={hasFilters} />
      <SameBy
        api={`curl -H "Authorization: Bearer $TOKEN" "${location.origin}/api/v2/${pathOf(org, filters, 1)}"`}
        command={`keystead workspace list ${org}`}
      />
    </div>
  );
}

const clean = (filters: Filters): Filters =>
  Object.fromEntries(Object.entries(filters).filter(([, value]) => value !== ''));

function pathOf(org: string, { q, tags, project, status }: Filters, page: number): string {
  return `${organizationPath(org)}/workspaces${query({
    include: 'current_run,project',
    'page[size]': pageSize,
    'page[number]': page,
    'search[name]': q,
    'search[tags]': tags,
    'filter[project][id]': project,
    'filter[current-run][status]': status,
  })}`;
}

function List({
  org,
  filters,
  hasFilters,
}: {
  readonly org: string;
  readonly filters: Filters;
  readonly hasFilters: boolean;
}) {
  const { transport } = useSession();
  const [pages, setPages] = useState<readonly number[]>([1]);
  const asked = useQueries({
    queries: pages.map((page) => {
      const path = pathOf(org, filters, page);
      return { queryKey: [path], queryFn: () => transport.call<Many<WorkspaceAttributes>>('GET', `/api/v2/${path}`) };
    }),
  });
  const byPage = new Map(pages.map((page, index) => [page, asked[index]?.data]));
  const known = asked.find(({ data }) => data !== undefined)?.data;
  const error = asked.find((one) => one.error !== null)?.error;
  const refetch = asked[0]?.refetch;
  useEvents(`${organizationPath(org)}/runs/stream`, ({ event }) => {
    if (event !== 'ready') void refetch?.();
  });
  const onRange = useCallback((first: number, last: number) => {
    const from = Math.floor(first / pageSize) + 1;
    const to = Math.floor(last / pageSize) + 1;
    const wanted = Array.from({ length: to - from + 1 }, (_, index) => from + index);
    setPages((old) => (wanted.every((page) => old.includes(page)) && old.length < 8 ? old : wanted));
  }, []);
  if (error) return <ErrorNotice error={error} {...(refetch ? { onRetry: () => void refetch() } : {})} />;
  if (known === undefined) return <Skeleton rows={8} />;
  const total = known.meta?.pagination?.['total-count'] ?? known.data.length;
  if (total === 0) {
    return hasFilters ? (
      <Empty>No workspace fits these filters.</Empty>
    ) : (
      <Empty command={`keystead workspace create ${org}/NAME`} action={<NewWorkspace org={org} />}>
        A workspace holds the state, the variables and the runs of one configuration.
      </Empty>
    );
  }
  const at = (index: number): Row | undefined => {
    const page = byPage.get(Math.floor(index / pageSize) + 1);
    const workspace = page?.data[index % pageSize];
    if (workspace === undefined) return undefined;
    return {
      workspace,
      run: includedOf(page?.included, refOf(workspace, 'current-run')),
      project: includedOf(page?.included, refOf(workspace, 'project')),
    };
  };
  return (
    <div className="stack-tight">
      <p className="second small" role="status">
        {total.toLocaleString('en')} {total === 1 ? 'workspace' : 'workspaces'}
      </p>
      <VirtualList
        label="Workspaces"
        count={total}
        rowHeight={56}
        at={at}
        onRange={onRange}
        row={(item) => <WorkspaceRow org={org} item={item} />}
      />
    </div>
  );
}

function WorkspaceRow({ org, item: { workspace, run, project } }: { readonly org: string; readonly item: Row }) {
  const {
    name,
    locked,
    'tag-names': tags,
    'resource-count': resources,
    'latest-change-at': changed,
  } = workspace.attributes;
  const to = `/organizations/${org}/workspaces/${name}`;
  return (
    <div className="workspace-row">
      <div className="stack-none">
        <span className="row">
          <Link to={to} className="strong">
            {name}
          </Link>
          {locked ? <Badge tone="violet">locked</Badge> : null}
        </span>
        <span className="second small row">
          <span>{project?.attributes.name ?? ''}</span>
          {tags.slice(0, 4).map((tag) => (
            <span key={tag} className="tag">
              {tag}
            </span>
          ))}
        </span>
      </div>
      <span className="second small">{resources} resources</span>
      <span className="second small">
        <Time at={changed} />
      </span>
      <span>
        {run === undefined ? (
          <span className="second small">no run yet</span>
        ) : (
          <Link to={`${to}/runs/${run.id}`}>
            <Status status={run.attributes.status} />
          </Link>
        )}
      </span>
    </div>
  );
}
