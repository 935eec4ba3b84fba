import { parseExact } from '@keystead/envelope';
import { Refusal } from '@keystead/refusal';
import { z } from 'zod';
import { isObject } from '../../sdk/coerce';
import { durationText } from '../../sdk/duration';
import { EndingInput, endingOf } from '../../sdk/ending';
import { bool, int, object, signedDuration } from '../../sdk/fields';
import { merged } from '../../sdk/merge-fields';
import { PageInput, pageOf } from '../../sdk/paging';
import { path } from '../../sdk/path';
import { data, empty, keys, missing, notFoundWith } from '../../sdk/reply';
import type { Storage } from '../../sdk/storage';
import { findVersion } from './data';
import {
  changeKey,
  findKey,
  findKeys,
  type KeyMetadata,
  listEndingKeys,
  listKeys,
  newKey,
  putKey,
  removeKey,
  scanKeys,
  showVersion,
} from './key-metadata';

const Metadata = z.object({
  max_versions: int().optional().describe('Number of versions to keep. 0: the setting of the mount.'),
  cas_required: bool().optional().describe('Writes must include cas.'),
  delete_version_after: signedDuration().optional().describe('Time after which versions are deleted.'),
  custom_metadata: object()
    .optional()
    .describe('Key-value pairs shown with every read. null removes a key when patching.'),
});
type Metadata = z.output<typeof Metadata>;

const longest = { keys: 64, name: 128, value: 512 };

/** The metadata of secrets, and their removal with all versions. */
export const metadataPath = path('metadata/:path*', {
  summary: 'The metadata of a secret.',
  paramDocs: { path: 'The path of the secret.' },
  exists: async ({ storage, params }) => (await findKey(storage, params.path)) !== undefined,
  read: {
    summary: 'Read the metadata of a secret.',
    operationId: 'read-metadata',
    output: z.looseObject({
      current_version: z.int(),
      versions: z.record(
        z.string(),
        z.looseObject({
          created_by: z
            .object({ display_name: z.string(), entity_id: z.string() })
            .nullable()
            .describe('Who wrote the version; null if unknown.'),
        }),
      ),
    }),
    async run({ storage, params }) {
      const key = await findKey(storage, params.path);
      return key ? data(show(key)) : missing;
    },
  },
  list: {
    summary: 'List the secrets below a folder; folders end in /.',
    operationId: 'list',
    output: z.object({ keys: z.array(z.string()) }),
    input: PageInput,
    run: async ({ storage, params, input }) => keys(await listKeys(storage, params.path, pageOf(input))),
  },
  scan: {
    summary: 'List all secrets below a folder, at any depth.',
    operationId: 'scan',
    output: z.object({ keys: z.array(z.string()) }),
    input: PageInput,
    run: async ({ storage, params, input }) => keys(await scanKeys(storage, params.path, pageOf(input))),
  },
  write: {
    summary: 'Write the metadata of a secret.',
    operationId: 'write-metadata',
    input: Metadata,
    async run({ storage, params, input, nowMs }) {
      if (params.path === '') throw new Refusal('invalid', 'missing path');
      const custom = input.custom_metadata && checkCustom(input.custom_metadata);
      await changeKey(storage, params.path, async (tx) => {
        const before = await findKey(tx, params.path);
        const key = before ?? newKey(nowMs);
        putKey(tx, params.path, changed(key, input, custom ?? key.customMetadata, nowMs), before);
      });
      return empty;
    },
  },
  patch: {
    summary: 'Patch the metadata of a secret.',
    operationId: 'patch-metadata',
    input: Metadata,
    async run({ storage, params, input, nowMs, fields }) {
      const found = await changeKey(storage, params.path, async (tx) => {
        const key = await findKey(tx, params.path);
        if (!key) return false;
        const customMetadata = fields.custom_metadata === null ? {} : key.customMetadata;
        const all = merged(customMetadata, input.custom_metadata ?? {});
        const custom = Object.keys(all).length === 0 ? null : checkCustom(all);
        putKey(tx, params.path, changed(key, input, custom, nowMs), key);
        return true;
      });
      return found ? empty : missing;
    },
  },
  delete: {
    summary: 'Delete a secret with all its versions. Also succeeds if it does not exist.',
    operationId: 'delete-metadata-and-all-versions',
    stepUp: true,
    async run({ storage, params }) {
      await changeKey(storage, params.path, async (tx) => {
        const key = await findKey(tx, params.path);
        if (key) removeKey(tx, params.path, key);
      });
      return empty;
    },
  },
});

const DetailedKeys = z.object({
  keys: z.array(z.string()),
  key_info: z.record(z.string(), z.looseObject({})),
});

/** Lists of secrets with details. */
export const detailedMetadataPath = path('detailed-metadata/:path*', {
  summary: 'The secrets below a folder, with their metadata.',
  paramDocs: { path: 'The folder.' },
  list: {
    summary: 'List the secrets below a folder with their metadata. Folders end in / and have no metadata.',
    operationId: 'list-detailed-metadata',
    output: DetailedKeys,
    input: PageInput,
    run: async ({ storage, params, input }) =>
      detailed(storage, params.path, await listKeys(storage, params.path, pageOf(input))),
  },
  scan: {
    summary: 'List all secrets below a folder with their metadata, at any depth.',
    operationId: 'scan-detailed-metadata',
    output: DetailedKeys,
    input: EndingInput,
    async run({ storage, params, input, nowMs }) {
      const range = endingOf(input, nowMs);
      if (range === undefined) {
        return detailed(storage, params.path, await scanKeys(storage, params.path, pageOf(input)));
      }
      const ending = await listEndingKeys(storage, params.path, range);
      const names = ending.map(([name]) => name);
      return keys(names, Object.fromEntries(ending.map(([name, key]) => [name, show(key)])));
    },
  },
});

async function detailed(storage: Storage, folder: string, names: readonly string[]) {
  const secrets = names.filter((name) => !name.endsWith('/'));
  const found = await findKeys(storage, folder, secrets);
  return keys(
    names,
    Object.fromEntries(
      names.map((name) => {
        const key = found.get(name);
        return [name, key ? show(key) : {}];
      }),
    ),
  );
}

const SubkeysInput = z.object({
  version: int().optional().describe('The version to read. Default: the newest.'),
  depth: int().optional().describe('Number of levels to show. 0 shows all.'),
});

/** The shape of a secret without its values. */
export const subkeysPath = path('subkeys/:path*', {
  summary: 'The keys of a secret, without its values.',
  read: {
    summary: 'Read the keys of a secret.',
    operationId: 'read-subkeys',
    responses: { 404: 'The secret does not exist. If the version was deleted, the body contains its metadata.' },
    input: SubkeysInput,
    output: z.object({ subkeys: z.looseObject({}).nullable(), metadata: z.looseObject({}) }),
    async run(call) {
      const { version = 0, depth = 0 } = call.input;
      if (depth < 0) throw new Refusal('invalid', 'depth must not be negative');
      const found = await findVersion(call, version);
      if (!found) return missing;
      if (found.text === undefined) return notFoundWith(`{"subkeys":null,"metadata":${found.metadata}}`);
      const subkeys = keysOnly(parseExact(found.text), depth === 0 ? Number.POSITIVE_INFINITY : depth);
      return data({ subkeys, metadata: JSON.parse(found.metadata) });
    },
  },
});

function keysOnly(value: unknown, levels: number): unknown {
  if (!isObject(value) || levels === 0 || Object.keys(value).length === 0) return null;
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, keysOnly(item, levels - 1)]));
}

function changed(
  key: KeyMetadata,
  input: Metadata,
  customMetadata: KeyMetadata['customMetadata'],
  nowMs: number,
): KeyMetadata {
  if ((input.max_versions ?? 0) < 0) throw new Refusal('invalid', 'max_versions must not be negative');
  return {
    ...key,
    maxVersions: input.max_versions ?? key.maxVersions,
    casRequired: input.cas_required ?? key.casRequired,
    deleteAfterSeconds: input.delete_version_after ?? key.deleteAfterSeconds,
    customMetadata,
    updatedAtMs: nowMs,
  };
}

function checkCustom(metadata: Record<string, unknown>): Record<string, string> {
  const entries = Object.entries(metadata);
  if (entries.length > longest.keys) {
    throw new Refusal('invalid', `custom_metadata: payload must contain at most ${longest.keys} keys`);
  }
  for (const [name, value] of entries) {
    if (typeof value !== 'string') throw new Refusal('invalid', `custom_metadata: value of "${name}" must be a string`);
    if (name.length === 0 || name.length > longest.name || value.length > longest.value) {
      throw new Refusal(
        'invalid',
        `custom_metadata: keys may have ${longest.name} characters, values ${longest.value}: "${name.slice(0, 40)}"`,
      );
    }
  }
  return metadata as Record<string, string>;
}

function show(key: KeyMetadata): Record<string, unknown> {
  return {
    cas_required: key.casRequired,
    created_time: new Date(key.createdAtMs).toISOString(),
    current_version: key.currentVersion,
    custom_metadata: key.customMetadata,
    delete_version_after: durationText(key.deleteAfterSeconds),
    max_versions: key.maxVersions,
    oldest_version: key.oldestVersion,
    updated_time: new Date(key.updatedAtMs).toISOString(),
    versions: Object.fromEntries(Object.entries(key.versions).map(([number, facts]) => [number, showVersion(facts)])),
  };
}
