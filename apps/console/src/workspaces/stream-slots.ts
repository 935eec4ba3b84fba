/**
 * The maximum number of streams that all pages of this browser hold at the same time. Over HTTP/1.1 a browser has six
 * connections to a service for all its windows, and each stream takes one.
 */
const slots = 3;

/**
 * Runs something that holds a stream: for any time if one of the browser's shared slots is free, otherwise only briefly
 * (`lasting` false).
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
