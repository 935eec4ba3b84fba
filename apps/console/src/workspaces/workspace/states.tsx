import { Link, useNavigate, useSearch } from '@tanstack/react-router';
import { useMemo, useState } from 'react';
import { Button } from '../../design/button';
import { ErrorNotice } from '../../design/error-notice';
import { CheckField } from '../../design/field';
import { Notice } from '../../design/notice';
import { Empty, SameBy, Skeleton } from '../../design/page';
import { Time } from '../../design/time';
import { document, type Item, needs, query, refOf } from '../data/documents';
import { useContent, useMany, useSend } from '../data/use-api';
import { Pager } from '../parts/pager';
import { RemoveButton } from '../parts/remove-button';
import { ResourceTable } from '../parts/resource-table';
import { Status } from '../parts/states';
import { Attributes } from '../runs/resource-tree';
import { WorkspaceHead } from './head';
import { compareStates, type StateFile } from './state-diff';
import { useWorkspace, type Workspace } from './use-workspace';

interface State {
  readonly serial: number;
  readonly size: number;
  readonly status: string;
  readonly 'created-at': string;
  readonly 'infra-version': string | null;
  readonly 'hosted-state-download-url': string | null;
}

interface Quarantined {
  readonly serial: number;
  readonly reason: string;
  readonly size: number;
  readonly 'created-at': string;
}

interface Search {
  readonly page?: number;
  readonly from?: string;
  readonly to?: string;
}

/** The states a workspace has had: two of them compared, an earlier one brought back, refused uploads to be looked at. */
export function States() {
  const { org, ws, to, workspace } = useWorkspace();
  const search = useSearch({ strict: false }) as Search;
  const navigate = useNavigate();
  const change = (more: Search) =>
    void navigate({ to: '.', search: ((old: object) => ({ ...old, ...more })) as never, replace: true });
  const may = workspace?.attributes.permissions['can-read-state-versions'] === true;
  const path = `state-versions${query({
    'filter[organization][name]': org,
    'filter[workspace][name]': ws,
    'page[size]': 20,
    'page[number]': search.page,
  })}`;
  const { data, error, refetch } = useMany<State>(may ? path : undefined);
  const current = refOf(workspace, 'current-state-version')?.id;
  const [from, until] = [search.from, search.to].map((id) => data?.data.find((one) => one.id === id));
  return (
    <div className="stack">
      <WorkspaceHead />
      {workspace !== undefined && !may ? (
        <p className="second">Who reads states needs can-read-state-versions.</p>
      ) : null}
      {workspace === undefined ? null : <Quarantine workspace={workspace} org={org} />}
      {from !== undefined && until !== undefined ? (
        <Compare
          older={from}
          newer={until}
          onClose={() => change({ from: undefined as never, to: undefined as never })}
        />
      ) : search.from === undefined ? null : (
        <Notice>Choose the state to compare with.</Notice>
      )}
      {may ? (
        <ResourceTable
          label="States"
          rows={data?.data}
          error={error}
          onRetry={() => void refetch()}
          empty={
            <Empty command={`keystead state push ${org}/${ws} terraform.tfstate`}>
              The workspace has no state yet. The first apply writes one.
            </Empty>
          }
          columns={[
            {
              head: 'Serial',
              cell: (state) => (
                <span className="row">
                  <span className="strong">{state.attributes.serial}</span>
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
                const run = refOf(state, 'run');
                return run === undefined ? (
                  (refOf(state, 'created-by')?.id ?? '–')
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
                  <Button
                    small
                    onClick={() =>
                      search.from === undefined || until
                        ? change({ from: state.id, to: undefined as never })
                        : order(state)
                    }
                  >
                    {search.from === state.id ? 'Chosen' : 'Compare'}
                  </Button>
                  {state.id === current || workspace === undefined ? null : (
                    <RollBack workspace={workspace} org={org} state={state} />
                  )}
                </span>
              ),
            },
          ]}
        />
      ) : null}
      <Pager list={data} onPage={(page) => change({ page })} />
      <SameBy api={`GET /api/v2/${path}`} command={`keystead state list ${org}/${ws}`} />
    </div>
  );

  function order(second: Item<State>): void {
    const first = data?.data.find((one) => one.id === search.from);
    if (first === undefined || first.id === second.id) return;
    const [older, newer] = first.attributes.serial < second.attributes.serial ? [first, second] : [second, first];
    change({ from: older.id, to: newer.id });
  }
}

function RollBack({
  workspace,
  org,
  state,
}: {
  readonly workspace: Workspace;
  readonly org: string;
  readonly state: Item<State>;
}) {
  const { permissions, locked } = workspace.attributes;
  const rule =
    needs(permissions, 'can-create-state-versions', org) ??
    (locked ? undefined : 'Lock the workspace first: nobody else may write its state meanwhile.');
  return (
    <RemoveButton
      label="Roll back"
      title={`Go back to serial ${state.attributes.serial}?`}
      method="PATCH"
      path={`workspaces/${workspace.id}/state-versions`}
      body={document('state-versions', {}, { 'rollback-state-version': { type: 'state-versions', id: state.id } })}
      forbidden={rule}
    >
      <p>
        The state becomes a copy of that one, with a new serial. What there is in the world stays as it is: the next
        plan shows the difference.
      </p>
    </RemoveButton>
  );
}

/** The address of a signed link, at the service that this page came from. */
const ownPath = (url: string | null): string | undefined => {
  if (url === null) return undefined;
  const { pathname, search } = new URL(url);
  return (pathname + search).replace(/^\/api\/v2\//, '');
};

function Compare({
  older,
  newer,
  onClose,
}: {
  readonly older: Item<State>;
  readonly newer: Item<State>;
  readonly onClose: () => void;
}) {
  const before = useContent<StateFile>(ownPath(older.attributes['hosted-state-download-url']));
  const after = useContent<StateFile>(ownPath(newer.attributes['hosted-state-download-url']));
  const [shows, setShows] = useState(false);
  const differences = useMemo(
    () => (before.data && after.data ? compareStates(before.data, after.data) : undefined),
    [before.data, after.data],
  );
  return (
    <section className="stack-tight boxed-section" aria-label="Comparison of two states">
      <div className="row spread">
        <h2>
          Serial {older.attributes.serial} → {newer.attributes.serial}
        </h2>
        <div className="row">
          <CheckField label="Show values" checked={shows} onChange={setShows} />
          <Button small onClick={onClose}>
            Close
          </Button>
        </div>
      </div>
      <ErrorNotice error={before.error ?? after.error} />
      {differences === undefined ? before.error === null && after.error === null ? <Skeleton /> : null : null}
      {differences?.length === 0 ? <p>Nothing differs but the serial.</p> : null}
      <ul className="changes">
        {differences?.map(({ address, kind, attributes }) => (
          <li key={address}>
            <details className="change">
              <summary>
                <span className={`mark ${kind}`} aria-hidden="true">
                  {{ added: '+', removed: '−', changed: '~' }[kind]}
                </span>
                <code>{address}</code>
                <span className="second small">{kind}</span>
              </summary>
              {shows ? (
                <Attributes all={attributes} />
              ) : (
                <p className="second small">
                  {attributes.map(({ path }) => path).join(', ') || 'nothing'}; the values are hidden.
                </p>
              )}
            </details>
          </li>
        ))}
      </ul>
    </section>
  );
}

function Quarantine({ workspace, org }: { readonly workspace: Workspace; readonly org: string }) {
  const may = workspace.attributes.permissions['can-read-state-versions'] === true;
  const { data } = useMany<Quarantined>(may ? `workspaces/${workspace.id}/quarantined-states` : undefined);
  if (data === undefined || data.data.length === 0) return null;
  return (
    <section className="stack-tight">
      <Notice tone="amber">
        Uploads that were refused are kept, so that no state is lost. Look at each: make it the current state, or let it
        expire.
      </Notice>
      <ResourceTable
        label="Quarantined states"
        rows={data.data}
        empty={null}
        columns={[
          { head: 'Serial', className: 'tight', cell: ({ attributes }) => attributes.serial },
          { head: 'Why it was refused', cell: ({ attributes }) => attributes.reason },
          { head: 'When', className: 'tight', cell: ({ attributes }) => <Time at={attributes['created-at']} /> },
          { head: '', className: 'tight', cell: (one) => <Promote one={one} workspace={workspace} org={org} /> },
        ]}
      />
    </section>
  );
}

function Promote({
  one,
  workspace,
  org,
}: {
  readonly one: Item<Quarantined>;
  readonly workspace: Workspace;
  readonly org: string;
}) {
  const { permissions, locked } = workspace.attributes;
  const promote = useSend(() => ({ method: 'POST', path: `quarantined-states/${one.id}/actions/promote` }));
  return (
    <>
      <Button
        small
        busy={promote.busy}
        forbidden={
          needs(permissions, 'can-create-state-versions', org) ?? (locked ? undefined : 'Lock the workspace first.')
        }
        onClick={() => promote.run()}
      >
        Make current
      </Button>
      <ErrorNotice error={promote.error} />
    </>
  );
}
