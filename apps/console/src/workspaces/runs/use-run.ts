import { useCallback, useEffect, useRef, useState } from 'react';
import { useEvents } from '../use-events';
import type { LiveRun } from './run-types';

/** What is told of a run while it is looked at. Logs are kept as pieces: a line may come in several. */
export interface WatchedRun {
  readonly run: LiveRun | undefined;
  readonly logs: { readonly plan: string; readonly apply: string };
  readonly live: boolean;
  readonly gone: boolean;
}

/** Follows a run: what it is, and its logs as they grow. The page is drawn at most ten times a second. */
export function useRun(id: string): WatchedRun {
  const [run, setRun] = useState<LiveRun>();
  const [gone, setGone] = useState(false);
  const [logs, setLogs] = useState({ plan: '', apply: '' });
  const pieces = useRef<{ plan: string[]; apply: string[] }>({ plan: [], apply: [] });
  const timer = useRef<ReturnType<typeof setTimeout> | undefined>(undefined);
  // biome-ignore lint/correctness/useExhaustiveDependencies: another run begins with nothing
  useEffect(() => {
    pieces.current = { plan: [], apply: [] };
    setLogs({ plan: '', apply: '' });
    setRun(undefined);
    setGone(false);
    return () => clearTimeout(timer.current);
  }, [id]);
  const draw = useCallback(() => {
    timer.current ??= setTimeout(() => {
      timer.current = undefined;
      const { plan, apply } = pieces.current;
      pieces.current = { plan: [plan.join('')], apply: [apply.join('')] };
      setLogs({ plan: pieces.current.plan[0] ?? '', apply: pieces.current.apply[0] ?? '' });
    }, 100);
  }, []);
  const live = useEvents(`runs/${id}/stream`, ({ event, data }) => {
    if (event === 'run') setRun(data as LiveRun);
    else if (event === 'gone') setGone(true);
    else if (event === 'log') {
      const { phase, text } = data as { phase: 'plan' | 'apply'; text: string };
      pieces.current[phase].push(text);
      draw();
    }
  });
  return { run, logs, live, gone };
}
