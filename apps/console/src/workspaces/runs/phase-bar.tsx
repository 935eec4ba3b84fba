import { useEffect, useState } from 'react';
import { lengthOf } from '../../design/time';
import type { LiveRun, Phase } from './run-types';

interface Step {
  readonly name: string;
  readonly state: 'done' | 'now' | 'failed' | 'later';
  readonly milliseconds: number | undefined;
}

const stamp = (times: Readonly<Record<string, string>>, ...names: readonly string[]): number | undefined => {
  const found = names.map((name) => times[name]).find((time) => time !== undefined);
  return found === undefined ? undefined : Date.parse(found);
};
const between = (from: number | undefined, to: number | undefined): number | undefined =>
  from === undefined || to === undefined ? undefined : Math.max(0, to - from);

const ends = ['finished-at', 'errored-at', 'canceled-at'];

function stepOf(name: string, phase: Phase | undefined, now: number): Step {
  const times = phase?.['status-timestamps'] ?? {};
  const startedAt = stamp(times, 'started-at');
  const milliseconds = between(startedAt, stamp(times, ...ends) ?? (phase?.status === 'running' ? now : undefined));
  const state =
    phase?.status === 'finished'
      ? 'done'
      : phase?.status === 'running'
        ? 'now'
        : ['errored', 'canceled'].includes(phase?.status ?? '')
          ? 'failed'
          : 'later';
  return { name, state, milliseconds };
}

function stepsOf(run: LiveRun, now: number): Step[] {
  const [plan, apply] = run.phases;
  const times = run['status-timestamps'] ?? {};
  const created = Date.parse(run['created-at']);
  const planned = plan?.['status-timestamps'] ?? {};
  const planBegun = stamp(planned, 'started-at');
  const planEnd = stamp(planned, ...ends);
  const confirmed = stamp(times, 'confirmed-at', 'apply-queued-at', 'discarded-at');
  const waits = run.actions['is-confirmable'];
  const queued: Step = {
    name: 'queued',
    state:
      planBegun === undefined ? (run.status.endsWith('queued') || run.status === 'pending' ? 'now' : 'failed') : 'done',
    milliseconds: between(
      created,
      planBegun ?? (run.status === 'pending' || run.status === 'plan_queued' ? now : undefined),
    ),
  };
  if (run['plan-only']) return [queued, stepOf('plan', plan, now)];
  const confirm: Step = {
    name: 'confirm',
    state: waits ? 'now' : confirmed === undefined ? 'later' : run.status === 'discarded' ? 'failed' : 'done',
    milliseconds: between(planEnd, confirmed ?? (waits ? now : undefined)),
  };
  return [queued, stepOf('plan', plan, now), confirm, stepOf('apply', apply, now)];
}

/**
 * The service stores the times of phases in whole seconds, so a phase of less than a second may begin and end at the
 * same time.
 */
const durationText = (milliseconds: number) => (milliseconds < 1000 ? 'under 1 s' : lengthOf(milliseconds));

const labels = { done: 'done', now: 'now', failed: 'not done', later: 'later' } as const;

/** The phases of a run, with their durations. */
export function PhaseBar({ run }: { readonly run: LiveRun }) {
  const [now, setNow] = useState(() => Date.now());
  const steps = stepsOf(run, now);
  const isMoving = steps.some(({ state }) => state === 'now');
  useEffect(() => {
    if (!isMoving) return undefined;
    const timer = setInterval(() => setNow(Date.now()), 1000);
    return () => clearInterval(timer);
  }, [isMoving]);
  return (
    <ol className="phases" aria-label="Phases of the run">
      {steps.map(({ name, state, milliseconds }) => (
        <li key={name} className={state} aria-current={state === 'now' ? 'step' : undefined}>
          <span className="strong">{name}</span>
          <span className="second small">
            {milliseconds === undefined ? (state === 'later' ? '–' : labels[state]) : durationText(milliseconds)}
          </span>
        </li>
      ))}
    </ol>
  );
}
