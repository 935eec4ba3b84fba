/** From when on nothing may be answered that is no longer true. */
const PROMISED_MS = 1000;
/** How long is looked. */
const WATCHED_MS = 1600;
/** An answer that takes longer is not waited for; it counts as none. */
const PATIENCE_MS = 400;

/**
 * Asks again and again from the moment something has changed, and counts the answers that were no longer true although they
 * were asked for a second after the change, or later. What is asked a second later must be right however slow the machine
 * is, because a node uses what it remembers only while it has lately heard itself.
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
 * Asks until the answer is what a change has made true. Throws when an answer to a question that was asked a second after
 * the change, or later, is still the old one, which does not depend on how fast the machine is.
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
