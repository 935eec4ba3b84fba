import { single } from '../../sdk/collection';
import { Plan, planned } from '../../sdk/rotation-plan';
import type { Storage } from '../../sdk/storage';

/** When the root key will be rotated next. */
export const plan = single('config/root-rotation', Plan);

/** Plans the next rotation, if any, after the schedule or the key has changed. */
export function replan(
  storage: Storage,
  terms: Parameters<typeof planned>[0],
  nowMs: number,
  rotatedAtMs?: number,
): void {
  const next = planned(terms, nowMs, rotatedAtMs);
  if (next) plan.put(storage, next);
  else plan.delete(storage);
}
