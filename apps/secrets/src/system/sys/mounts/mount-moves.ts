import { Refusal } from '@keystead/refusal';
import type { LiveMount } from '../../../kernel/mounts/mount';
import { endMount, type MountParts, refuseBelowNamespace } from './mount-changes';

interface Move {
  readonly uuid: string;
  readonly source: string;
  readonly target: string;
}

const kind = 'mount-move';

/** Moves of mounts, as jobs that any node can continue: the leases of the old path are revoked first. */
export function mountMoves(parts: MountParts) {
  const { mounts, jobs } = parts;
  jobs.define<Move>(kind, async (state) => {
    await mounts.refresh();
    const mount = mounts.find(state.uuid);
    if (mount && mount.path !== state.target) {
      await endMount(parts, mount);
      try {
        await mounts.move(mounts.find(state.uuid)!, state.target);
      } catch (error) {
        // The path is taken in the meantime, so the mount keeps its path.
        if (!(error instanceof Refusal)) throw error;
        await mounts.clean(mount);
      }
    }
    return { state, advanced: 1, finished: true };
  });
  return {
    /** Starts a move and returns its id. */
    async begin(mount: LiveMount, target: string): Promise<string> {
      refuseBelowNamespace(parts, mount.namespaceId, target);
      await mounts.taint(mount);
      const { id } = await jobs.startHere(kind, JSON.stringify([mount.namespaceId, mount.path, target]), {
        uuid: mount.uuid,
        source: mount.path,
        target,
      });
      return id;
    },
    /** A move inside a namespace. */
    async find(namespaceId: string, id: string) {
      const found = await jobs.find(id);
      // Jobs of earlier releases do not name their namespace.
      if (found?.kind !== kind || !found.key.startsWith('[')) return undefined;
      const [owner, source, target] = JSON.parse(found.key) as [string, string, string];
      if (owner !== namespaceId) return undefined;
      if (found.running) return { source, target, status: 'in-progress' };
      const stayed = !(await mounts.seek(owner, target)) && (await mounts.seek(owner, source));
      return { source, target, status: stayed ? 'failure' : 'success' };
    },
  };
}
