import type { Kernel } from './kernel';
import { type RequestFacts, Trail } from './trail';

/**
 * The requests that this node is carrying out, oldest first. They are remembered by the clock that looks after all that
 * wait: a table of their own would keep them from the quick collections of garbage.
 */
export function inFlight({
  silence,
  clock,
  timeoutSeconds,
}: Kernel): (RequestFacts & { readonly startedAtMs: number })[] {
  const nowMs = clock.now();
  return silence.waitingFor().flatMap(({ about, leftMs }) => {
    if (!(about instanceof Trail)) return [];
    return [{ ...about.facts(), startedAtMs: Math.round(nowMs - (timeoutSeconds * 1000 - leftMs)) }];
  });
}
