/** How long setting up, ending, and putting a database back may take: far longer than they do, however busy the machine is. */
export const STEP_LIMIT_MS = 60_000;
/** A process that says nothing for so long is stuck where no timer reaches it. Longer than any step inside of it may take. */
export const SILENCE_LIMIT_MS = 240_000;

/** A step did not end in the time it was given. */
export class TooLong extends Error {}

const state: { beat: () => void } = { beat: () => undefined };

/** From now on this is called whenever a step begins. */
export function onStep(beat: () => void): void {
  state.beat = beat;
}

/** Runs a step, and stops waiting for it when its time is over; what it does afterwards does not count. */
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
