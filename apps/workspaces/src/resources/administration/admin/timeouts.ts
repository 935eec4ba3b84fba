import { invalid, text } from '@keystead/jsonapi';
import type { z } from 'zod';

/** The names of the two run limits that have a second name in clients. */
export const timeoutAliases = {
  'build-worker-plan-timeout': 'terraform-build-worker-plan-timeout',
  'build-worker-apply-timeout': 'terraform-build-worker-apply-timeout',
} as const;

/** The time limits of runs. Older and newer clients use different names for the same values. */
type TimeoutName = 'build-worker-plan-timeout' | 'build-worker-apply-timeout' | 'plan-timeout' | 'apply-timeout';

type TimeoutsOf<T> = { [Name in TimeoutName]: T };

/** The attributes of both limits, each under both of its names. */
export const timeoutsOf = <T extends z.ZodType>(shape: T): TimeoutsOf<T> => ({
  'build-worker-plan-timeout': shape,
  'build-worker-apply-timeout': shape,
  'plan-timeout': shape,
  'apply-timeout': shape,
});

/** The attributes as they are shown. */
export const shownTimeouts = <T extends string | null>(plan: T, apply: T): TimeoutsOf<T> => ({
  'build-worker-plan-timeout': plan,
  'build-worker-apply-timeout': apply,
  'plan-timeout': plan,
  'apply-timeout': apply,
});

export const timeoutText = timeoutsOf(text);

interface SentTimeouts<T> {
  readonly buildWorkerPlanTimeout?: T | undefined;
  readonly buildWorkerApplyTimeout?: T | undefined;
  readonly planTimeout?: T | undefined;
  readonly applyTimeout?: T | undefined;
}

/**
 * A body that has each limit under one name only. Throws `invalid` if the two names of a limit have different values.
 */
export function withOneName<T extends string | null, B extends SentTimeouts<T>>(body: B & SentTimeouts<T>) {
  const { buildWorkerPlanTimeout, buildWorkerApplyTimeout, planTimeout, applyTimeout, ...rest } = body;
  return {
    ...rest,
    planTimeout: one('planTimeout', planTimeout, buildWorkerPlanTimeout),
    applyTimeout: one('applyTimeout', applyTimeout, buildWorkerApplyTimeout),
  };
}

function one<T>(name: string, newer: T | undefined, older: T | undefined): T | undefined {
  if (newer !== undefined && older !== undefined && newer !== older) {
    throw invalid(name, 'must be the same as the limit under its older name');
  }
  return newer === undefined ? older : newer;
}
