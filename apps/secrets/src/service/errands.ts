import type { LiveMount } from '../kernel/mounts/mount';
import type { Clock } from '../kernel/storage/types';
import { newWriteSet } from '../kernel/storage/write-set';
import { CallStorage, type StorageGround } from '../pipeline/call-storage';
import type { Errand } from '../sdk/call';

/** Runs with the storage of a mount, outside any call, and commits what was written. */
export function errands(ground: StorageGround, clock: Clock) {
  return async <T>(mount: LiveMount, run: (errand: Errand) => Promise<T>): Promise<T> => {
    const set = newWriteSet();
    const storage = new CallStorage(ground, set, mount.uuid, '');
    const result = await run({ storage, mount: mount.view, nowMs: clock.now() });
    await ground.committer.commit(set);
    return result;
  };
}
