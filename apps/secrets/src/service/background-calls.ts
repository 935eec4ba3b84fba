import type { LiveMount } from '../kernel/mounts/mount';
import type { Clock } from '../kernel/storage/types';
import { newWriteSet, unsettled, writesConfig } from '../kernel/storage/write-set';
import { CallStorage, type StorageDeps } from '../pipeline/call-storage';
import type { BackgroundCall } from '../sdk/call';

/**
 * Runs with the storage of a mount, outside any call, and commits its writes. Intents that it did not settle are
 * released, to be undone.
 */
export function backgroundCalls(
  deps: StorageDeps,
  clock: Clock,
  leases: () => { abandonIntents(intents: readonly string[]): Promise<void>; reconfigured(mountId: string): void },
) {
  return async <T>(mount: LiveMount, run: (call: BackgroundCall) => Promise<T>): Promise<T> => {
    const set = newWriteSet();
    const storage = new CallStorage(deps, set, mount.uuid, '');
    try {
      const result = await run({ storage, mount: mount.view, nowMs: clock.now() });
      await deps.committer.commit(set);
      void leases().abandonIntents(unsettled(set));
      if (writesConfig(set)) leases().reconfigured(mount.uuid);
      return result;
    } catch (error) {
      void leases().abandonIntents(set.opened);
      throw error;
    }
  };
}
