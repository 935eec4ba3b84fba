import { forgetCloud } from '../backends/cloudone/login';
import { PREFIX_MARK } from '../kernel/storage/set-notices';
import { type Outside, registry } from '../registry';
import type { ReloadPort } from '../system/sys/plugin-reload';
import type { Modules } from './modules';

/** Begins the key of the notice that tells nodes to forget what they remember of systems outside. */
const mark = 'reload/';

/** Lets all nodes forget what they remember of mounts: entries of their storage, and what systems outside have said. */
export function reloadPort({ storage, mounts }: Pick<Modules, 'storage' | 'mounts'>): ReloadPort {
  return {
    list: (namespaceId, kind) => mounts.list(namespaceId, kind),
    seek: (namespaceId, path) => mounts.seek(namespaceId, path),
    kinds: () => registry,
    async reload(those) {
      const types = new Set(those.map(({ type }) => type));
      await storage.committer.transaction(async () => {}, [
        ...those.map(({ uuid }) => ({ topic: 'entry', key: `${uuid}/${PREFIX_MARK}` }) as const),
        ...[...types].map((type) => ({ topic: 'setting', key: mark + type }) as const),
      ]);
    },
  };
}

/** Forgets what is remembered of the systems behind the mounts of a type, when any node says so. */
export function forgetOnReload(
  { storage }: Pick<Modules, 'storage'>,
  { scheduler, cloudone, cloudtwo, jwt }: Omit<Outside, 'tokens' | 'identity' | 'system'>,
): void {
  const forgetters: Readonly<Record<string, () => void>> = {
    scheduler: () => scheduler.forgetAll(),
    nomad: () => scheduler.forgetAll(),
    cloudtwo: () => cloudtwo.forget(),
    aws: () => cloudtwo.forget(),
    cloudone: () => forgetCloud(cloudone),
    azure: () => forgetCloud(cloudone),
    jwt: () => jwt.forget(),
  };
  storage.changes.listen('setting', (key) => {
    if (key.startsWith(mark)) forgetters[key.slice(mark.length)]?.();
  });
}
