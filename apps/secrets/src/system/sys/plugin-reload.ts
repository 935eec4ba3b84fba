import { Refusal } from '@keystead/refusal';
import { z } from 'zod';
import type { LiveMount } from '../../kernel/mounts/mount';
import { commaList, string } from '../../sdk/fields';
import { path } from '../../sdk/path';
import { data } from '../../sdk/reply';

/** Lets nodes forget what they remember of mounts and of the systems behind them. */
export interface ReloadPort {
  list(namespaceId: string, kind: 'secret' | 'auth'): readonly LiveMount[];
  seek(namespaceId: string, path: string): Promise<LiveMount | undefined>;
  /** Of these mounts, on every node. */
  reload(mounts: readonly LiveMount[]): Promise<void>;
  kinds(): readonly { readonly type: string; readonly kind: 'secret' | 'auth' | 'system' }[];
}

/**
 * `sys/plugins/reload/backend`. Every kind of mount is built in, so nothing is started anew; what a reload is for remains:
 * nothing that was remembered of a mount, or of the system behind it, is used any more.
 */
export function pluginReloadPath(port: ReloadPort) {
  const ofPlugin = (namespaceId: string, plugin: string): readonly LiveMount[] => {
    const kind = port.kinds().find(({ type }) => type === plugin)?.kind;
    if (kind === undefined) throw new Refusal('invalid', `no plugin found with name: ${JSON.stringify(plugin)}`);
    if (kind === 'system' || plugin === 'cubbyhole') {
      throw new Refusal('invalid', `plugin ${JSON.stringify(plugin)} cannot be reloaded`);
    }
    return port.list(namespaceId, kind).filter(({ type }) => type === plugin);
  };
  const ofPaths = (namespaceId: string, paths: readonly string[]): Promise<LiveMount[]> =>
    Promise.all(
      paths.map(async (given) => {
        const at = `${given.replace(/^sys\/(?=auth\/)|\/$/g, '')}/`;
        const mount = await port.seek(namespaceId, at);
        if (!mount) throw new Refusal('invalid', `cannot fetch mount entry on ${JSON.stringify(at)}`);
        return mount;
      }),
    );
  return path('plugins/reload/backend', {
    summary: 'What nodes remember of mounts.',
    sudo: true,
    // What was learned of a system outside is shared by all that lead to it.
    rootNamespaceOnly: true,
    write: {
      summary: 'Let every node forget what it remembers of mounts, and of the systems behind them.',
      operationId: 'plugins-reload-backends',
      input: z.object({
        plugin: string().optional().describe('All mounts of this type.'),
        mounts: commaList().optional().describe('These mounts; login methods with auth/ before them.'),
        scope: string().optional().describe('Every node forgets, whether it says global or nothing.'),
      }),
      output: z.object({ reload_id: z.string() }),
      auditClear: 'all',
      async run({ input, namespace, requestId }) {
        const { plugin, mounts = [], scope } = input;
        if (plugin && mounts.length > 0) {
          throw new Refusal('invalid', 'plugin and mounts cannot be set at the same time');
        }
        if (!plugin && mounts.length === 0) throw new Refusal('invalid', 'plugin or mounts must be provided');
        if (scope && scope !== 'global') throw new Refusal('invalid', 'scope must be global or left out');
        await port.reload(plugin ? ofPlugin(namespace.uuid, plugin) : await ofPaths(namespace.uuid, mounts));
        return data({ reload_id: requestId });
      },
    },
  });
}
