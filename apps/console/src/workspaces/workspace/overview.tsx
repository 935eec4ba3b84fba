import { exactJson } from '@keystead/envelope';
import { Link } from '@tanstack/react-router';
import { useState } from 'react';
import type { AnswerTo, Resource } from '../../api/workspaces';
import { Badge } from '../../design/badge';
import { Button } from '../../design/button';
import { Copied } from '../../design/copy';
import { ErrorNotice } from '../../design/error-notice';
import { Notice } from '../../design/notice';
import { SameBy, Skeleton } from '../../design/page';
import { Time } from '../../design/time';
import { exactly, includedOf, useRead } from '../api';
import { Readme } from '../parts/readme';
import { ResourceTable } from '../parts/resource-table';
import { Status } from '../parts/states';
import { kindOf, titleOf } from '../runs/run-types';
import { FirstSteps } from './first-steps';
import { WorkspaceHead } from './head';
import { useWorkspace, type Workspace } from './use-workspace';

/** The overview of a workspace: current run, outputs, resources, readme. */
export function Overview() {
  const { org, ws, to, workspace, included } = useWorkspace();
  const run = includedOf(included, workspace?.relationships['current-run']);
  const project = includedOf(included, workspace?.relationships.project);
  const readme = includedOf(included, workspace?.relationships.readme);
  return (
    <div className="stack">
      <WorkspaceHead />
      {workspace === undefined ? (
        <Skeleton rows={6} />
      ) : (
        <div className="columns">
          <div className="stack">
            <Lock workspace={workspace} to={to} holder={includedOf(included, workspace.relationships['locked-by'])} />
            {run === undefined ? <FirstSteps org={org} ws={ws} /> : <CurrentRun run={run} to={to} />}
            <Outputs workspace={workspace} />
            <Resources workspace={workspace} />
            <Readme text={readme?.attributes['raw-markdown']} />
          </div>
          <aside>
            <Facts org={org} workspace={workspace} project={project} />
          </aside>
        </div>
      )}
      <SameBy
        api={`GET /api/v2/organizations/${org}/workspaces/${ws}`}
        command={`keystead ws show -organization=${org} ${ws}`}
      />
    </div>
  );
}

/** The names of a lock holder. */
interface Holder {
  readonly attributes: {
    readonly username?: string;
    readonly name?: string | null;
    readonly message?: string | null;
    readonly source?: string;
  };
}

function Lock({
  workspace,
  to,
  holder: included,
}: {
  readonly workspace: Workspace;
  readonly to: string;
  readonly holder: Holder | undefined;
}) {
  const { locked, 'locked-reason': reason, 'locked-at': at } = workspace.attributes;
  if (!locked) return null;
  const holder = workspace.relationships['locked-by'].data;
  return (
    <Notice tone="amber">
      <span>
        Locked <Time at={at} /> by{' '}
        {holder?.type === 'runs' ? (
          <>
            the run{' '}
            <Link to={`${to}/runs/${holder.id}`}>
              {titleOf(
                { message: included?.attributes.message ?? null, source: included?.attributes.source ?? '' },
                holder.id,
              )}
            </Link>
          </>
        ) : (
          (included?.attributes.username ?? included?.attributes.name ?? holder?.id ?? 'an unknown account')
        )}
        {reason ? `: ${reason}` : '.'}
      </span>
    </Notice>
  );
}

function CurrentRun({ run, to }: { readonly run: Resource<'RunsResource'>; readonly to: string }) {
  const { status, 'created-at': at } = run.attributes;
  return (
    <section className="stack-tight">
      <h2>Current run</h2>
      <ul className="list">
        <li>
          <Link to={`${to}/runs/${run.id}`} className="grow">
            {titleOf(run.attributes, run.id)}
          </Link>
          <span className="second small">{kindOf(run.attributes)}</span>
          <span className="second small">
            <Time at={at} />
          </span>
          <Status status={status} />
        </li>
      </ul>
    </section>
  );
}

function Outputs({ workspace }: { readonly workspace: Workspace }) {
  const may = workspace.attributes.permissions['can-read-state-outputs'];
  const has = workspace.relationships['current-state-version'].data !== null;
  const { data, error } = useRead(
    ['outputs', workspace.id],
    (_api, transport) =>
      exactly<AnswerTo<'/api/v2/workspaces/{workspace_id}/current-state-version-outputs'>>(
        transport,
        `/api/v2/workspaces/${workspace.id}/current-state-version-outputs`,
      ),
    { enabled: may && has },
  );
  if (!has) return null;
  return (
    <section className="stack-tight">
      <h2>Outputs</h2>
      {may ? null : <p className="second">Reading outputs needs can-read-state-outputs.</p>}
      <ErrorNotice error={error} />
      {data?.data.length === 0 ? <p className="second">The state has no outputs.</p> : null}
      {data === undefined || data.data.length === 0 ? null : <OutputList outputs={data.data} />}
    </section>
  );
}

const fewOutputs = 10;
const longest = 160;

/** Shows the first outputs, and all of them on request. Long values are folded, so that the list stays short. */
function OutputList({ outputs }: { readonly outputs: readonly Resource<'StateVersionOutputsResource'>[] }) {
  const [showsAll, setShowsAll] = useState(false);
  return (
    <>
      <dl className="facts boxed">
        {(showsAll ? outputs : outputs.slice(0, fewOutputs)).map(({ id, attributes: { name, value, sensitive } }) => (
          <div key={id} className="contents">
            <dt>{name}</dt>
            <dd>{sensitive ? <span className="second">(sensitive)</span> : <OutputValue value={value} />}</dd>
          </div>
        ))}
      </dl>
      {showsAll || outputs.length <= fewOutputs ? null : (
        <span>
          <Button small onClick={() => setShowsAll(true)}>
            Show all {outputs.length.toLocaleString('en')} outputs
          </Button>
        </span>
      )}
    </>
  );
}

function OutputValue({ value }: { readonly value: unknown }) {
  const text = exactJson(value);
  if (text.length <= longest) return <code>{text}</code>;
  return (
    <details>
      <summary>
        <code>{text.slice(0, longest / 2)}…</code>
      </summary>
      <pre className="pre">{exactJson(value, 2)}</pre>
    </details>
  );
}

function Resources({ workspace }: { readonly workspace: Workspace }) {
  const may = workspace.attributes.permissions['can-read-state-versions'];
  const count = workspace.attributes['resource-count'];
  const resources = useRead(
    ['resources', workspace.id],
    (api) =>
      api.GET('/api/v2/workspaces/{workspace_id}/resources', {
        params: { path: { workspace_id: workspace.id }, query: { 'page[size]': 50 } },
      }),
    { enabled: may && count > 0 },
  );
  if (count === 0) return null;
  return (
    <section className="stack-tight">
      <h2>
        Resources <span className="second">{count}</span>
      </h2>
      {may ? (
        <ResourceTable
          label="Resources"
          query={resources}
          empty={null}
          columns={[
            { head: 'Address', cell: ({ attributes }) => <code>{attributes.address}</code> },
            { head: 'Provider', cell: ({ attributes }) => attributes.provider, className: 'wide-only' },
          ]}
        />
      ) : (
        <p className="second">Listing resources needs can-read-state-versions.</p>
      )}
    </section>
  );
}

function Facts({
  org,
  workspace,
  project,
}: {
  readonly org: string;
  readonly workspace: Workspace;
  readonly project: { readonly id: string; readonly attributes: { readonly name: string } } | undefined;
}) {
  const all = workspace.attributes;
  return (
    <section className="stack-tight">
      <h2>About</h2>
      <dl className="facts">
        <dt>ID</dt>
        <dd>
          <Copied text={workspace.id} what="workspace id" />
        </dd>
        <dt>Project</dt>
        <dd>
          {project === undefined ? (
            '–'
          ) : (
            <Link to={`/organizations/${encodeURIComponent(org)}/projects/${project.id}`}>
              {project.attributes.name}
            </Link>
          )}
        </dd>
        <dt>Execution mode</dt>
        <dd>{all['execution-mode']}</dd>
        <dt>Terraform</dt>
        <dd>{all['infra-version']}</dd>
        <dt>Working directory</dt>
        <dd>{all['working-directory'] || 'the root'}</dd>
        {all['vcs-repo'] === null ? null : (
          <>
            <dt>Follows</dt>
            <dd>
              {all['vcs-repo']['display-identifier']}, {all['vcs-repo'].branch ?? 'the default branch'}
            </dd>
          </>
        )}
        <dt>Auto-apply</dt>
        <dd>{all['auto-apply'] ? 'yes' : 'no'}</dd>
        <dt>Secrets role</dt>
        <dd>{all['secrets-role'] ?? 'none'}</dd>
        <dt>Changed</dt>
        <dd>
          <Time at={all['latest-change-at']} />
        </dd>
        <dt>Tags</dt>
        <dd>
          <span className="tags">
            {all['tag-names'].length === 0 ? '–' : all['tag-names'].map((tag) => <Badge key={tag}>{tag}</Badge>)}
          </span>
        </dd>
      </dl>
    </section>
  );
}
