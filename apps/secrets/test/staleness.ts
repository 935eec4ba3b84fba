/** After this time no answer may be outdated. */
const PROMISED_MS = 1000;
/** How long to ask. */
const WATCHED_MS = 1600;
/** The longest wait for an answer; a slower answer is treated as none. */
const PATIENCE_MS = 400;

/**
 * Asks repeatedly after a change, and counts outdated answers to requests sent a second or more after it. These must be
 * right on the slowest machine, because a node uses its caches only while it receives its heartbeats.
 */
export async function staleAnswers(ask: () => Promise<boolean>): Promise<{ stale: number; asked: number }> {
  const changedMs = performance.now();
  let stale = 0;
  let asked = 0;
  for (;;) {
    const sinceMs = performance.now() - changedMs;
    if (sinceMs > WATCHED_MS && asked > 0) return { stale, asked };
    let timer: NodeJS.Timeout | undefined;
    const patience = new Promise<undefined>((resolve) => {
      timer = setTimeout(() => resolve(undefined), PATIENCE_MS);
    });
    const upToDate = await Promise.race([ask(), patience]);
    clearTimeout(timer);
    if (sinceMs >= PROMISED_MS) {
      asked++;
      if (upToDate === false) stale++;
    }
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}

/**
 * Asks until the answer shows a change. Throws if the answer to a request sent a second or more after the change is
 * still the old one, however slow the machine is.
 */
export async function upToDateInTime(ask: () => Promise<boolean>): Promise<void> {
  const changedMs = performance.now();
  for (;;) {
    const sinceMs = performance.now() - changedMs;
    if (await ask()) return;
    if (sinceMs >= PROMISED_MS)
      throw new Error(`asked ${sinceMs} ms after the change, and answered what was before it`);
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}
