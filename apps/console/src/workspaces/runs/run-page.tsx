import { useQueryClient } from '@tanstack/react-query';
import { Link, useParams } from '@tanstack/react-router';
import { useEffect, useSyncExternalStore } from 'react';
import { Badge } from '../../design/badge';
import { Copied } from '../../design/copy';
import { Notice } from '../../design/notice';
import { PageHead, SameBy, Skeleton } from '../../design/page';
import { Table } from '../../design/table';
import { Time } from '../../design/time';
import { useSession } from '../../shell/session';
import { includedOf, useRead } from '../api';
import { useAddress } from '../filters';
import { Status } from '../parts/states';
import type { Log } from './log';
import { LogView } from './log-view';
import { PhaseBar } from './phase-bar';
import { ResourceTree } from './resource-tree';
import { RunActions } from './run-actions';
import { RunChecks } from './run-checks';
import { RunProblems } from './run-problems';
import { kindOf, type LiveRun, sources, titleOf } from './run-types';
import { Timeline } from './timeline';
import { type RunLogs, useRun } from './use-run';

const views = ['resources', 'plan log', 'apply log', 'inputs', 'access'] as const;
type RunView = (typeof views)[number];

/** One run, updated live. */
export function RunPage() {
  const {
    organization: org = '',
    workspace: ws = '',
    run: id = '',
  } = useParams({ strict: false }) as Record<string, string>;
  return <OneRun key={id} org={org} ws={ws} id={id} />;
}

function OneRun({ org, ws, id }: { readonly org: string; readonly ws: string; readonly id: string }) {
  const { run, logs, live, gone } = useRun(id);
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
      {gone ? <Notice tone="red">The run was deleted.</Notice> : null}
      {whole.error !== null && run === undefined ? <Notice tone="red">{whole.error.message}</Notice> : null}
      {run === undefined ? gone || whole.error !== null ? null : <Skeleton rows={8} /> : <Body run={run} logs={logs} />}
      <SameBy
        api={`curl -N -H "Authorization: Bearer $TOKEN" -H "Accept: text/event-stream" ${location.origin}/api/v2/runs/${id}/stream`}
        command={`keystead run show ${id}`}
      />
    </div>
  );
}

function Body({ run, logs }: { readonly run: LiveRun; readonly logs: RunLogs }) {
  const [{ view: asked }] = useAddress<{ view?: RunView }>();
  const [plan, apply] = run.phases;
  const isPlanned = plan?.status === 'finished';
  const usual: RunView = isPlanned ? 'resources' : 'plan log';
  const view = asked ?? usual;
  return (
    <>
      <PhaseBar run={run} />
      <RunProblems run={run} logs={logs} />
      <RunChecks id={run.id} />
      {run.actions['is-confirmable'] && !run['plan-only'] ? (
        <Notice tone="amber">The plan waits for someone who may apply it to confirm it.</Notice>
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
          <Views chosen={view} views={run['plan-only'] ? views.filter((one) => one !== 'apply log') : views} />
          {view === 'resources' ? (
            isPlanned ? (
              <Resources planId={plan.id} log={logs.apply} />
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
        </div>
        <aside>
          <Timeline run={run} />
        </aside>
      </div>
    </>
  );
}

function Resources({ planId, log }: { readonly planId: string; readonly log: Log }) {
  const progress = useSyncExternalStore(log.subscribe, () => log.progress);
  return <ResourceTree planId={planId} progress={progress} />;
}

function Counts({ run: { phases } }: { readonly run: LiveRun }) {
  const [plan] = phases;
  const all = [
    ['added', '+', plan?.['resource-additions'], 'create'],
    ['changed', '~', plan?.['resource-changes'], 'change'],
    ['removed', '−', plan?.['resource-destructions'], 'destroy'],
    ['second', '⇥', plan?.['resource-imports'], 'import'],
  ] as const;
  return (
    <p className="row counts">
      {all.map(([tone, mark, count, verb]) =>
        verb === 'import' && !count ? null : (
          <span key={verb} className={tone}>
            {mark}
            {count ?? 0} {verb}
          </span>
        ),
      )}
    </p>
  );
}

function Views({ chosen, views }: { readonly chosen: RunView; readonly views: readonly RunView[] }) {
  const [, change] = useAddress<{ view?: RunView }>();
  return (
    <div className="tabs" role="tablist" aria-label="Parts of the run">
      {views.map((view) => (
        <button key={view} type="button" role="tab" aria-selected={view === chosen} onClick={() => change({ view })}>
          {view.replace(/^./, (letter) => letter.toUpperCase())}
        </button>
      ))}
    </div>
  );
}

function Inputs({ run }: { readonly run: LiveRun }) {
  const { organization: org, workspace: ws } = useParams({ strict: false }) as Record<string, string>;
  const lists = [
    ['Targets', run['target-addrs']],
    ['Replaces', run['replace-addrs']],
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
          all === null ? null : (
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
        <Link to={`/organizations/${org}/workspaces/${ws}/variables`}>
          What its variables are, and where each comes from
        </Link>
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
        The run was given no credentials. Where its workspace has a secrets-role, its plan and its apply log in at the
        secrets service, and their credentials are listed here.
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
          head: 'What it was given',
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
