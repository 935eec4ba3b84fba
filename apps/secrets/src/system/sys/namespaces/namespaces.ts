import { Refusal } from '@keystead/refusal';
import { z } from 'zod';
import type { Namespace } from '../../../kernel/namespaces/namespaces';
import { object, secretString, string } from '../../../sdk/fields';
import { operation, path } from '../../../sdk/path';
import { data, empty, keys, missing } from '../../../sdk/reply';
import { checkMetadata, type NamespaceChanges } from './namespace-changes';

const output = z.object({
  custom_metadata: z.record(z.string(), z.string()),
  id: z.string(),
  locked: z.boolean(),
  path: z.string(),
  tainted: z.boolean(),
  uuid: z.string(),
});
const UnlockInput = z.object({
  unlock_key: secretString().optional().describe('The unlock key that locking the namespace returned.'),
});
const input = z.object({
  custom_metadata: object().optional().describe('Key-value pairs.'),
  seal: string().optional().describe('Separate seals are not supported: must be empty.'),
});

/**
 * Paths that related clients use for the seal of a namespace. They never contain a name of a namespace in this place.
 */
const aboutItsSeal = /[^/]\/+(?:seal|unseal|seal-status|delete-sealed)\/*$/;
const notSealable = () => new Refusal('invalid', 'namespace is not sealable: namespaces have no separate seal');

export function namespacePaths(namespaces: NamespaceChanges) {
  const named = (below: readonly Namespace[], parentPath: string) => {
    const shown = below.map((one) => [one.path.slice(parentPath.length), show(one)] as const);
    return keys(
      shown.map(([name]) => name),
      Object.fromEntries(shown),
    );
  };
  const lock = operation<{ path?: string }>({
    summary: 'Lock a namespace and everything below it. The response contains the unlock key.',
    operationId: 'namespaces-lock',
    stepUp: true,
    output: z.object({ unlock_key: z.string() }),
    run: async ({ namespace, params }) =>
      data({ unlock_key: await namespaces.lock(namespace.uuid, params.path ?? '') }),
  });
  const unlock = operation<{ path?: string }, typeof UnlockInput>({
    summary: 'Unlock a namespace with its unlock key. A token with sudo from a parent namespace needs no key.',
    operationId: 'namespaces-unlock',
    input: UnlockInput,
    async run({ namespace, params, input, caller, warn }) {
      // A token of the locked namespace cannot unlock it, because it may have given itself sudo there.
      const isAbove = params.path !== undefined || caller.token?.namespaceId !== namespace.uuid;
      if (!input.unlock_key && !(caller.sudo && isAbove)) throw new Refusal('invalid', 'provided empty key');
      await namespaces.unlock(namespace.uuid, params.path ?? '', input.unlock_key || undefined);
      if (!input.unlock_key) warn('Namespace unlocked using sudo capabilities');
      return empty;
    },
  });
  const below = {
    params: { path: 'folder' },
    paramDocs: { path: 'Its path, relative to that of the request.' },
  } as const;
  return [
    path('namespaces/api-lock/lock', {
      summary: 'Locks this namespace.',
      write: { ...lock, operationId: 'namespaces-lock-own' },
    }),
    path('namespaces/api-lock/lock/:path*', { summary: 'Locks a child namespace.', ...below, write: lock }),
    path('namespaces/api-lock/unlock', {
      summary: 'Unlocks this namespace.',
      write: { ...unlock, operationId: 'namespaces-unlock-own' },
    }),
    path('namespaces/api-lock/unlock/:path*', { summary: 'Unlocks a child namespace.', ...below, write: unlock }),
    path('namespaces', {
      summary: 'The child namespaces of the current namespace.',
      list: {
        summary: 'List the child namespaces.',
        operationId: 'namespaces-list',
        output: z.object({ keys: z.array(z.string()), key_info: z.record(z.string(), output) }),
        auditClear: 'all',
        run: ({ namespace }) => named(namespaces.children(namespace.uuid), namespace.path),
      },
      scan: {
        summary: 'List all namespaces below the current one, at any depth.',
        operationId: 'namespaces-scan',
        output: z.object({ keys: z.array(z.string()), key_info: z.record(z.string(), output) }),
        auditClear: 'all',
        run: ({ namespace }) => named(namespaces.below(namespace.uuid), namespace.path),
      },
    }),
    path('namespaces/:path*', {
      summary: 'A namespace, with its own mounts, policies, identities and tokens.',
      params: { path: 'folder' },
      paramDocs: { path: 'Its path, relative to the namespace of the request.' },
      read: {
        summary: 'Read a namespace.',
        operationId: 'namespaces-read',
        output,
        auditClear: 'all',
        run({ params, namespace }) {
          const found = namespaces.at(namespace.uuid, params.path);
          if (!found && aboutItsSeal.test(params.path)) throw notSealable();
          return found ? data(show(found)) : missing;
        },
      },
      write: {
        summary: 'Create a namespace, or replace its metadata.',
        operationId: 'namespaces-write',
        input,
        output,
        auditClear: 'all',
        async run({ params, input, namespace }) {
          if (input.seal) throw notSealable();
          if (aboutItsSeal.test(params.path) && !namespaces.at(namespace.uuid, params.path)) throw notSealable();
          const metadata = input.custom_metadata && checkMetadata(input.custom_metadata);
          return data(show(await namespaces.put(namespace.uuid, params.path, metadata)));
        },
      },
      patch: {
        summary: 'Patch the metadata of a namespace.',
        operationId: 'namespaces-patch',
        input,
        output,
        auditClear: 'all',
        async run({ params, input, fields, namespace }) {
          if (input.seal) throw notSealable();
          const change = fields.custom_metadata === null ? null : (input.custom_metadata ?? {});
          const found = await namespaces.patch(namespace.uuid, params.path, change);
          return found ? data(show(found)) : missing;
        },
      },
      delete: {
        summary: 'Delete a namespace and everything in it.',
        operationId: 'namespaces-delete',
        stepUp: true,
        status: 200,
        async run({ params, namespace, warn }) {
          if (await namespaces.remove(namespace.uuid, params.path)) return data({ status: 'in-progress' });
          if (aboutItsSeal.test(params.path)) throw notSealable();
          warn('requested namespace does not exist');
          return data(null);
        },
      },
    }),
  ];
}

function show(namespace: Namespace): Record<string, unknown> {
  return {
    custom_metadata: namespace.customMetadata,
    id: namespace.id,
    locked: namespace.locked,
    path: namespace.path,
    tainted: namespace.tainted,
    uuid: namespace.uuid,
  };
}
