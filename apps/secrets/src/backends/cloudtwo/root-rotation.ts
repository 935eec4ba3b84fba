import type { BackgroundCall } from '../../sdk/call';
import { type PlanStore, rotateAsPlanned } from '../../sdk/rotation-plan';
import type { CloudTwo } from './cloud';
import { root, rootTurn } from './config-root';
import { plan } from './root-plan';
import { rotateRoot } from './rotate-root';

/** Replaces the root key when it is due. If a node stops half-way, its intent finishes or undoes the rotation. */
export async function rotateWhenDue(cloud: CloudTwo, call: BackgroundCall): Promise<void> {
  const { storage, nowMs } = call;
  const found = await plan.find(storage);
  if (!found || found.tryAtMs > nowMs) return;
  const store: PlanStore = {
    change: (change) =>
      storage.transaction(rootTurn, async (tx) => {
        const [config, before] = [await root.find(tx), await plan.find(tx)];
        const after = config && before && change(before, config);
        if (after) plan.put(tx, after);
        return after;
      }),
  };
  await rotateAsPlanned(store, nowMs, () => rotateRoot(cloud, call));
}
