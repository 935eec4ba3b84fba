import { Refusal } from '@keystead/refusal';
import type { BackgroundCall } from '../../sdk/call';
import type { CloudTwo } from './cloud';
import { root, rootTurn } from './config-root';
import { rotateRoot } from './rotate-root';
import { nextDue, type Plan, plan } from './rotation-plan';

/** No other node tries while one may still be working. */
const claimMs = 5 * 60_000;
const firstPauseMs = 60_000;
const longestPauseMs = 3_600_000;

/**
 * Rotates the root key when it is due. Every node checks, and the first to move the time in the database does it; if it
 * dies, another follows after some minutes, and its intent finishes or undoes its work. Failures are recorded and
 * retried after a pause that doubles, within the window if there is one.
 */
export async function rotateWhenDue(cloud: CloudTwo, call: BackgroundCall): Promise<void> {
  const { storage, nowMs } = call;
  const planned = await plan.find(storage);
  if (!planned || planned.tryAtMs > nowMs) return;
  const claimed = await claim(call, planned);
  if (!claimed) return;
  try {
    await rotateRoot(cloud, call);
  } catch (error) {
    const pauseMs = Math.min(firstPauseMs * 2 ** Math.min(claimed.failures, 20), longestPauseMs);
    const lastError = error instanceof Refusal ? error.message : 'internal error';
    await conclude(call, claimed, (current) => ({
      ...current,
      tryAtMs: nowMs + pauseMs,
      failures: claimed.failures + 1,
      lastError,
    }));
    throw error;
  }
  await conclude(call, claimed, (current, dueAtMs) => ({
    ...current,
    dueAtMs,
    tryAtMs: dueAtMs,
    failures: 0,
    lastError: '',
    rotatedAtMs: nowMs,
  }));
}

/** Claims the rotation for this node; undefined if another node has it, or its window is over. */
function claim({ storage, nowMs }: BackgroundCall, planned: Plan): Promise<Plan | undefined> {
  return storage.transaction(rootTurn, async (tx) => {
    const [config, current] = [await root.find(tx), await plan.find(tx)];
    if (!config || current?.tryAtMs !== planned.tryAtMs) return undefined;
    const windowMs = config.rotation_window * 1000;
    if (windowMs > 0 && nowMs > current.dueAtMs + windowMs) {
      const dueAtMs = nextDue(config, nowMs);
      // The error stays readable: the key was not replaced.
      const lastError = current.lastError || 'the window passed without an attempt';
      if (dueAtMs !== undefined) plan.put(tx, { ...current, dueAtMs, tryAtMs: dueAtMs, lastError });
      return undefined;
    }
    const claimed = { ...current, tryAtMs: nowMs + claimMs };
    plan.put(tx, claimed);
    return claimed;
  });
}

/** Records the outcome, unless the configuration was rewritten: then the plan starts again. */
function conclude({ storage, nowMs }: BackgroundCall, claimed: Plan, after: (current: Plan, dueAtMs: number) => Plan) {
  return storage.transaction(rootTurn, async (tx) => {
    const [config, current] = [await root.find(tx), await plan.find(tx)];
    const dueAtMs = config && nextDue(config, nowMs);
    if (dueAtMs !== undefined && current?.tryAtMs === claimed.tryAtMs) plan.put(tx, after(current, dueAtMs));
  });
}
