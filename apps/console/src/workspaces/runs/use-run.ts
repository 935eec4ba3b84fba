import { useState } from 'react';
import { useEvents } from '../use-events';
import { Log } from './log';
import type { LiveRun } from './run-types';

/** The logs of a run. */
export interface RunLogs {
  readonly plan: Log;
  readonly apply: Log;
}

/** A run that is being watched. */
export interface WatchedRun {
  readonly run: LiveRun | undefined;
  readonly logs: RunLogs;
  readonly live: boolean;
  readonly isDeleted: boolean;
}

/** Follows a run and its growing logs. To follow another run, use a new component instance. */
export function useRun(id: string): WatchedRun {
  const [run, setRun] = useState<LiveRun>();
  const [isDeleted, setIsDeleted] = useState(false);
  const [logs] = useState<RunLogs>(() => ({ plan: new Log(), apply: new Log() }));
  const live = useEvents(`runs/${id}/stream`, ({ event, data }) => {
    if (event === 'run') setRun(data as LiveRun);
    else if (event === 'gone') setIsDeleted(true);
    else if (event === 'log') {
      const { phase, text } = data as { phase: keyof RunLogs; text: string };
      logs[phase].append(text);
    }
  });
  return { run, logs, live, isDeleted };
}
