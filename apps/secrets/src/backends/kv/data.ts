import { ExactNumber, jsonText, parseExact } from '@keystead/envelope';
import { Refusal } from '@keystead/refusal';
import { z } from 'zod';
import type { Call } from '../../sdk/call';
import { Failure, isObject } from '../../sdk/coerce';
import { anything, field, int, intList, nested } from '../../sdk/fields';
import { operation, path } from '../../sdk/path';
import { data, dataText, empty, missing, notFoundWith, type Reply } from '../../sdk/reply';
import { type Soon, soon } from '../../sdk/soon';
import type { Storage } from '../../sdk/storage';
import {
  authorOf,
  changeKey,
  configOf,
  findKey,
  type KeyMetadata,
  type KvConfig,
  newKey,
  putKey,
  readable,
  showVersion,
  valueKey,
  withNextVersion,
} from './key-metadata';

interface SecretParams {
  readonly path: string;
}

const notNumber = 'error parsing check-and-set parameter: it must be a version number';
/** A version number, which is never negative. */
const version = field({ type: 'integer' }, (sent): number | Failure => {
  const isNumber = typeof sent === 'string' ? /^-?\d+$/.test(sent) : ['number', 'object'].includes(typeof sent);
  const number = isNumber ? Number(sent) : Number.NaN;
  return Number.isSafeInteger(number) ? number : new Failure(notNumber, true);
});
const WriteInput = z.object({
  data: anything().optional().describe('The key-value pairs of the new version.'),
  options: nested('options', z.object({ cas: version.optional() }))
    .optional()
    .describe('`cas`: write only if this is the current version. 0: write only if the secret does not exist.'),
});
const ReadInput = z.object({ version: int().optional().describe('The version to read. Default: the newest.') });

const versionOutput = z.looseObject({
  created_time: z.string(),
  custom_metadata: z.record(z.string(), z.string()).nullable(),
  deletion_time: z.string(),
  destroyed: z.boolean(),
  version: z.int(),
});

/** The values of secrets: read, write a new version, patch, and soft-delete. */
export const dataPath = path('data/:path*', {
  summary: 'The versions of a secret.',
  paramDocs: { path: 'The path of the secret.' },
  exists: async ({ storage, params }) => (await findKey(storage, params.path)) !== undefined,
  read: {
    summary: 'Read a version of a secret.',
    operationId: 'read',
    responses: { 404: 'The secret does not exist. If the version was deleted, the body contains its metadata.' },
    input: ReadInput,
    output: z.object({ data: z.looseObject({}).nullable(), metadata: versionOutput }),
    run: (call) => readVersion(call),
  },
  write: {
    summary: 'Write a new version of a secret.',
    operationId: 'write',
    input: WriteInput,
    output: versionOutput,
    freeform: true,
    run: (call) => writeVersion(call, (data) => data),
  },
  patch: {
    summary: 'Patch the newest version of a secret; creates a new version.',
    operationId: 'patch',
    responses: { 404: 'The secret does not exist. If the newest version was deleted, the body contains its metadata.' },
    input: WriteInput,
    output: versionOutput,
    freeform: true,
    run: (call) => writeVersion(call, patched),
  },
  delete: {
    summary: 'Delete the newest version; it can be undeleted.',
    operationId: 'delete',
    run: (call) => changeVersions(call, 'newest', (version) => ({ ...version, deletedAtMs: call.nowMs })),
  },
});

const VersionsInput = z.object({
  versions: intList('versions must be version numbers').optional().describe('Version numbers.'),
});

/** Deleting, undeleting and destroying versions by number. */
export const versionPaths = [
  path('delete/:path*', {
    summary: 'Deletes versions; they can be undeleted.',
    write: operation<SecretParams, typeof VersionsInput>({
      summary: 'Delete versions of a secret.',
      operationId: 'delete-versions',
      input: VersionsInput,
      run: (call) =>
        changeVersions(call, versionsOf(call.input), (version) =>
          version.destroyed || readable(version, call.nowMs) === false
            ? version
            : { ...version, deletedAtMs: call.nowMs },
        ),
    }),
  }),
  path('undelete/:path*', {
    summary: 'Undeletes versions.',
    write: operation<SecretParams, typeof VersionsInput>({
      summary: 'Undelete versions of a secret.',
      operationId: 'undelete-versions',
      input: VersionsInput,
      run: (call) =>
        changeVersions(call, versionsOf(call.input), (version) =>
          version.destroyed ? version : { ...version, deletedAtMs: 0 },
        ),
    }),
  }),
  path('destroy/:path*', {
    summary: 'Destroys versions permanently.',
    write: operation<SecretParams, typeof VersionsInput>({
      summary: 'Destroy versions of a secret.',
      operationId: 'destroy-versions',
      stepUp: true,
      input: VersionsInput,
      run: (call) =>
        changeVersions(
          call,
          versionsOf(call.input),
          (version) => ({ ...version, destroyed: true }),
          (storage, number) => storage.delete(valueKey(call.params.path, number)),
        ),
    }),
  }),
];

/** A version as JSON: its value, unless it is deleted or destroyed, and its metadata. */
interface ShownVersion {
  readonly text: string | undefined;
  readonly metadata: string;
}

/** Finds the requested version. */
export function findVersion(
  { storage, params, nowMs }: Call<SecretParams>,
  version: number,
): Soon<ShownVersion | undefined> {
  return soon(findKey(storage, params.path), (key) => {
    const number = version > 0 ? version : (key?.currentVersion ?? 0);
    const facts = key?.versions[number];
    if (!key || !facts) return undefined;
    const value = readable(facts, nowMs) ? storage.get(valueKey(params.path, number)) : undefined;
    return soon(value, (text) => ({ text, metadata: metadataText(key, number) }));
  });
}

// The metadata of a secret is the same object until it changes.
const metadataTexts = new WeakMap<KeyMetadata, { readonly number: number; readonly text: string }>();

function metadataText(key: KeyMetadata, number: number): string {
  let shown = metadataTexts.get(key);
  if (shown?.number !== number) {
    shown = { number, text: JSON.stringify(showMetadata(key, number)) };
    metadataTexts.set(key, shown);
  }
  return shown.text;
}

function readVersion(call: Call<SecretParams, z.output<typeof ReadInput>>): Soon<Reply> {
  return soon(findVersion(call, call.input.version ?? 0), (found): Reply => {
    if (!found) return missing;
    const body = `{"data":${found.text ?? 'null'},"metadata":${found.metadata}}`;
    return found.text === undefined ? notFoundWith(body) : dataText(body);
  });
}

async function writeVersion(
  call: Call<SecretParams, z.output<typeof WriteInput>>,
  next: (data: Record<string, unknown>, before: string | undefined) => unknown,
): Promise<Reply> {
  const { storage, params, input, nowMs, verb } = call;
  if (params.path === '') throw new Refusal('invalid', 'missing path');
  if (!isObject(input.data)) {
    throw new Refusal('invalid', input.data === undefined ? 'no data provided' : 'data must be an object');
  }
  const pairs = input.data;
  const cas = input.options?.cas;
  const config = await configOf(storage);
  const change = async (tx: Storage): Promise<Reply> => {
    const key = await findKey(tx, params.path);
    if (verb === 'patch' && !key) return missing;
    checkCas(key, config, cas);
    const before = verb === 'patch' ? await newestValue(tx, params.path, key, nowMs) : undefined;
    if (verb === 'patch' && before === undefined) {
      return key?.versions[key.currentVersion]
        ? notFoundWith(JSON.stringify(showMetadata(key, key.currentVersion)))
        : missing;
    }
    const nextVersion = withNextVersion(key ?? newKey(nowMs), config, nowMs, authorOf(call.caller));
    putKey(tx, params.path, nextVersion.key, key);
    tx.put(valueKey(params.path, nextVersion.version), jsonText(next(pairs, before)));
    for (const number of nextVersion.dropped) tx.delete(valueKey(params.path, number));
    return data(showMetadata(nextVersion.key, nextVersion.version));
  };
  // A patch derives the new value from the old one.
  return changeKey(storage, params.path, change, verb === 'patch');
}

async function newestValue(storage: Storage, path: string, key: KeyMetadata | undefined, nowMs: number) {
  const facts = key?.versions[key.currentVersion];
  return key && facts && readable(facts, nowMs) ? storage.get(valueKey(path, key.currentVersion)) : undefined;
}

/** JSON merge patch: null removes a value, objects are merged, and everything else is replaced. */
function patched(patch: Record<string, unknown>, before: string | undefined): unknown {
  return merge(parseExact(before ?? '{}'), patch);
}

function merge(target: unknown, patch: unknown): unknown {
  if (!isObject(patch) || patch instanceof ExactNumber) return patch;
  const merged = new Map(isObject(target) && !(target instanceof ExactNumber) ? Object.entries(target) : []);
  for (const [name, value] of Object.entries(patch)) {
    if (value === null) merged.delete(name);
    else merged.set(name, merge(merged.get(name), value));
  }
  return Object.fromEntries(merged);
}

/** Throws `invalid` if a write must name the newest version, but names no version or a different one. */
export function checkCas(key: KeyMetadata | undefined, config: KvConfig, cas: number | undefined): void {
  if (cas === undefined) {
    if (!config.cas_required && !key?.casRequired) return;
    throw new Refusal('invalid', 'check-and-set parameter required for this call');
  }
  if (cas !== (key?.currentVersion ?? 0)) {
    throw new Refusal('invalid', 'check-and-set parameter did not match the current version');
  }
}

async function changeVersions(
  { storage, params, nowMs }: Call<SecretParams>,
  which: 'newest' | readonly number[],
  change: (version: KeyMetadata['versions'][string]) => KeyMetadata['versions'][string],
  also: (storage: Storage, number: number) => void = () => {},
): Promise<Reply> {
  await changeKey(storage, params.path, async (tx) => {
    const key = await findKey(tx, params.path);
    if (!key) return;
    const versions = { ...key.versions };
    for (const number of which === 'newest' ? [key.currentVersion] : which) {
      const version = versions[number];
      if (!version || (which === 'newest' && !readable(version, nowMs))) continue;
      versions[number] = change(version);
      also(tx, number);
    }
    const isChanged = JSON.stringify(versions) !== JSON.stringify(key.versions);
    if (isChanged) putKey(tx, params.path, { ...key, versions, updatedAtMs: nowMs }, key);
  });
  return empty;
}

function versionsOf(input: z.output<typeof VersionsInput>): number[] {
  const numbers = input.versions ?? [];
  if (numbers.length === 0) throw new Refusal('invalid', 'no version number provided');
  if (numbers.some((number) => number < 0)) {
    throw new Refusal('invalid', 'versions must be version numbers');
  }
  return numbers;
}

function showMetadata(key: KeyMetadata, number: number): Record<string, unknown> {
  const { created_time, deletion_time, destroyed } = showVersion(key.versions[number]!);
  return { created_time, custom_metadata: key.customMetadata, deletion_time, destroyed, version: number };
}
