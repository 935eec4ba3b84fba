import { Link, useNavigate, useParams } from '@tanstack/react-router';
import type { Resource } from '../../api/workspaces';
import { CheckField } from '../../design/field';
import { FormDialog } from '../../design/form';
import { Empty, Skeleton } from '../../design/page';
import { Time } from '../../design/time';
import { includedOf, rule, useChange, useRead } from '../api';
import { useFilters } from '../filters';
import { fieldsOf, useDraft } from '../parts/draft';
import { Opener } from '../parts/opener';
import { ResourceTable } from '../parts/resource-table';
import { SameByApi } from '../parts/same-by-api';
import { Status } from '../parts/states';
import { typedValues } from '../parts/typed';
import { isUnderWay, readAgainMs, ToolRunPage } from '../tool-runs/tool-run-page';
import { ValuesField, valuesProblem } from '../tool-runs/values-field';
import { WorkspaceHead } from './head';
import { useWorkspace, type Workspace } from './use-workspace';

const mayQuery = (workspace: Workspace | undefined) =>
  rule(workspace?.attributes.permissions['can-queue-run'], 'can-queue-run');

/** The queries of a workspace, which find resources to import. */
export function Queries() {
  const { to, workspace } = useWorkspace();
  return (
    <div className="stack">
      <WorkspaceHead>{workspace === undefined ? <Skeleton /> : <List to={to} workspace={workspace} />}</WorkspaceHead>
      {workspace === undefined ? null : <SameByApi path={`workspaces/${workspace.id}/queries`} />}
    </div>
  );
}

function List({ to, workspace }: { readonly to: string; readonly workspace: Workspace }) {
  const [filters] = useFilters<'page'>();
  const query = { include: 'created_by', 'page[number]': Number(filters.page ?? 1) };
  const queries = useRead(
    ['queries', workspace.id, query],
    (api) =>
      api.GET('/api/v2/workspaces/{workspace_id}/queries', {
        params: { path: { workspace_id: workspace.id }, query },
      }),
    { everyMs: readAgainMs, asLongAs: ({ data }) => data.some(isUnderWay) },
  );
  const create = (
    <Opener label="Start query" kind="primary" forbidden={mayQuery(workspace)}>
      {(close) => <NewQuery to={to} workspace={workspace} onClose={close} />}
    </Opener>
  );
  return (
    <section className="stack-tight" aria-labelledby="queries">
      <div className="panel-head">
        <h2 id="queries">Queries</h2>
        {create}
      </div>
      <ResourceTable
        label="Queries"
        query={queries}
        paged
        empty={
          <Empty action={create}>
            A query lists resources that no state contains, as defined by the .tfquery.hcl files of the configuration.
            It changes nothing.
          </Empty>
        }
        columns={[
          { head: 'Query', cell: ({ id }) => <Link to={`${to}/queries/${id}`}>{id}</Link> },
          { head: 'Status', className: 'tight', cell: ({ attributes }) => <Status status={attributes.status} /> },
          {
            head: 'By',
            cell: ({ relationships }) =>
              includedOf(queries.data?.included, relationships['created-by'])?.attributes.username ?? '–',
          },
          { head: 'Created', className: 'tight', cell: ({ attributes }) => <Time at={attributes['created-at']} /> },
        ]}
      />
    </section>
  );
}

function NewQuery({
  to,
  workspace: { id },
  onClose,
}: {
  readonly to: string;
  readonly workspace: Workspace;
  readonly onClose: () => void;
}) {
  const navigate = useNavigate();
  const draft = useDraft({ variables: '', 'generate-config-out': true });
  const start = useChange(
    (api) =>
      api.POST('/api/v2/queries', {
        body: {
          data: {
            type: 'queries',
            attributes: { ...draft.value, variables: typedValues(draft.value.variables) ?? [] },
            relationships: { workspace: { data: { type: 'workspaces', id } } },
          },
        },
      }),
    ({ data }) => void navigate({ to: `${to}/queries/${data?.id}` }),
  );
  const { field, check } = fieldsOf(draft, start.error);
  return (
    <FormDialog
      title="Start query"
      action="Start query"
      change={start}
      forbidden={valuesProblem(draft.value.variables)}
      onBack={onClose}
      onSend={() => start.mutate()}
    >
      <p className="second">It uses the latest uploaded configuration.</p>
      <ValuesField {...field('variables')} hint="For this query only: one per line." />
      <CheckField
        label="Generate configuration"
        hint="Writes configuration for every result."
        {...check('generate-config-out')}
      />
    </FormDialog>
  );
}

/** One query: its status, its output, and how to stop it. */
export function QueryPage() {
  const { query = '' } = useParams({ strict: false }) as { query?: string };
  return <OneQuery key={query} id={query} />;
}

function OneQuery({ id }: { readonly id: string }) {
  const { org, ws, to, workspace } = useWorkspace();
  const path = { query_id: id };
  const queryRun = useRead(
    ['query', id],
    (api) => api.GET('/api/v2/queries/{query_id}', { params: { path, query: { include: 'created_by' } } }),
    { everyMs: readAgainMs, asLongAs: ({ data }) => data !== null && isUnderWay(data) },
  );
  const run = queryRun.data?.data ?? undefined;
  return (
    <ToolRunPage
      title={`Query of ${ws}`}
      crumbs={[
        { label: 'Organizations', to: '/' },
        { label: org, to: `/organizations/${org}` },
        { label: ws, to },
        { label: 'Queries', to: `${to}/queries` },
        { label: id },
      ]}
      query={queryRun}
      run={run}
      logPath={`queries/${id}/logs`}
      forbidden={mayQuery(workspace)}
      cancel={(api) => api.POST('/api/v2/queries/{query_id}/actions/cancel', { params: { path } })}
      forceCancel={(api) => api.POST('/api/v2/queries/{query_id}/actions/force-cancel', { params: { path } })}
      sameBy={`queries/${id}`}
    >
      {run === undefined ? null : (
        <Facts run={run} author={includedOf(queryRun.data?.included, run.relationships['created-by'])} />
      )}
    </ToolRunPage>
  );
}

function Facts({
  run: { attributes },
  author,
}: {
  readonly run: Resource<'QueriesResource'>;
  readonly author: Resource<'UsersResource'> | undefined;
}) {
  return (
    <>
      <dt>By</dt>
      <dd>{author?.attributes.username ?? 'an unknown account'}</dd>
      {attributes['infra-version'] === null ? null : (
        <>
          <dt>Terraform</dt>
          <dd>{attributes['infra-version']}</dd>
        </>
      )}
    </>
  );
}
