import { exactJson } from '@keystead/envelope';
import { Link, useParams } from '@tanstack/react-router';
import { Download, List, Workflow } from 'lucide-react';
import { lazy, Suspense, useState } from 'react';
import { Button } from '../../design/button';
import { Copied } from '../../design/copy';
import { ErrorNotice } from '../../design/error-notice';
import { PageHead, SameBy, Skeleton } from '../../design/page';
import { saveFile } from '../../design/save-file';
import { Table } from '../../design/table';
import { Time } from '../../design/time';
import { useSession } from '../../shell/session';
import { organizationCrumbs, useContent, useRead } from '../api';
import { Status } from '../parts/states';
import { StateComparison } from './state-comparison';
import { ownPath, type StateFile } from './state-diff';

const StateGraph = lazy(() => import('../graph/state-graph').then((m) => ({ default: m.StateGraph })));

/** The resources of one name in a state version, with their count. */
interface Counted {
  readonly module: string;
  readonly type: string;
  readonly name: string;
  readonly count: number;
  readonly provider: string;
}

/**
 * A short name: `hashicorp/aws` for `provider["registry.terraform.io/hashicorp/aws"]`. Everything else is unchanged.
 */
const shortOf = (provider: string): string => /^provider\["[^"/]+\/([^"]+)"\]/.exec(provider)?.[1] ?? provider;

/** One state version: its contents, its creator, and its file. */
export function StateVersionPage() {
  const {
    organization: org = '',
    workspace: ws = '',
    state: id = '',
  } = useParams({ strict: false }) as Record<string, string>;
  const to = `/organizations/${org}/workspaces/${ws}`;
  const found = useRead(['state-version', id], (api) =>
    api.GET('/api/v2/state-versions/{state_version_id}', { params: { path: { state_version_id: id } } }),
  );
  const state = found.data?.data;
  const run = state?.relationships.run.data?.id;
  const others = useStatesBefore(org, ws, state?.attributes.serial);
  const [against, setAgainst] = useState<string>();
  const older = others.find((one) => one.id === against);
  const [asGraph, setAsGraph] = useState(false);
  const file = ownPath(state?.attributes['hosted-state-download-url'] ?? null);
  const resources = (state?.attributes.resources ?? []) as readonly Counted[];
  return (
    <div className="stack">
      <PageHead
        title={state == null ? id : `State ${state.attributes.serial}`}
        crumbs={organizationCrumbs(org, { label: ws, to }, { label: 'States', to: `${to}/states` }, { label: id })}
        state={state == null ? undefined : <Status status={state.attributes.status} />}
        actions={
          others[0] === undefined ? undefined : (
            <Button onClick={() => setAgainst(others[0]!.id)}>Compare with {others[0].attributes.serial}</Button>
          )
        }
      />
      <ErrorNotice error={found.error} onRetry={() => void found.refetch()} />
      {state == null ? (
        found.error === null ? (
          <Skeleton />
        ) : null
      ) : (
        <>
          <dl className="facts">
            <dt>ID</dt>
            <dd>
              <Copied text={id} what="state version ID" />
            </dd>
            <dt>Created</dt>
            <dd>
              <Time at={state.attributes['created-at']} />
            </dd>
            <dt>Run</dt>
            <dd>
              {run === undefined ? <span className="second">none</span> : <Link to={`${to}/runs/${run}`}>{run}</Link>}
            </dd>
            <dt>Terraform version</dt>
            <dd>{state.attributes['infra-version'] ?? '–'}</dd>
            <dt>Lineage</dt>
            <dd>
              <code>{state.attributes.lineage}</code>
            </dd>
            <dt>Size</dt>
            <dd>{state.attributes.size?.toLocaleString('en')} bytes</dd>
          </dl>
          {older === undefined ? null : (
            <StateComparison
              older={older}
              newer={state}
              choices={others}
              onChoose={setAgainst}
              onClose={() => setAgainst(undefined)}
            />
          )}
          <section className="stack-tight" aria-labelledby="resources">
            <div className="panel-head">
              <h2 id="resources">Resources</h2>
              {file === undefined || resources.length === 0 ? null : (
                <Button small icon={asGraph ? List : Workflow} onClick={() => setAsGraph(!asGraph)}>
                  {asGraph ? 'Show as list' : 'Show as graph'}
                </Button>
              )}
            </div>
            {resources.length === 0 ? (
              <p className="second">The state has no resources.</p>
            ) : asGraph && file !== undefined ? (
              <Suspense fallback={<Skeleton />}>
                <StateGraph address={file} />
              </Suspense>
            ) : (
              <Table
                label="Resources"
                rows={resources}
                keyOf={({ module, type, name }) => `${module} ${type} ${name}`}
                narrow="stacked"
                columns={[
                  { head: 'Module', cell: ({ module }) => module, sortBy: ({ module }) => module },
                  {
                    head: 'Resource',
                    cell: ({ type, name }) => <code>{`${type}.${name}`}</code>,
                    sortBy: ({ type, name }) => `${type}.${name}`,
                  },
                  {
                    head: 'Instances',
                    className: 'number',
                    cell: ({ count }) => count.toLocaleString('en'),
                    sortBy: ({ count }) => count,
                  },
                  { head: 'Provider', className: 'wide-only', cell: ({ provider }) => shortOf(provider) },
                ]}
              />
            )}
          </section>
          <File address={file} name={`${ws}-${state.attributes.serial}`} />
        </>
      )}
      <SameBy
        api={`GET /api/v2/state-versions/${id}`}
        command={`keystead state pull -organization=${org} -workspace=${ws} ${id}`}
      />
    </div>
  );
}

/** The states of a workspace with lower serials, newest first. */
function useStatesBefore(org: string, ws: string, serial: number | undefined) {
  const query = { 'filter[organization][name]': org, 'filter[workspace][name]': ws, 'page[size]': 100 };
  const { data } = useRead(
    ['state-versions', query],
    (api) => api.GET('/api/v2/state-versions', { params: { query } }),
    { enabled: serial !== undefined },
  );
  return (data?.data ?? []).filter(({ attributes }) => attributes.serial < (serial ?? 0));
}

/** The file, which can contain secrets: shown and downloaded only on request. */
function File({ address, name }: { readonly address: string | undefined; readonly name: string }) {
  const { transport } = useSession();
  const [shown, setShown] = useState(false);
  const [failure, setFailure] = useState<unknown>();
  const content = useContent<StateFile>(shown ? address : undefined);
  if (address === undefined) return null;
  const download = async () => {
    const file = await transport.call('GET', `/api/v2/${address}`);
    saveFile(`${name}.tfstate`, exactJson(file, 2), 'application/json');
  };
  return (
    <section className="stack-tight" aria-labelledby="file">
      <div className="panel-head">
        <h2 id="file">State file</h2>
        <div className="row">
          <Button small onClick={() => setShown(!shown)}>
            {shown ? 'Hide JSON' : 'Show JSON'}
          </Button>
          <Button small icon={Download} onClick={() => void download().catch(setFailure)}>
            Download
          </Button>
        </div>
      </div>
      <p className="second small">A state can hold secrets in plain text.</p>
      <ErrorNotice error={content.error ?? failure} />
      {shown && content.data !== undefined ? <pre className="readme">{exactJson(content.data, 2)}</pre> : null}
    </section>
  );
}
