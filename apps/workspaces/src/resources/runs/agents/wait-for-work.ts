import type { Environment } from '../../../kernel/endpoints/environment';

/** Work that an agent asks for, and how it is given back if the answer is not delivered. */
interface WorkToTake<Work> {
  /** Takes what there is; undefined: nothing now. */
  take(): Promise<Work | undefined>;
  release(work: Work): Promise<void>;
}

/** Takes work for an agent, checking every `lookMs` for as long as it waits, and until it disconnects (`left`). */
export async function waitForWork<Work>(
  { queuedBell }: Pick<Environment, 'queuedBell'>,
  { take, release }: WorkToTake<Work>,
  { waitSeconds, lookMs, left }: { waitSeconds: number; lookMs: number; left: () => boolean },
): Promise<Work | undefined> {
  const untilMs = performance.now() + waitSeconds * 1000;
  for (;;) {
    const work = await take();
    if (work && !left()) return work;
    if (work) await release(work);
    if (left() || performance.now() + lookMs > untilMs) return undefined;
    await queuedBell.next(lookMs);
  }
}
