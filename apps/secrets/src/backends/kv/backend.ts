import { Refusal } from '@keystead/refusal';
import { z } from 'zod';
import { backend } from '../../sdk/backend';
import { parseDuration } from '../../sdk/duration';
import { PageInput, pageOf } from '../../sdk/paging';
import { path } from '../../sdk/path';
import { dataText, empty, keys, missing } from '../../sdk/reply';
import { dataPath, versionPaths } from './data';
import { configPath } from './key-metadata';
import { detailedMetadataPath, metadataPath, subkeysPath } from './metadata';
import { relocationPaths } from './relocation';

/** Key/value storage that keeps the versions of a secret. */
export const kvTwo = backend({
  type: 'kv',
  kind: 'secret',
  expiring: 'secrets',
  summary: 'key/value secret storage with versions',
  elsewhere:
    'Invalid path for a versioned K/V secrets engine: secrets are below data/, and their metadata is below metadata/. On a command line, use kv get, put, list or delete.',
  paths: [configPath, dataPath, ...versionPaths, metadataPath, detailedMetadataPath, subkeysPath, ...relocationPaths],
});

/** Key/value storage without versions: a write replaces the value. */
export const kvOne = backend({
  type: 'kv',
  kind: 'secret',
  summary: 'key/value secret storage',
  paths: [
    path(':path*', {
      summary: 'Pass-through secret storage to the storage backend.',
      paramDocs: { path: 'The path of the key-value pairs.' },
      exists: async ({ storage, params }) => (await storage.get(params.path)) !== undefined,
      read: {
        summary: 'Read the key-value pairs at a path.',
        output: z.looseObject({}),
        operationId: 'read',
        async run({ storage, params, mount }) {
          requirePath(params.path);
          const text = await storage.get(params.path);
          if (text === undefined) return missing;
          const durationSeconds = ttlOf(text) ?? mount.defaultLeaseTtlSeconds;
          return { ...dataText(text), lease: { id: '', renewable: false, durationSeconds } };
        },
      },
      list: {
        summary: 'List the keys below a folder; folders end in /.',
        output: z.object({ keys: z.array(z.string()) }),
        operationId: 'list',
        input: PageInput,
        run: async ({ storage, params, input }) => keys(await storage.list(params.path, pageOf(input))),
      },
      scan: {
        summary: 'List everything below a folder, at any depth.',
        output: z.object({ keys: z.array(z.string()) }),
        operationId: 'scan',
        input: PageInput,
        run: async ({ storage, params, input }) => keys(await storage.scan(params.path, pageOf(input))),
      },
      write: {
        summary: 'Store key-value pairs at a path.',
        operationId: 'write',
        freeform: true,
        run(call) {
          requirePath(call.params.path);
          if (Object.keys(call.fields).length === 0) throw new Refusal('invalid', 'missing data fields');
          call.storage.put(call.params.path, call.fieldsText());
          return empty;
        },
      },
      delete: {
        summary: 'Delete the key-value pairs at a path. Also succeeds if there are none.',
        operationId: 'delete',
        run({ storage, params }) {
          requirePath(params.path);
          storage.delete(params.path);
          return empty;
        },
      },
    }),
  ],
});

/** The time in the pair `ttl` (or `lease`) of a secret, which tells readers how long they may keep the secret. */
function ttlOf(text: string): number | undefined {
  if (!text.includes('"ttl"') && !text.includes('"lease"')) return undefined;
  const { ttl, lease } = JSON.parse(text) as { ttl?: unknown; lease?: unknown };
  const hint = ttl ?? lease;
  if (typeof hint !== 'string' && typeof hint !== 'number') return undefined;
  const seconds = parseDuration(String(hint));
  return seconds !== undefined && seconds > 0 ? seconds : undefined;
}

function requirePath(path: string): void {
  if (path === '') throw new Refusal('invalid', 'missing path');
}
