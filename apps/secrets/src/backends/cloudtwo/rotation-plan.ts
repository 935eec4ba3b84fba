import { z } from 'zod';
import { single } from '../../sdk/collection';
import { parseCron } from '../../sdk/cron';
import { bool, duration, string } from '../../sdk/fields';
import { recordFields } from '../../sdk/record-fields';
import { refuse } from '../../sdk/refuse';
import type { Storage } from '../../sdk/storage';

/** The fields of the configuration that say when the root key is replaced. */
export const rotationFields = recordFields({
  rotation_period: [
    duration().describe('Interval after which the root key is replaced; not together with rotation_schedule.'),
    0,
  ],
  rotation_schedule: [string().describe('When the root key is replaced: a cron line of five fields, in UTC.'), ''],
  rotation_window: [
    duration().describe('How long after each time of rotation_schedule it may be tried; at least 1h.'),
    0,
  ],
  disable_automated_rotation: [bool().describe('Pauses the rotation of the root key and keeps its settings.'), false],
});
type Terms = z.output<typeof rotationFields.input>;

const Plan = z.object({
  /** When it is due, by its settings. */
  dueAtMs: z.number(),
  /** When it is tried next: when due, or some time after a failure; during an attempt, when others may try. */
  tryAtMs: z.number(),
  failures: z.number(),
  lastError: z.string(),
  rotatedAtMs: z.number().optional(),
});
export type Plan = z.output<typeof Plan>;
export const plan = single('config/root-rotation', Plan);

const shortestPeriodSeconds = 10;
const shortestWindowSeconds = 3600;

/** Refuses settings that contradict each other, or never become due. */
export function checkTerms(terms: Terms, hasKey: boolean): void {
  const { rotation_period: period, rotation_schedule: schedule, rotation_window: window } = terms;
  if (period > 0 && schedule) refuse("only one of 'rotation_period' and 'rotation_schedule' can be set");
  if (window > 0 && !schedule) refuse("'rotation_window' has no meaning without 'rotation_schedule'");
  if (window > 0 && window < shortestWindowSeconds) refuse("'rotation_window' must be at least 1h");
  if (period > 0 && period < shortestPeriodSeconds) refuse("'rotation_period' must be at least 10s");
  if (schedule && parseCron(schedule)?.next(0) === undefined) {
    refuse(
      `'rotation_schedule' is not a cron line of five fields, or its time never comes: ${JSON.stringify(schedule)}`,
    );
  }
  if ((period > 0 || schedule) && !hasKey) refuse('only a root key that is stored here can be rotated');
}

/** When the root key is due after `nowMs`; undefined if it is not rotated automatically. */
export function nextDue(terms: Terms, nowMs: number): number | undefined {
  if (terms.disable_automated_rotation) return undefined;
  if (terms.rotation_period > 0) return nowMs + terms.rotation_period * 1000;
  return terms.rotation_schedule ? parseCron(terms.rotation_schedule)?.next(nowMs) : undefined;
}

/** Stores or removes the time of the next rotation, after a change of settings or key. */
export function replan(storage: Storage, terms: Terms, nowMs: number, rotatedAtMs?: number): void {
  const dueAtMs = nextDue(terms, nowMs);
  if (dueAtMs === undefined) plan.delete(storage);
  else plan.put(storage, { dueAtMs, tryAtMs: dueAtMs, failures: 0, lastError: '', rotatedAtMs });
}

export const rotationOutput = rotationFields.output.extend({
  next_rotation: z.string().nullable(),
  last_rotation: z.string().nullable(),
  rotation_failures: z.int(),
  last_rotation_error: z.string(),
});

/** Whether automatic rotation is configured. */
export function hasTerms(terms: Terms): boolean {
  return Boolean(terms.rotation_period || terms.rotation_schedule);
}

/** The settings and the state of rotation. */
export function shownRotation(terms: Terms, planned: Plan | undefined): z.output<typeof rotationOutput> {
  const time = (ms: number | undefined) => (ms === undefined ? null : new Date(ms).toISOString());
  return {
    rotation_period: terms.rotation_period,
    rotation_schedule: terms.rotation_schedule,
    rotation_window: terms.rotation_window,
    disable_automated_rotation: terms.disable_automated_rotation,
    next_rotation: time(planned?.tryAtMs),
    last_rotation: time(planned?.rotatedAtMs),
    rotation_failures: planned?.failures ?? 0,
    last_rotation_error: planned?.lastError ?? '',
  };
}
