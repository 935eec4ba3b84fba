import type { FuzzPlan, FuzzReport } from './fuzz';

const long = process.env.KEYSTEAD_LONG === '1';
const {
  KEYSTEAD_FUZZ_SEED: seed,
  KEYSTEAD_FUZZ_REQUESTS: requests,
  KEYSTEAD_FUZZ_MINUTES: minutes,
  KEYSTEAD_FUZZ_DETAILS: details,
} = process.env;

/**
 * How much to send to a service: a few thousand requests, always the same ones; with --long a million, different each
 * time. `KEYSTEAD_FUZZ_SEED` and `KEYSTEAD_FUZZ_REQUESTS` override that, for example to repeat a run;
 * `KEYSTEAD_FUZZ_MINUTES` ends it early; `KEYSTEAD_FUZZ_DETAILS` shows why operations never succeeded.
 */
export function fuzzPlan(service: string): FuzzPlan {
  return {
    seed: seed ?? (long ? `${service}-${Date.now()}` : `${service}-20261122`),
    requests: Number(requests ?? (long ? 1_000_000 : 3000)),
    minutes: minutes === undefined ? undefined : Number(minutes),
    programs: long ? 2 : 1,
    // The short form uses the same number of callers every time, so that every run sends the same requests and a run
    // that passed once passes again.
    callersEach: long ? 12 : 2,
    details: details !== undefined,
  };
}

/**
 * The share of operations that must succeed at least once. Below this a run would prove little; a short run reaches
 * less than a long one.
 */
export function reaches({ operations, neverGood, sent }: FuzzReport): { share: number; least: number } {
  return { share: 1 - neverGood.length / operations, least: sent < 10_000 ? 0.45 : sent < 200_000 ? 0.75 : 0.85 };
}

/** Whether the service's memory had stopped growing half way. A short run cannot show that. */
export function isFlat({ sent, residentMb }: FuzzReport): boolean {
  return sent < 200_000 || residentMb.end <= residentMb.middle * 1.15 + 30;
}
