import { Refusal } from '@keystead/refusal';
import { z } from 'zod';
import { isObject } from '../../sdk/coerce';
import { object, secretString } from '../../sdk/fields';
import { operation, path } from '../../sdk/path';
import { data, empty, keys, missing } from '../../sdk/reply';

/** A namespace as its administration sees it. */
export interface NamespaceFacts {
  readonly uuid: string;
  readonly id: string;
  readonly path: string;
  readonly customMetadata: Readonly<Record<string, string>>;
  readonly tainted: boolean;
  readonly locked: boolean;
}

/** The tree of namespaces below the caller's. */
export interface NamespacePort {
  /** Right below. */
  children(parentUuid: string): readonly NamespaceFacts[];
  /** All below, nearest first. */
  below(parentUuid: string): readonly NamespaceFacts[];
  at(parentUuid: string, path: string): NamespaceFacts | undefined;
  /** Makes a namespace with its standing mounts, or replaces the metadata of one that is there. */
  put(parentUuid: string, path: string, customMetadata: Record<string, string> | undefined): Promise<NamespaceFacts>;
  patch(parentUuid: string, path: string, change: Record<string, unknown>): Promise<NamespaceFacts | undefined>;
  /** Locks one with all below it, or this one itself where the path is empty; answers the key that unlocks it. */
  lock(uuid: string, path: string): Promise<string>;
  /** Unlocks it again, by its key or, where that is undefined, without. */
  unlock(uuid: string, path: string, key: string | undefined): Promise<void>;
  /** Refuses whoever comes from now on, and removes everything inside in the background. False when there is none. */
  remove(parentUuid: string, path: string): Promise<boolean>;
}

const output = z.object({
  custom_metadata: z.record(z.string(), z.string()),
  id: z.string(),
  locked: z.boolean(),
  path: z.string(),
  tainted: z.boolean(),
  uuid: z.string(),
});
const UnlockInput = z.object({
  unlock_key: secretString().optional().describe('What the answer of the lock said.'),
});
const input = z.object({ custom_metadata: object().optional().describe('Pairs of text.') });

export function namespacePaths(namespaces: NamespacePort) {
  const named = (below: readonly NamespaceFacts[], parentPath: string) => {
    const shown = below.map((one) => [one.path.slice(parentPath.length), show(one)] as const);
    return keys(
      shown.map(([name]) => name),
      Object.fromEntries(shown),
    );
  };
  const lock = operation<{ path?: string }>({
    summary: 'Lock a namespace with all below it; the answer has the key that unlocks it.',
    operationId: 'namespaces-lock',
    output: z.object({ unlock_key: z.string() }),
    run: async ({ namespace, params }) =>
      data({ unlock_key: await namespaces.lock(namespace.uuid, params.path ?? '') }),
  });
  const unlock = operation<{ path?: string }, typeof UnlockInput>({
    summary: 'Unlock a namespace by its key; who has sudo here, with a token from above it, needs none.',
    operationId: 'namespaces-unlock',
    input: UnlockInput,
    async run({ namespace, params, input, caller, warn }) {
      // Nobody lifts a lock from inside of what it shuts: there they may have given sudo to themselves.
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
    path('namespaces/api-lock/lock/:path*', { summary: 'Locks a namespace below.', ...below, write: lock }),
    path('namespaces/api-lock/unlock', {
      summary: 'Unlocks this namespace.',
      write: { ...unlock, operationId: 'namespaces-unlock-own' },
    }),
    path('namespaces/api-lock/unlock/:path*', { summary: 'Unlocks a namespace below.', ...below, write: unlock }),
    path('namespaces', {
      summary: 'The namespaces right below this one.',
      list: {
        summary: 'List the namespaces below.',
        operationId: 'namespaces-list',
        output: z.object({ keys: z.array(z.string()), key_info: z.record(z.string(), output) }),
        auditClear: 'all',
        run: ({ namespace }) => named(namespaces.children(namespace.uuid), namespace.path),
      },
      scan: {
        summary: 'List all namespaces below, however deep.',
        operationId: 'namespaces-scan',
        output: z.object({ keys: z.array(z.string()), key_info: z.record(z.string(), output) }),
        auditClear: 'all',
        run: ({ namespace }) => named(namespaces.below(namespace.uuid), namespace.path),
      },
    }),
    path('namespaces/:path*', {
      summary: 'A namespace: mounts, policies, identities and tokens of its own.',
      params: { path: 'folder' },
      paramDocs: { path: 'Its path, relative to the namespace of the request.' },
      read: {
        summary: 'Read a namespace.',
        operationId: 'namespaces-read',
        output,
        auditClear: 'all',
        run({ params, namespace }) {
          const found = namespaces.at(namespace.uuid, params.path);
          return found ? data(show(found)) : missing;
        },
      },
      write: {
        summary: 'Create a namespace, or replace its metadata.',
        operationId: 'namespaces-write',
        input,
        output,
        auditClear: 'all',
        async run({ params, input: given, namespace }) {
          const metadata = given.custom_metadata && checkMetadata(given.custom_metadata);
          return data(show(await namespaces.put(namespace.uuid, params.path, metadata)));
        },
      },
      patch: {
        summary: 'Change what is named of the metadata of a namespace.',
        operationId: 'namespaces-patch',
        input,
        output,
        auditClear: 'all',
        async run({ params, input: given, namespace }) {
          const found = await namespaces.patch(namespace.uuid, params.path, given.custom_metadata ?? {});
          return found ? data(show(found)) : missing;
        },
      },
      delete: {
        summary: 'Delete a namespace with everything inside.',
        operationId: 'namespaces-delete',
        status: 200,
        async run({ params, namespace, warn }) {
          if (await namespaces.remove(namespace.uuid, params.path)) return data({ status: 'in-progress' });
          warn('requested namespace does not exist');
          return data(null);
        },
      },
    }),
  ];
}

/** Refuses metadata that is not pairs of text. */
export function checkMetadata(given: Record<string, unknown>): Record<string, string> {
  for (const [name, value] of Object.entries(given)) {
    if (typeof value !== 'string' || isObject(value)) {
      throw new Refusal('invalid', `custom_metadata: value of "${name}" must be a string`);
    }
  }
  return given as Record<string, string>;
}

function show(namespace: NamespaceFacts): Record<string, unknown> {
  return {
    custom_metadata: namespace.customMetadata,
    id: namespace.id,
    locked: namespace.locked,
    path: namespace.path,
    tainted: namespace.tainted,
    uuid: namespace.uuid,
  };
}
