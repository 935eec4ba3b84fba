import { forgetCloud } from '../backends/cloudone/login';
import type { Outside } from '../registry';
import { reloadMark } from '../system/sys/mounts/plugin-reload';
import type { Modules } from './modules';

/** Forgets what is remembered of the systems behind the mounts of a type, when any node says so. */
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
