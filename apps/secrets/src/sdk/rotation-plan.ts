import { Refusal } from '@keystead/refusal';
import { z } from 'zod';
import { parseCron } from './cron';
import { bool, duration, string } from './fields';
import { recordFields } from './record-fields';
import { refuse } from './refuse';
import { timeText } from './time-text';

/** The fields of a configuration that say when its root credential is replaced. */
export const rotationFields = recordFields({
  rotation_period: [
    duration().describe('Time between rotations of the root credential. Cannot be combined with rotation_schedule.'),
    0,
  ],
  rotation_schedule: [
    string().describe('Cron schedule of rotations of the root credential, with five fields, in UTC.'),
    '',
  ],
  rotation_window: [
    duration().describe('How long a rotation may start after each time of rotation_schedule; at least 1h.'),
    0,
  ],
  disable_automated_rotation: [
    bool().describe('Pause automatic rotation of the root credential. Its settings are kept.'),
    false,
  ],
});
type Terms = z.output<typeof rotationFields.input>;

/** The time at which a root credential is replaced next, and the result of the last attempt. */
export const Plan = z.object({
  /** When the replacement is due by its settings. */
  dueAtMs: z.number(),
  /**
   * The time of the next attempt: the due time, or some time after a failure. During an attempt: the time from which
   * other nodes may try.
   */
  tryAtMs: z.number(),
  failures: z.number(),
  lastError: z.string(),
  rotatedAtMs: z.number().optional(),
});
export type Plan = z.output<typeof Plan>;

const shortestPeriodSeconds = 10;
const shortestWindowSeconds = 3600;

/** Refuses settings that contradict each other or never make a rotation due. */
export function checkTerms(terms: Terms, hasKey: boolean): void {
  const { rotation_period: period, rotation_schedule: schedule } = terms;
  checkWindow(terms);
  if (period > 0 && period < shortestPeriodSeconds) refuse("'rotation_period' must be at least 10s");
  if (schedule && parseCron(schedule)?.next(0) === undefined) {
    refuse(
      `'rotation_schedule' is not a cron line of five fields, or its time never comes: ${JSON.stringify(schedule)}`,
    );
  }
  if ((period > 0 || schedule) && !hasKey) refuse('only a root credential that is stored here can be rotated');
}

/** Refuses a window without a schedule, or shorter than an hour, and a schedule together with a period. */
export function checkWindow(terms: Omit<Terms, 'disable_automated_rotation'>): void {
  const { rotation_period: period, rotation_schedule: schedule, rotation_window: window } = terms;
  if (period > 0 && schedule) refuse("only one of 'rotation_period' and 'rotation_schedule' can be set");
  if (window > 0 && !schedule) refuse("'rotation_window' has no meaning without 'rotation_schedule'");
  if (window > 0 && window < shortestWindowSeconds) refuse("'rotation_window' must be at least 1h");
}

/** When the root credential is due after `nowMs`; undefined if it is not rotated automatically. */
function nextDue(terms: Terms, nowMs: number): number | undefined {
  if (terms.disable_automated_rotation) return undefined;
  if (terms.rotation_period > 0) return nowMs + terms.rotation_period * 1000;
  return terms.rotation_schedule ? parseCron(terms.rotation_schedule)?.next(nowMs) : undefined;
}

/** A plan for new settings; undefined if the credential is not rotated automatically. */
export function planned(terms: Terms, nowMs: number, rotatedAtMs?: number): Plan | undefined {
  const dueAtMs = nextDue(terms, nowMs);
  return dueAtMs === undefined ? undefined : { dueAtMs, tryAtMs: dueAtMs, failures: 0, lastError: '', rotatedAtMs };
}

/** How long an attempt may run. During this time no other node tries. */
const claimMs = 5 * 60_000;
const firstPauseMs = 60_000;
const longestPauseMs = 3_600_000;

/** Storage for a plan and its settings, which are read and changed under one lock. */
export interface PlanStore {
  /** Stores the result of `change` for the plan, if there is one; undefined leaves it unchanged. */
  change(change: (plan: Plan, terms: Terms) => Plan | undefined): Promise<unknown>;
}

/**
 * Replaces a root credential when it is due. Every node checks. The first node that moves the due time in the database
 * rotates; if it crashes, another node tries after a few minutes. Failures are recorded and retried after a pause that
 * doubles, within the rotation window if there is one.
 */
export async function rotateAsPlanned(store: PlanStore, nowMs: number, rotate: () => Promise<unknown>): Promise<void> {
  let claimed: Plan | undefined;
  await store.change((plan, terms) => {
    claimed = undefined;
    if (plan.tryAtMs > nowMs) return undefined;
    const windowMs = terms.rotation_window * 1000;
    if (windowMs === 0 || nowMs <= plan.dueAtMs + windowMs) {
      claimed = { ...plan, tryAtMs: nowMs + claimMs };
      return claimed;
    }
    const dueAtMs = nextDue(terms, nowMs);
    // Keep the error visible: the credential was not replaced this time.
    const lastError = plan.lastError || 'the window passed without an attempt';
    return dueAtMs === undefined ? undefined : { ...plan, dueAtMs, tryAtMs: dueAtMs, lastError };
  });
  if (!claimed) return;
  const { tryAtMs, failures } = claimed;
  // Changes the plan, unless the configuration was rewritten in the meantime, because then there is a new plan.
  const conclude = (after: (plan: Plan, dueAtMs: number) => Plan) =>
    store.change((plan, terms) => {
      const dueAtMs = nextDue(terms, nowMs);
      return dueAtMs === undefined || plan.tryAtMs !== tryAtMs ? undefined : after(plan, dueAtMs);
    });
  try {
    await rotate();
  } catch (error) {
    const pauseMs = Math.min(firstPauseMs * 2 ** Math.min(failures, 20), longestPauseMs);
    const lastError = error instanceof Refusal ? error.message : 'internal error';
    await conclude((plan) => ({ ...plan, tryAtMs: nowMs + pauseMs, failures: failures + 1, lastError }));
    throw error;
  }
  await conclude((plan, dueAtMs) => ({
    ...plan,
    dueAtMs,
    tryAtMs: dueAtMs,
    failures: 0,
    lastError: '',
    rotatedAtMs: nowMs,
  }));
}

export const rotationOutput = rotationFields.output.extend({
  next_rotation: z.string().nullable(),
  last_rotation: z.string().nullable(),
  rotation_failures: z.int(),
  last_rotation_error: z.string(),
});

/** Whether anything about automatic rotation is configured. */
export function hasTerms(terms: Terms): boolean {
  return Boolean(terms.rotation_period || terms.rotation_schedule || terms.disable_automated_rotation);
}

/** The settings and the state of rotation. */
export function shownRotation(terms: Terms, plan: Plan | undefined): z.output<typeof rotationOutput> {
  return {
    rotation_period: terms.rotation_period,
    rotation_schedule: terms.rotation_schedule,
    rotation_window: terms.rotation_window,
    disable_automated_rotation: terms.disable_automated_rotation,
    next_rotation: timeText(plan?.tryAtMs),
    last_rotation: timeText(plan?.rotatedAtMs),
    rotation_failures: plan?.failures ?? 0,
    last_rotation_error: plan?.lastError ?? '',
  };
}
