import type { Logger } from '@keystead/server';
import type { LiveMount } from '../kernel/mounts/mount';
import type { Modules } from './modules';

const EVERY_MS = 5000;
/** The minimum time between two calls for a mount that returns its next due time. Nodes differ by up to `SPREAD_MS`. */
const LEAST_MS = 1500;
const SPREAD_MS = 500;

/**
 * Calls the scheduled work of all mounts periodically, and additionally at the due times that a mount returns. A mount
 * whose last call is still running is skipped.
 */
export function runTicks({ storage, mounts, inBackground }: Modules, log: Logger): void {
  const busy = new Set<string>();
  const look = async () => {
    await mounts.refresh();
    for (const mount of mounts.all()) {
      if (!mount.backend.tick || mount.tainted || busy.has(mount.uuid)) continue;
      // Not awaited: one mount's outside system may be slow.
      void tick(mount);
    }
    return undefined;
  };
  storage.background.every('mount-ticks', EVERY_MS, look, { byTime: true });

  async function tick(mount: LiveMount): Promise<void> {
    busy.add(mount.uuid);
    const againMs = performance.now() + LEAST_MS;
    try {
      const nextAtMs = (await inBackground(mount, mount.backend.tick!)) ?? Number.POSITIVE_INFINITY;
      const inMs = Math.max(0, againMs - performance.now(), nextAtMs - storage.clock.now()) + Math.random() * SPREAD_MS;
      if (inMs < EVERY_MS) storage.background.plan(`mount-tick ${mount.uuid}`, inMs, () => again(mount.uuid));
    } catch (error) {
      if (!storage.barrier.sealed) log.warn({ err: error, mount: mount.path }, 'scheduled work failed');
    } finally {
      busy.delete(mount.uuid);
    }
  }

  async function again(uuid: string): Promise<void> {
    const mount = mounts.find(uuid);
    if (mount && !mount.tainted && !busy.has(uuid)) await tick(mount);
  }
}
