/**
 * The maximum number of streams that all pages of this browser hold at the same time. Over HTTP/1.1 a browser has six
 * connections to a service for all its windows, and each stream takes one.
 */
const slots = 3;

/**
 * Runs something that holds a stream: without a time limit if one of the browser's shared slots is free; otherwise only
 * for a short time (`lasting` is false).
 */
export async function withSlot<T>(run: (lasting: boolean) => Promise<T>): Promise<T> {
  for (let slot = 0; slot < slots; slot++) {
    const finished = await navigator.locks.request(`keystead-stream-${slot}`, { ifAvailable: true }, async (lock) =>
      lock === null ? undefined : { result: await run(true) },
    );
    if (finished !== undefined) return finished.result;
  }
  return run(false);
}
