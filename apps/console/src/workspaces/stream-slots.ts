/**
 * How many streams all pages of this browser hold at the same time. Over HTTP/1.1 a browser keeps six connections to a
 * service for all windows: each stream takes one from everything else.
 */
const slots = 3;

/**
 * Runs something with a stream: with one of the places that all pages of this browser share, for as long as it likes, or,
 * if none is free, for a moment (`lasting` false).
 */
export async function withSlot<T>(run: (lasting: boolean) => Promise<T>): Promise<T> {
  for (let slot = 0; slot < slots; slot++) {
    const done = await navigator.locks.request(`keystead-stream-${slot}`, { ifAvailable: true }, async (lock) =>
      lock === null ? undefined : { result: await run(true) },
    );
    if (done !== undefined) return done.result;
  }
  return run(false);
}
