import type { UseQueryResult } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { Button } from '../../design/button';
import { ErrorNotice } from '../../design/error-notice';
import { Notice } from '../../design/notice';
import { type Crumb, PageHead } from '../../design/page';
import { Time } from '../../design/time';
import { type ApiCall, useChange } from '../api';
import { Loaded } from '../parts/loaded';
import { SameByApi } from '../parts/same-by-api';
import { Status } from '../parts/states';
import { LogView } from '../runs/log-view';
import { RunError, useErrors } from '../runs/run-problems';
import { useToolLog } from './use-tool-log';

/** How often a running test or query is polled. */
export const readAgainMs = 2500;

/** A test run or a query. */
interface ToolRun {
  readonly id: string;
  readonly attributes: {
    readonly status: string;
    readonly 'created-at': string;
    readonly 'error-message': string | null;
    readonly 'status-timestamps': Readonly<Record<string, string>> | null;
  };
  readonly relationships: { readonly 'canceled-by': { readonly data: object | null } };
}

export const isUnderWay = ({ attributes: { status } }: ToolRun): boolean => status === 'queued' || status === 'running';

interface Cancelable {
  readonly run: ToolRun;
  readonly forbidden: string | undefined;
  readonly cancel: ApiCall;
  readonly forceCancel: ApiCall;
}

/** One test run or query: its status, how to stop it, its result and its log. */
export function ToolRunPage({
  title,
  crumbs,
  query,
  run,
  logPath,
  sameBy,
  children,
  ...stop
}: Omit<Cancelable, 'run'> & {
  readonly title: string;
  readonly crumbs: readonly Crumb[];
  readonly query: UseQueryResult<unknown>;
  readonly run: ToolRun | undefined;
  /** The path of the log, below `/api/v2`. */
  readonly logPath: string;
  /** The path of the run, below `/api/v2`. */
  readonly sameBy: string;
  /** More details, as `dt` and `dd` elements. */
  readonly children?: ReactNode;
}) {
  return (
    <div className="stack">
      <PageHead
        title={title}
        crumbs={crumbs}
        state={
          run === undefined ? undefined : (
            <span role="status" aria-label="Status of the run">
              <Status status={run.attributes.status} />
            </span>
          )
        }
        actions={run === undefined || !isUnderWay(run) ? undefined : <CancelToolRun run={run} {...stop} />}
      />
      <Loaded query={query} rows={6}>
        {() =>
          run === undefined ? null : (
            <Output run={run} logPath={logPath}>
              {children}
            </Output>
          )
        }
      </Loaded>
      <SameByApi path={sameBy} />
    </div>
  );
}

/** Cancels a run of the tool, or force-cancels it if it does not stop. */
function CancelToolRun({ run, forbidden, cancel, forceCancel }: Cancelable) {
  const isCanceled = run.relationships['canceled-by'].data !== null;
  const stop = useChange(isCanceled ? forceCancel : cancel);
  return (
    <>
      <Button kind="danger" busy={stop.isPending} forbidden={forbidden} onClick={() => stop.mutate()}>
        {isCanceled ? 'Force cancel' : 'Cancel'}
      </Button>
      <ErrorNotice error={stop.error} />
    </>
  );
}

function Output({
  run,
  logPath,
  children,
}: {
  readonly run: ToolRun;
  readonly logPath: string;
  readonly children: ReactNode;
}) {
  const { log, isComplete, error } = useToolLog(logPath);
  const errors = useErrors(log);
  const { 'error-message': problem, 'created-at': created, 'status-timestamps': times } = run.attributes;
  const startedAt = times?.['started-at'] ?? times?.['running-at'];
  const endedAt = ['finished-at', 'errored-at', 'canceled-at'].map((name) => times?.[name]).find(Boolean);
  return (
    <>
      {problem === null ? null : (
        <Notice tone="red" alert>
          {problem}
        </Notice>
      )}
      {run.relationships['canceled-by'].data !== null && isUnderWay(run) ? (
        <Notice tone="amber">It is stopping. After a minute you can force it to stop.</Notice>
      ) : null}
      {errors.map((one) => (
        <RunError key={one.line} error={one} view="log" />
      ))}
      <dl className="facts">
        <dt>Created</dt>
        <dd>
          <Time at={created} />
        </dd>
        {startedAt === undefined ? null : (
          <>
            <dt>Started</dt>
            <dd>
              <Time at={startedAt} />
            </dd>
          </>
        )}
        {endedAt === undefined ? null : (
          <>
            <dt>Ended</dt>
            <dd>
              <Time at={endedAt} />
            </dd>
          </>
        )}
        {children}
      </dl>
      <section className="stack-tight" aria-labelledby="output">
        <h2 id="output">Output</h2>
        <ErrorNotice error={error} />
        <LogView log={log} label={`Log of ${run.id}`} live={!isComplete} />
      </section>
    </>
  );
}
