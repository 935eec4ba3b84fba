import { forgetCloud } from '../backends/cloudone/login';
import type { Outside } from '../registry';
import { reloadMark } from '../system/sys/mounts/plugin-reload';
import type { Modules } from './modules';

/** Clears the caches about the outside systems of a mount type when any node sends a notice. */
export function forgetOnReload(
  { storage }: Pick<Modules, 'storage'>,
  { scheduler, cloudone, cloudtwo, database, jwt, aws }: Omit<Outside, 'tokens' | 'identity' | 'system'>,
): void {
  const forgetters: Readonly<Record<string, () => void>> = {
    scheduler: () => scheduler.forgetAll(),
    nomad: () => scheduler.forgetAll(),
    cloudtwo: () => cloudtwo.forget(),
    aws() {
      cloudtwo.forget();
      aws.principals.forget();
    },
    cloudone: () => forgetCloud(cloudone),
    azure: () => forgetCloud(cloudone),
    database: () => database.databases.forgetAll(),
    jwt: () => jwt.keys.forget(),
    oidc: () => jwt.keys.forget(),
  };
  storage.changes.listen('setting', (key) => {
    if (key.startsWith(reloadMark)) forgetters[key.slice(reloadMark.length)]?.();
  });
}
