import { useSyncExternalStore } from 'react';
import { Notice } from '../../design/notice';
import { useAddress } from '../filters';
import type { Log, LogError } from './log';
import type { LiveRun } from './run-types';
import type { RunLogs } from './use-run';

type LogView = 'plan log' | 'apply log' | 'log';

/** Why a run failed, from the tool's errors (resource, file, line), or why it waits. */
export function RunProblems({ run, logs }: { readonly run: LiveRun; readonly logs: RunLogs }) {
  const planned = useErrors(logs.plan);
  const applied = useErrors(logs.apply);
  const reason = run['status-reason'];
  const isErrored = run.status === 'errored';
  const isTold = isErrored && planned.length + applied.length > 0;
  return (
    <>
      {reason === null || isTold ? null : (
        <Notice tone={isErrored ? 'red' : 'amber'}>
          <span>
            {isErrored ? '' : 'Why it waits: '}
            {reason}
          </span>
          {run['position-in-queue'] > 0 ? (
            <span className="second small">{run['position-in-queue']} runs are before it.</span>
          ) : null}
        </Notice>
      )}
      {planned.map((error) => (
        <RunError key={error.line} error={error} view="plan log" />
      ))}
      {applied.map((error) => (
        <RunError key={error.line} error={error} view="apply log" />
      ))}
    </>
  );
}

/** The errors that a log reports. */
export const useErrors = (log: Log) => useSyncExternalStore(log.subscribe, () => log.errors);

/** One error of the tool, with a link to its log line. */
export function RunError({ error: { line, diagnostic }, view }: { readonly error: LogError; readonly view: LogView }) {
  const [, change] = useAddress<{ view?: string }>();
  const { summary, detail, address, range, snippet } = diagnostic;
  return (
    <Notice tone="red" alert>
      <strong>{summary}</strong>
      {address === undefined ? null : (
        <span>
          with <code>{address}</code>
        </span>
      )}
      {range === undefined ? null : (
        <span>
          on <code>{range.filename}</code> line {range.start.line}
        </span>
      )}
      {snippet?.code ? <pre className="snippet">{snippet.code}</pre> : null}
      {detail === '' ? null : <span className="said">{detail}</span>}
      <a
        className="small"
        href={`#L${line + 1}`}
        onClick={(event) => {
          event.preventDefault();
          if (view !== 'log') change({ view });
          location.hash = `L${line + 1}`;
        }}
      >
        Line {line + 1} of the {view}
      </a>
    </Notice>
  );
}
