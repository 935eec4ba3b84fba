import { Link } from '@tanstack/react-router';
import { Button } from '../../design/button';
import { ErrorNotice } from '../../design/error-notice';
import { Notice } from '../../design/notice';
import { Empty, SameBy } from '../../design/page';
import { Time } from '../../design/time';
import { includedOf, rule, useChange, useRead } from '../api';
import { useAddress } from '../filters';
import { RemoveButton } from '../parts/remove-button';
import { ResourceTable } from '../parts/resource-table';
import { Status } from '../parts/states';
import { WorkspaceHead } from './head';
import { StateComparison, type StateVersion } from './state-comparison';
import { useWorkspace, type Workspace } from './use-workspace';

interface StatesSearch {
  readonly page?: number;
  readonly from?: string;
  readonly to?: string;
}

/** The state versions of a workspace: compare two, roll back to one, inspect refused uploads. */
export function States() {
  const { org, ws, to, workspace } = useWorkspace();
  const [search, change] = useAddress<StatesSearch>();
  const may = workspace?.attributes.permissions['can-read-state-versions'] === true;
  const query = {
    'filter[organization][name]': org,
    'filter[workspace][name]': ws,
    'page[size]': 20,
    'page[number]': search.page ?? 1,
    include: 'created_by',
  };
  const states = useRead(['state-versions', query], (api) => api.GET('/api/v2/state-versions', { params: { query } }), {
    enabled: may,
    keeps: true,
  });
  const current = workspace?.relationships['current-state-version'].data?.id;
  const [from, until] = [search.from, search.to].map((id) => states.data?.data.find((one) => one.id === id));
  return (
    <div className="stack">
      <WorkspaceHead />
      {workspace !== undefined && !may ? <p className="second">Reading states needs can-read-state-versions.</p> : null}
      {workspace === undefined ? null : <Quarantine workspace={workspace} />}
      {from !== undefined && until !== undefined ? (
        <StateComparison
          older={from}
          newer={until}
          choices={states.data?.data ?? []}
          onChoose={(id) => change({ from: id })}
          onClose={() => change({ from: undefined, to: undefined })}
        />
      ) : null}
      {may ? (
        <ResourceTable
          label="States"
          query={states}
          paged
          empty={
            <Empty command={`keystead state push -organization=${org} -workspace=${ws} terraform.tfstate`}>
              The workspace has no state yet. The first apply writes one.
            </Empty>
          }
          columns={[
            {
              head: 'Serial',
              cell: (state) => (
                <span className="row">
                  <Link to={`${to}/states/${state.id}`}>{state.attributes.serial}</Link>
                  {state.id === current ? <span className="second small">current</span> : null}
                </span>
              ),
            },
            { head: 'Status', className: 'wide-only', cell: ({ attributes }) => <Status status={attributes.status} /> },
            { head: 'When', className: 'tight', cell: ({ attributes }) => <Time at={attributes['created-at']} /> },
            {
              head: 'By',
              className: 'wide-only',
              cell: (state) => {
                const run = state.relationships.run.data;
                return run === null ? (
                  (nameOf(includedOf(states.data?.included, state.relationships['created-by'])) ??
                    state.relationships['created-by'].data?.id ??
                    '–')
                ) : (
                  <Link to={`${to}/runs/${run.id}`}>{run.id}</Link>
                );
              },
            },
            {
              head: '',
              className: 'tight',
              cell: (state) => (
                <span className="row">
                  <CompareButton
                    before={before(state)?.attributes.serial}
                    onClick={() => change({ from: before(state)?.id, to: state.id })}
                  />
                  {state.id === current || workspace === undefined ? null : (
                    <RollBack workspace={workspace} state={state} />
                  )}
                </span>
              ),
            },
          ]}
        />
      ) : null}
      <SameBy
        api={`GET /api/v2/state-versions?filter[organization][name]=${org}&filter[workspace][name]=${ws}`}
        command={`keystead state list -organization=${org} -workspace=${ws}`}
      />
    </div>
  );

  /** The state before the given state. */
  function before(state: StateVersion): StateVersion | undefined {
    const all = states.data?.data ?? [];
    return all[all.indexOf(state) + 1];
  }
}

/** The name of the creator, if it is known. */
const nameOf = (one: { readonly attributes: object } | undefined): string | undefined => {
  const { username, name } = (one?.attributes ?? {}) as { username?: string; name?: string };
  return username ?? name;
};

/** Why the caller cannot write a state here. */
const notWritable = ({ attributes: { permissions, locked } }: Workspace): string | undefined =>
  rule(permissions['can-create-state-versions'], 'can-create-state-versions') ??
  (locked ? undefined : 'Lock the workspace first, so that no one else writes its state in the meantime.');

function CompareButton({ before, onClick }: { readonly before: number | undefined; readonly onClick: () => void }) {
  return before === undefined ? null : (
    <Button small onClick={onClick}>
      Compare with {before}
    </Button>
  );
}

function RollBack({ workspace, state }: { readonly workspace: Workspace; readonly state: StateVersion }) {
  const { permissions, locked } = workspace.attributes;
  const relationships = { 'rollback-state-version': { data: { type: 'state-versions' as const, id: state.id } } };
  return (
    <RemoveButton
      label="Roll back"
      title={`Roll back to serial ${state.attributes.serial}?`}
      call={async (api) => {
        const params = { path: { workspace_id: workspace.id } };
        const body = { data: { type: 'state-versions' as const, attributes: {}, relationships } };
        const goBack = () => api.PATCH('/api/v2/workspaces/{workspace_id}/state-versions', { params, body });
        if (locked) return goBack();
        // The service accepts a state only from the holder of the lock.
        const reason = `Going back to serial ${state.attributes.serial}`;
        const lock = await api.POST('/api/v2/workspaces/{workspace_id}/actions/lock', { params, body: { reason } });
        if (!lock.response.ok) return lock;
        try {
          return await goBack();
        } finally {
          await api.POST('/api/v2/workspaces/{workspace_id}/actions/unlock', { params });
        }
      }}
      forbidden={
        rule(permissions['can-create-state-versions'], 'can-create-state-versions') ??
        (locked ? undefined : rule(permissions['can-lock'], 'can-lock'))
      }
    >
      <p>
        The state becomes a copy of that one, with a new serial. The infrastructure does not change: the next plan shows
        the differences.
      </p>
      {locked ? null : <p className="second">The workspace is locked during the rollback.</p>}
    </RemoveButton>
  );
}

function Quarantine({ workspace }: { readonly workspace: Workspace }) {
  const quarantined = useRead(
    ['quarantined-states', workspace.id],
    (api) =>
      api.GET('/api/v2/workspaces/{workspace_id}/quarantined-states', {
        params: { path: { workspace_id: workspace.id } },
      }),
    { enabled: workspace.attributes.permissions['can-read-state-versions'] },
  );
  if (quarantined.data === undefined || quarantined.data.data.length === 0) return null;
  return (
    <section className="stack-tight">
      <Notice tone="amber">
        Refused uploads are kept, so that no state is lost. Check each: make it the current state, or let it expire.
      </Notice>
      <ResourceTable
        label="Quarantined states"
        query={quarantined}
        empty={null}
        columns={[
          { head: 'Serial', className: 'tight', cell: ({ attributes }) => attributes.serial },
          { head: 'Why it was refused', cell: ({ attributes }) => attributes.reason },
          { head: 'When', className: 'tight', cell: ({ attributes }) => <Time at={attributes['created-at']} /> },
          { head: '', className: 'tight', cell: (one) => <Promote id={one.id} workspace={workspace} /> },
        ]}
      />
    </section>
  );
}

function Promote({ id, workspace }: { readonly id: string; readonly workspace: Workspace }) {
  const params = { path: { quarantined_id: id } };
  const promote = useChange((api) =>
    api.POST('/api/v2/quarantined-states/{quarantined_id}/actions/promote', { params }),
  );
  return (
    <>
      <Button small busy={promote.isPending} forbidden={notWritable(workspace)} onClick={() => promote.mutate()}>
        Make current
      </Button>
      <ErrorNotice error={promote.error} />
    </>
  );
}
