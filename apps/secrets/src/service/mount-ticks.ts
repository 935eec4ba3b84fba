import type { Logger } from '@keystead/server';
import type { LiveMount } from '../kernel/mounts/mount';
import type { Modules } from './modules';

const EVERY_MS = 5000;

/** Calls the scheduled work of all mounts periodically; a mount whose last call still runs is skipped. */
export function runTicks({ storage, mounts, inBackground }: Modules, log: Logger): void {
  const busy = new Set<string>();
  const look = async () => {
    await mounts.refresh();
    for (const mount of mounts.all()) {
      if (!mount.backend.tick || mount.tainted || busy.has(mount.uuid)) continue;
      busy.add(mount.uuid);
      // Not awaited: one mount's outside system may be slow.
      void tick(mount).finally(() => busy.delete(mount.uuid));
    }
    return undefined;
  };
  storage.background.every('mount-ticks', EVERY_MS, look, { byTime: true });

  async function tick(mount: LiveMount): Promise<void> {
    try {
      await inBackground(mount, mount.backend.tick!);
    } catch (error) {
      if (!storage.barrier.sealed) log.warn({ err: error, mount: mount.path }, 'work by the clock failed');
    }
  }
}
