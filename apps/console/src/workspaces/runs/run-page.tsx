import { useQueryClient } from '@tanstack/react-query';
import { Link, useParams } from '@tanstack/react-router';
import { useEffect, useState, useSyncExternalStore } from 'react';
import { Badge } from '../../design/badge';
import { Copied } from '../../design/copy';
import { Notice } from '../../design/notice';
import { PageHead, SameBy, Skeleton } from '../../design/page';
import { TabList } from '../../design/tab-list';
import { Table } from '../../design/table';
import { Time } from '../../design/time';
import { useSession } from '../../shell/session';
import { includedOf, useOrganization, useRead } from '../api';
import { useAddress } from '../filters';
import { Status } from '../parts/states';
import type { Log } from './log';
import { LogView } from './log-view';
import { PhaseBar } from './phase-bar';
import { ResourceTree } from './resource-tree';
import { RunActions } from './run-actions';
import { RunChecks } from './run-checks';
import { RunData } from './run-data';
import { RunProblems } from './run-problems';
import { kindOf, type LiveRun, sources, titleOf } from './run-types';
import { Timeline } from './timeline';
import { type RunLogs, useRun } from './use-run';

const views = ['resources', 'plan log', 'apply log', 'inputs', 'access', 'data'] as const;
type RunView = (typeof views)[number];

/** One run, updated live. */
export function RunPage() {
  const {
    organization: org = '',
    workspace: ws = '',
    run: id = '',
  } = useParams({ strict: false }) as Record<string, string>;
  const [opened, setOpened] = useState(0);
  // A stream that has ended sends no more events, so it is opened again.
  return <OneRun key={`${id} ${opened}`} org={org} ws={ws} id={id} onChanged={() => setOpened(opened + 1)} />;
}

function OneRun({
  org,
  ws,
  id,
  onChanged,
}: {
  readonly org: string;
  readonly ws: string;
  readonly id: string;
  readonly onChanged: () => void;
}) {
  const { run, logs, live, isDeleted } = useRun(id);
  const whole = useRead(['run', id], (api) =>
    api.GET('/api/v2/runs/{run_id}', { params: { path: { run_id: id }, query: { include: 'created_by' } } }),
  );
  const author = includedOf(whole.data?.included, whole.data?.data?.relationships['created-by']);
  const queries = useQueryClient();
  const events = run?.events;
  // biome-ignore lint/correctness/useExhaustiveDependencies: events are read again when the run changes
  useEffect(() => {
    void queries.invalidateQueries({ queryKey: ['api', 'runs', id] });
  }, [events, id, queries]);
  const to = `/organizations/${org}/workspaces/${ws}`;
  return (
    <div className="stack">
      <PageHead
        title={run === undefined ? id : titleOf(run, id)}
        crumbs={[
          { label: 'Organizations', to: '/' },
          { label: org, to: `/organizations/${org}` },
          { label: ws, to },
          { label: 'Runs', to: `${to}/runs` },
          { label: id },
        ]}
        state={
          run === undefined ? undefined : (
            <span role="status" aria-label="Status of the run">
              <Status status={run.status} />
            </span>
          )
        }
        actions={run === undefined ? undefined : <RunActions run={run} />}
      >
        {run === undefined ? null : (
          <p className="row second small">
            <Copied text={id} what="run id" />
            <span>{kindOf(run)}</span>
            <span>
              by {author?.attributes.username ?? 'an unknown account'}, from the {sources.get(run.source) ?? run.source}{' '}
              <Time at={run['created-at']} />
            </span>
            {run['infra-version'] === null ? null : <span>Terraform {run['infra-version']}</span>}
            {live ? <Badge tone="accent">live</Badge> : null}
          </p>
        )}
      </PageHead>
      {isDeleted ? <Notice tone="red">The run was deleted.</Notice> : null}
      {whole.error !== null && run === undefined ? <Notice tone="red">{whole.error.message}</Notice> : null}
      {run === undefined ? (
        isDeleted || whole.error !== null ? null : (
          <Skeleton rows={8} />
        )
      ) : (
        <Body run={run} logs={logs} onChanged={onChanged} />
      )}
      <SameBy
        api={`curl -N -H "Authorization: Bearer $TOKEN" -H "Accept: text/event-stream" ${location.origin}/api/v2/runs/${id}/stream`}
        command={`keystead run show ${id}`}
      />
    </div>
  );
}

function Body({
  run,
  logs,
  onChanged,
}: {
  readonly run: LiveRun;
  readonly logs: RunLogs;
  readonly onChanged: () => void;
}) {
  const { config } = useSession();
  const organization = useOrganization();
  const managesData =
    config.edition === 'self-hosted' && organization.data?.data?.attributes.permissions['can-destroy'] === true;
  const [{ view: requestedView }] = useAddress<{ view?: RunView }>();
  const [plan, apply] = run.phases;
  const isPlanned = plan?.status === 'finished';
  const usual: RunView = isPlanned ? 'resources' : 'plan log';
  const view = requestedView ?? usual;
  return (
    <>
      <PhaseBar run={run} />
      <RunProblems run={run} logs={logs} />
      <RunChecks id={run.id} />
      {run.actions['is-confirmable'] && !run['plan-only'] ? (
        <Notice tone="amber">
          You cannot apply this plan. It waits until someone with apply permission confirms it.
        </Notice>
      ) : null}
      {run['plan-only'] && isPlanned ? (
        <Notice>
          A speculative plan: it cannot be applied. To apply, start a run with <code>terraform apply</code>, or with New
          run on the workspace’s page.
        </Notice>
      ) : null}
      {isPlanned ? <Counts run={run} /> : null}
      <div className="columns">
        <div className="stack">
          <Views
            chosen={view}
            views={views.filter((one) =>
              one === 'apply log' ? !run['plan-only'] : one === 'data' ? managesData : true,
            )}
          />
          {view === 'resources' ? (
            isPlanned ? (
              plan['data-hidden-at'] === null ? (
                <Resources run={run} planId={plan.id} log={logs.apply} />
              ) : (
                <Notice>
                  The results and the log of this plan were hidden <Time at={plan['data-hidden-at']} />.
                </Notice>
              )
            ) : (
              <p className="second">The plan has not finished; its log shows the progress.</p>
            )
          ) : null}
          {view === 'plan log' ? (
            <LogView key="plan" log={logs.plan} label="Log of the plan" live={plan?.status === 'running'} />
          ) : null}
          {view === 'apply log' ? (
            <LogView key="apply" log={logs.apply} label="Log of the apply" live={apply?.status === 'running'} />
          ) : null}
          {view === 'inputs' ? <Inputs run={run} /> : null}
          {view === 'access' ? <RunAccess run={run} /> : null}
          {view === 'data' && managesData ? <RunData run={run} onChanged={onChanged} /> : null}
        </div>
        <aside>
          <Timeline run={run} />
        </aside>
      </div>
    </>
  );
}

function Resources({ run, planId, log }: { readonly run: LiveRun; readonly planId: string; readonly log: Log }) {
  const progress = useSyncExternalStore(log.subscribe, () => log.progress);
  const [, apply] = run.phases;
  const hasEnded = apply !== undefined && endings.has(apply.status) && apply['log-bytes'] > 0;
  return (
    <ResourceTree
      planId={planId}
      progress={progress}
      ended={hasEnded ? { applyId: apply.id, failed: apply.status !== 'finished' } : undefined}
    />
  );
}

/** The result of an apply, if it has started. */
const endings: ReadonlySet<string> = new Set(['finished', 'errored', 'canceled']);

/** The changes that the plan will make; after the apply, the changes that were made. */
function Counts({ run: { phases } }: { readonly run: LiveRun }) {
  const [plan, apply] = phases;
  const isDone = apply?.status === 'finished' && apply['resource-additions'] !== null;
  const phase = isDone ? apply : plan;
  const all = [
    ['added', '+', phase?.['resource-additions'], 'create', 'created'],
    ['changed', '~', phase?.['resource-changes'], 'change', 'changed'],
    ['removed', '−', phase?.['resource-destructions'], 'destroy', 'destroyed'],
    ['second', '⇥', phase?.['resource-imports'], 'import', 'imported'],
  ] as const;
  return (
    <p className="row counts">
      {all.map(([tone, mark, count, verb, done]) =>
        verb === 'import' && !count ? null : (
          <span key={verb} className={tone}>
            {mark}
            {count ?? 0} {isDone ? done : verb}
          </span>
        ),
      )}
    </p>
  );
}

function Views({ chosen, views }: { readonly chosen: RunView; readonly views: readonly RunView[] }) {
  const [, change] = useAddress<{ view?: RunView }>();
  return (
    <TabList
      label="Parts of the run"
      tabs={views.map((tab) => ({ tab, label: tab.replace(/^./, (letter) => letter.toUpperCase()) }))}
      chosen={chosen}
      onChange={(view) => change({ view })}
    />
  );
}

function Inputs({ run }: { readonly run: LiveRun }) {
  const { organization: org, workspace: ws } = useParams({ strict: false }) as Record<string, string>;
  const lists = [
    ['Targets', run['target-addrs']],
    ['Replaces', run['replace-addrs']],
    ['Tries', run['module-versions'].map(({ source, version }) => `${source} ${version}`)],
  ] as const;
  return (
    <div className="stack">
      <dl className="facts">
        <dt>Type</dt>
        <dd>{kindOf(run)}</dd>
        <dt>Auto apply</dt>
        <dd>{run['auto-apply'] ? 'yes' : 'no'}</dd>
        <dt>Version</dt>
        <dd>{run['infra-version'] ?? 'that of the workspace'}</dd>
        {lists.map(([name, all]) =>
          all === null || all.length === 0 ? null : (
            <div key={name} className="contents">
              <dt>{name}</dt>
              <dd>
                {all.map((address) => (
                  <div key={address}>
                    <code>{address}</code>
                  </div>
                ))}
              </dd>
            </div>
          ),
        )}
      </dl>
      <p>
        <Link to={`/organizations/${org}/workspaces/${ws}/variables`}>Its variables, and where each comes from</Link>
      </p>
    </div>
  );
}

function RunAccess({ run }: { readonly run: LiveRun }) {
  const { config } = useSession();
  const logins = run['secrets-logins'];
  if (logins.length === 0) {
    return (
      <p className="second">
        The run got no credentials. If its workspace has a secrets-role, its plan and its apply log in at the secrets
        service, and their credentials are listed here.
      </p>
    );
  }
  return (
    <Table
      label="Access"
      rows={logins}
      keyOf={({ accessor }) => accessor}
      columns={[
        { head: 'Phase', cell: ({ phase }) => phase },
        { head: 'Token (accessor)', cell: ({ accessor }) => <Copied text={accessor} what="accessor" /> },
        { head: 'Namespace', cell: ({ namespace }) => namespace || 'root' },
        {
          head: 'Credentials',
          cell: ({ accessor }) =>
            config.other.secrets === undefined ? (
              <span className="second">ask the secrets service by the accessor</span>
            ) : (
              <a href={`${config.other.secrets}/ui/access/tokens?accessor=${encodeURIComponent(accessor)}`}>
                Token and leases
              </a>
            ),
        },
      ]}
    />
  );
}
