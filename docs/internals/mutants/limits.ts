/**
 * The time limit for setting up, tearing down, and restoring a database: far longer than needed, even on a busy
 * machine.
 */
export const STEP_LIMIT_MS = 60_000;
/** A process that is silent for this long is in an endless loop. Longer than any of its steps may take. */
export const SILENCE_LIMIT_MS = 240_000;

/** A step exceeded its time limit. */
export class TooLong extends Error {}

const state: { beat: () => void } = { beat: () => undefined };

/** Sets a function to call whenever a step begins. */
export function onStep(beat: () => void): void {
  state.beat = beat;
}

/** Runs a step, and stops waiting for it at its time limit; its later effects are ignored. */
export async function within<T>(limitMs: number, what: string, step: () => T | Promise<T>): Promise<T> {
  state.beat();
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => reject(new TooLong(`${what} took longer than ${limitMs} ms`)), limitMs);
  });
  try {
    return await Promise.race([step(), late]);
  } finally {
    clearTimeout(timer);
  }
}
