import { useQueries } from '@tanstack/react-query';
import { Link, useNavigate, useSearch } from '@tanstack/react-router';
import { useCallback, useEffect, useState } from 'react';
import { dataOf } from '../../api/transport';
import { type Resource, workspacesApi } from '../../api/workspaces';
import { Badge } from '../../design/badge';
import { Button } from '../../design/button';
import { ErrorNotice } from '../../design/error-notice';
import { SelectField, TextField } from '../../design/field';
import { Empty, PageHead, SameBy, Skeleton } from '../../design/page';
import { Time } from '../../design/time';
import { useSession } from '../../shell/session';
import { includedOf, useChange, useOrganizationName } from '../api';
import { ChoiceField } from '../parts/choice-field';
import { Status, statusOptions } from '../parts/states';
import { VirtualList } from '../parts/virtual-list';
import { useEvents } from '../use-events';
import { BulkBar } from './bulk';
import { FavouriteButton, FavouriteWorkspaces } from './favourites';
import type { Mark } from './marks';
import { NewWorkspace } from './new-workspace';
import { OrganizationHealth } from './organization-health';
import type { Workspace } from './use-workspace';
import { workspaceSorts } from './workspace-sorts';

const pageSize = 100;

interface WorkspaceFilters {
  readonly q?: string;
  readonly tags?: string;
  readonly project?: string;
  readonly status?: string;
  readonly sort?: string;
}

/** The maximum number of workspaces that can be chosen at once. */
const mostChosen = 1000;

interface WorkspaceRow {
  readonly workspace: Workspace;
  readonly run: Resource<'RunsResource'> | undefined;
  readonly project: Resource<'ProjectsResource'> | undefined;
}

/** The workspaces of an organization; the filters are in the address. */
export function Workspaces() {
  const org = useOrganizationName();
  const filters = useSearch({ strict: false }) as WorkspaceFilters;
  const navigate = useNavigate();
  const [text, setText] = useState(filters.q ?? '');
  const [tags, setTags] = useState(filters.tags ?? '');
  const change = useCallback(
    (more: WorkspaceFilters) =>
      void navigate({ to: '.', search: ((old: object) => clean({ ...old, ...more })) as never, replace: true }),
    [navigate],
  );
  useEffect(() => {
    const timer = setTimeout(() => change({ q: text, tags }), 250);
    return () => clearTimeout(timer);
  }, [text, tags, change]);
  const { sort, ...narrowing } = filters;
  const hasFilters = Object.values(narrowing).some(Boolean);
  return (
    <div className="stack">
      <PageHead
        title={org}
        crumbs={[{ label: 'Organizations', to: '/' }, { label: org }]}
        actions={<NewWorkspace org={org} />}
      />
      <OrganizationHealth key={org} org={org} />
      <FavouriteWorkspaces org={org} />
      <search className="filters">
        <TextField label="Search by name" type="search" value={text} onChange={setText} />
        <TextField label="Tags" type="search" value={tags} onChange={setTags} placeholder="env, team" />
        <ChoiceField
          label="Project"
          kind="projects"
          organization={org}
          value={filters.project ?? ''}
          onChange={(project) => change({ project })}
          none="All projects"
        />
        <SelectField
          label="Status of the current run"
          value={filters.status ?? ''}
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
      <List key={org} org={org} filters={filters} hasFilters={hasFilters} />
      <SameBy
        api={`curl -H "Authorization: Bearer $TOKEN" "${location.origin}/api/v2/organizations/${org}/workspaces?${addressOf(filters)}"`}
        command={`keystead ws list -organization=${org}`}
      />
    </div>
  );
}

const clean = (filters: WorkspaceFilters): WorkspaceFilters =>
  Object.fromEntries(Object.entries(filters).filter(([, value]) => value !== ''));

function queryOf({ q, tags, project, status, sort }: WorkspaceFilters, page: number) {
  return {
    include: 'current_run,project',
    'page[size]': pageSize,
    'page[number]': page,
    ...(q ? { 'search[name]': q } : {}),
    ...(tags ? { 'search[tags]': tags } : {}),
    ...(project ? { 'filter[project][id]': project } : {}),
    ...(status ? { 'filter[current-run][status]': status } : {}),
    ...(sort ? { sort } : {}),
  };
}

const addressOf = (filters: WorkspaceFilters): string =>
  new URLSearchParams(Object.entries(queryOf(filters, 1)).map(([name, value]) => [name, String(value)])).toString();

function List({
  org,
  filters,
  hasFilters,
}: {
  readonly org: string;
  readonly filters: WorkspaceFilters;
  readonly hasFilters: boolean;
}) {
  const { transport } = useSession();
  const [pages, setPages] = useState<readonly number[]>([1]);
  const [chosen, setChosen] = useState<readonly Mark[]>([]);
  const chosenIds = new Set(chosen.map(({ id }) => id));
  const answers = useQueries({
    queries: pages.map((page) => {
      const params = { path: { organization_name: org }, query: queryOf(filters, page) };
      return {
        queryKey: ['api', 'workspaces', params],
        queryFn: () =>
          dataOf(workspacesApi(transport).GET('/api/v2/organizations/{organization_name}/workspaces', { params })),
      };
    }),
  });
  const byPage = new Map(pages.map((page, index) => [page, answers[index]?.data]));
  const loaded = answers.find(({ data }) => data !== undefined)?.data;
  const error = answers.find((one) => one.error !== null)?.error;
  const refetch = answers[0]?.refetch;
  useEvents(`organizations/${encodeURIComponent(org)}/runs/stream`, ({ event }) => {
    if (event !== 'ready') void refetch?.();
  });
  const onRange = useCallback((first: number, last: number) => {
    const from = Math.floor(first / pageSize) + 1;
    const to = Math.floor(last / pageSize) + 1;
    const pagesInView = Array.from({ length: to - from + 1 }, (_, index) => from + index);
    setPages((old) => (pagesInView.every((page) => old.includes(page)) && old.length < 8 ? old : pagesInView));
  }, []);
  if (error) return <ErrorNotice error={error} {...(refetch ? { onRetry: () => void refetch() } : {})} />;
  if (loaded === undefined) return <Skeleton rows={8} />;
  const total = loaded.meta?.pagination?.['total-count'] ?? loaded.data.length;
  if (total === 0) {
    return hasFilters ? (
      <Empty>No workspace matches these filters.</Empty>
    ) : (
      <Empty command={`keystead ws create -organization=${org} NAME`} action={<NewWorkspace org={org} />}>
        A workspace has the state, the variables and the runs of one configuration.
      </Empty>
    );
  }
  const at = (index: number): WorkspaceRow | undefined => {
    const page = byPage.get(Math.floor(index / pageSize) + 1);
    const workspace = page?.data[index % pageSize];
    if (workspace === undefined) return undefined;
    return {
      workspace,
      run: includedOf(page?.included, workspace.relationships['current-run']),
      project: includedOf(page?.included, workspace.relationships.project),
    };
  };
  const choose = ({ id, name }: Mark, is: boolean) =>
    setChosen((before) => [...before.filter((one) => one.id !== id), ...(is ? [{ id, name }] : [])]);
  return (
    <div className="stack-tight">
      <div className="row spread">
        <p className="second small" role="status">
          {total.toLocaleString('en')} {total === 1 ? 'workspace' : 'workspaces'}
        </p>
        {chosen.length < Math.min(total, mostChosen) ? (
          <ChooseAll org={org} filters={filters} total={total} onChoose={setChosen} />
        ) : null}
      </div>
      <BulkBar org={org} chosen={chosen} onChoose={setChosen} />
      <VirtualList
        label="Workspaces"
        count={total}
        rowHeight={56}
        at={at}
        onRange={onRange}
        row={(item) => (
          <RowOfWorkspace org={org} item={item} isChosen={chosenIds.has(item.workspace.id)} onChoose={choose} />
        )}
      />
    </div>
  );
}

/** Chooses all that match the filters, also those that are not loaded yet. */
function ChooseAll({
  org,
  filters,
  total,
  onChoose,
}: {
  readonly org: string;
  readonly filters: WorkspaceFilters;
  readonly total: number;
  readonly onChoose: (chosen: readonly Mark[]) => void;
}) {
  const all = useChange(
    async (api) => {
      const read = (page: number) =>
        dataOf(
          api.GET('/api/v2/organizations/{organization_name}/workspaces', {
            params: { path: { organization_name: org }, query: { ...queryOf(filters, page), include: '' } },
          }),
        );
      const pages = Math.ceil(Math.min(total, mostChosen) / pageSize);
      const found = await Promise.all(Array.from({ length: pages }, (_, page) => read(page + 1)));
      return { data: found.flatMap(({ data }) => data), response: new Response() };
    },
    (found) => onChoose(found.map(({ id, attributes: { name } }) => ({ id, name }))),
  );
  const count = Math.min(total, mostChosen).toLocaleString('en');
  return (
    <span className="row">
      <ErrorNotice error={all.error} />
      <Button small kind="quiet" busy={all.isPending} onClick={() => all.mutate()}>
        {total > mostChosen ? `Choose the first ${count}` : `Choose all ${count}`}
      </Button>
    </span>
  );
}

function RowOfWorkspace({
  org,
  item: { workspace, run, project },
  isChosen,
  onChoose,
}: {
  readonly org: string;
  readonly item: WorkspaceRow;
  readonly isChosen: boolean;
  readonly onChoose: (mark: Mark, is: boolean) => void;
}) {
  const {
    name,
    locked,
    'tag-names': tags,
    'resource-count': resources,
    'latest-change-at': changed,
  } = workspace.attributes;
  const to = `/organizations/${org}/workspaces/${name}`;
  const mark = { id: workspace.id, name };
  return (
    <div className="workspace-row">
      <span className="row-tools">
        <input
          type="checkbox"
          aria-label={`Choose ${name}`}
          checked={isChosen}
          onChange={({ target }) => onChoose(mark, target.checked)}
        />
        <FavouriteButton org={org} mark={mark} />
      </span>
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
      <span className="second small">
        {resources} {resources === 1 ? 'resource' : 'resources'}
      </span>
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
