import { Refusal } from '@keystead/refusal';
import { z } from 'zod';
import type { LiveMount } from '../../../kernel/mounts/mount';
import type { Mounts } from '../../../kernel/mounts/mounts';
import type { StorageKernel } from '../../../kernel/storage/storage';
import { mountEntriesNotice } from '../../../kernel/storage/write-set';
import { commaList, string } from '../../../sdk/fields';
import { path } from '../../../sdk/path';
import { data } from '../../../sdk/reply';

/** The kernel's modules that a reload needs, and all kinds of mounts. */
export interface ReloadDeps {
  readonly mounts: Mounts;
  readonly storage: StorageKernel;
  readonly kinds: readonly { readonly type: string; readonly kind: 'secret' | 'auth' | 'system' }[];
}

/**
 * The key prefix of the notice that tells nodes to clear their caches about outside systems; the prefix is followed by
 * a mount type.
 */
export const reloadMark = 'reload/';

/**
 * `sys/plugins/reload/backend`. Every kind of mount is built in, so nothing is restarted. A reload clears the caches of
 * the mounts and of the systems behind them.
 */
export function pluginReloadPath({ mounts, storage, kinds }: ReloadDeps) {
  const ofPlugin = (namespaceId: string, plugin: string): readonly LiveMount[] => {
    const named = kinds.flatMap(({ type, kind }) => (type === plugin ? [kind] : []));
    if (named.length === 0) throw new Refusal('invalid', `no plugin found with name: ${JSON.stringify(plugin)}`);
    const mounted = named.flatMap((kind) => (kind === 'system' ? [] : [kind]));
    if (mounted.length === 0 || plugin === 'cubbyhole') {
      throw new Refusal('invalid', `plugin ${JSON.stringify(plugin)} cannot be reloaded`);
    }
    // A secrets engine and an auth method may have the same type.
    return mounted.flatMap((kind) => mounts.list(namespaceId, kind)).filter(({ type }) => type === plugin);
  };
  const ofPaths = (namespaceId: string, paths: readonly string[]): Promise<LiveMount[]> =>
    Promise.all(
      paths.map(async (path) => {
        const at = `${path.replace(/^sys\/(?=auth\/)|\/$/g, '')}/`;
        const mount = await mounts.seek(namespaceId, at);
        if (!mount) throw new Refusal('invalid', `cannot fetch mount entry on ${JSON.stringify(at)}`);
        return mount;
      }),
    );
  const reload = async (found: readonly LiveMount[]): Promise<void> => {
    const types = new Set(found.map(({ type }) => type));
    await storage.committer.transaction(async () => {}, [
      ...found.map(({ uuid }) => mountEntriesNotice(uuid)),
      ...[...types].map((type) => ({ topic: 'setting', key: reloadMark + type }) as const),
    ]);
  };
  return path('plugins/reload/backend', {
    summary: 'The caches of mounts.',
    sudo: true,
    // Cached facts about an outside system are shared by all its mounts.
    rootNamespaceOnly: true,
    write: {
      summary: 'Clear the caches of mounts, and of the systems behind them, on every node.',
      operationId: 'plugins-reload-backends',
      input: z.object({
        plugin: string().optional().describe('Reload all mounts of this type.'),
        mounts: commaList().optional().describe('Reload these mounts. Paths of auth methods begin with auth/.'),
        scope: string().optional().describe('global, or omitted; every node clears its caches in either case.'),
      }),
      output: z.object({ reload_id: z.string() }),
      auditClear: 'all',
      async run({ input, namespace, requestId }) {
        const { plugin, mounts: paths = [], scope } = input;
        if (plugin && paths.length > 0) {
          throw new Refusal('invalid', 'plugin and mounts cannot be set at the same time');
        }
        if (!plugin && paths.length === 0) throw new Refusal('invalid', 'plugin or mounts must be provided');
        if (scope && scope !== 'global') throw new Refusal('invalid', 'scope must be global or omitted');
        await reload(plugin ? ofPlugin(namespace.uuid, plugin) : await ofPaths(namespace.uuid, paths));
        return data({ reload_id: requestId });
      },
    },
  });
}
