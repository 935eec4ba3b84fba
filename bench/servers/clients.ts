import { type Figures, figuresOf } from '../src/figures';

/** Runs clients, each repeating its work until the time is over, and at least once. */
export async function work(clients: readonly (() => Promise<unknown>)[], seconds: number): Promise<Figures> {
  const startedAtMs = performance.now();
  const until = startedAtMs + seconds * 1000;
  const times: number[] = [];
  const run = async (once: () => Promise<unknown>) => {
    do {
      const at = performance.now();
      await once();
      times.push(performance.now() - at);
    } while (performance.now() < until);
  };
  await Promise.all(clients.map(run));
  return figuresOf(times, performance.now() - startedAtMs);
}
