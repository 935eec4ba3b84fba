import { Refusal } from '@keystead/refusal';
import { z } from 'zod';
import { single } from '../../sdk/collection';
import { durationText } from '../../sdk/duration';
import { type Ending, endEntry, endFolder, listEnding } from '../../sdk/ending';
import { bool, int, signedDuration } from '../../sdk/fields';
import { path } from '../../sdk/path';
import { recordFields } from '../../sdk/record-fields';
import { data, empty } from '../../sdk/reply';
import type { Soon } from '../../sdk/soon';
import type { Page, Storage } from '../../sdk/storage';

/** The author of a version. */
export interface Author {
  readonly displayName: string;
  /** Empty for a token without an entity. */
  readonly entityId: string;
}

/** One version of a secret; times are epoch milliseconds, 0 for never. */
export interface VersionFacts {
  /** Undefined for a version that was written before authors were stored, or by an upgrade. */
  readonly author?: Author;
  readonly createdAtMs: number;
  readonly deletedAtMs: number;
  readonly destroyed: boolean;
}

/** The metadata of a secret. */
export interface KeyMetadata {
  readonly versions: Readonly<Record<string, VersionFacts>>;
  readonly currentVersion: number;
  readonly oldestVersion: number;
  readonly createdAtMs: number;
  readonly updatedAtMs: number;
  /** 0 means the mount's setting. */
  readonly maxVersions: number;
  readonly casRequired: boolean;
  /** In seconds. 0 means the mount's setting, a negative number means never. */
  readonly deleteAfterSeconds: number;
  readonly customMetadata: Readonly<Record<string, string>> | null;
}

const prefix = 'meta/';

/** The default number of versions. */
const defaultMaxVersions = 10;

const parseKey = JSON.parse as (text: string) => KeyMetadata;

/** The metadata of a secret, if there is one. */
export const findKey = (storage: Storage, path: string): Soon<KeyMetadata | undefined> =>
  storage.read(prefix + path, parseKey);

/** The metadata of secrets directly in or below a folder. Secrets that were deleted in the meantime are omitted. */
export async function findKeys(storage: Storage, folder: string, names: readonly string[]) {
  const texts = await storage.getMany(names.map((name) => prefix + folder + name));
  const found = new Map<string, KeyMetadata>();
  for (const name of names) {
    const text = texts.get(prefix + folder + name);
    if (text !== undefined) found.set(name, parseKey(text));
  }
  return found;
}

/** Changes a secret. Changes of one secret run one after the other. */
export const changeKey = <T>(
  storage: Storage,
  path: string,
  change: (tx: Storage) => Promise<T>,
  asStored = false,
): Promise<T> => storage.transaction(prefix + path, change, asStored);

/** Stores the metadata of a secret; `before` is the metadata that is stored now. */
export function putKey(storage: Storage, path: string, key: KeyMetadata, before?: KeyMetadata): void {
  storage.put(prefix + path, JSON.stringify(key), parseKey, key);
  const end = endOf(key);
  const endBefore = before && endOf(before);
  if (end === endBefore) return;
  if (endBefore !== undefined) storage.delete(endEntry(endBefore, path));
  if (end !== undefined) storage.put(endEntry(end, path), 'true');
}

/** When the newest version will be deleted automatically. */
function endOf({ versions, currentVersion, updatedAtMs }: KeyMetadata): number | undefined {
  const newest = versions[currentVersion];
  return newest && !newest.destroyed && newest.deletedAtMs > updatedAtMs ? newest.deletedAtMs : undefined;
}

/** Removes a secret with all its versions. */
export function removeKey(storage: Storage, path: string, key: KeyMetadata): void {
  for (const version of Object.keys(key.versions)) storage.delete(valueKey(path, Number(version)));
  storage.delete(prefix + path);
  const end = endOf(key);
  if (end !== undefined) storage.delete(endEntry(end, path));
}

export const listKeys = (storage: Storage, folder: string, page: Page): Promise<string[]> =>
  storage.list(prefix + folder, page);

export const scanKeys = (storage: Storage, folder: string, page: Page): Promise<string[]> =>
  storage.scan(prefix + folder, page);

/** Secrets in a folder whose newest version is deleted in a range of time, earliest first. */
export const listEndingKeys = (storage: Storage, folder: string, range: Ending) =>
  listEnding(
    range,
    (page) => storage.scan(endFolder, page),
    async (paths) => {
      const names = paths.flatMap((path) => (path.startsWith(folder) ? [path.slice(folder.length)] : []));
      const found = await findKeys(storage, folder, names);
      return names.flatMap((name) => {
        const key = found.get(name);
        return key ? [[name, key] as const] : [];
      });
    },
  );

/** The key of a secret's metadata. */
export const versionedKey = (path: string): string => prefix + path;

/** The key of a version's value. */
export const valueKey = (path: string, version: number): string => `data/${version}/${path}`;

/** A secret that was never written. */
export function newKey(nowMs: number): KeyMetadata {
  return {
    versions: {},
    currentVersion: 0,
    oldestVersion: 0,
    createdAtMs: nowMs,
    updatedAtMs: nowMs,
    maxVersions: 0,
    casRequired: false,
    deleteAfterSeconds: 0,
    customMetadata: null,
  };
}

/** The metadata with one more version, and the old versions that this removes. */
export function withNextVersion(
  key: KeyMetadata,
  config: KvConfig,
  nowMs: number,
  author?: Author,
): { key: KeyMetadata; version: number; dropped: readonly number[] } {
  const version = key.currentVersion + 1;
  const after = key.deleteAfterSeconds || config.delete_version_after;
  const deletedAtMs = after > 0 ? nowMs + after * 1000 : 0;
  // The version that is being written is always kept, even if an old setting is 0.
  const keep = [key.maxVersions, config.max_versions].find((most) => most > 0) ?? defaultMaxVersions;
  // The names of the versions are numbers, so they are in ascending order.
  const numbers = Object.keys(key.versions);
  const first = Math.max(0, numbers.length + 1 - keep);
  const dropped = numbers.slice(0, first).map(Number);
  const versions: Record<string, VersionFacts> = {};
  for (let at = first; at < numbers.length; at++) versions[numbers[at]!] = key.versions[numbers[at]!]!;
  versions[version] = { createdAtMs: nowMs, deletedAtMs, destroyed: false, ...(author && { author }) };
  const oldestVersion = first > 0 ? Number(numbers[first] ?? version) : key.oldestVersion;
  return { key: { ...key, versions, currentVersion: version, oldestVersion, updatedAtMs: nowMs }, version, dropped };
}

/** The caller as the author of what it writes. */
export const authorOf = ({ displayName, entityId }: Author): Author => ({ displayName, entityId });

/** True while a version's value may be read. */
export function readable(version: VersionFacts, nowMs: number): boolean {
  return !version.destroyed && (version.deletedAtMs === 0 || version.deletedAtMs > nowMs);
}

/** A version in answers. */
export function showVersion(version: VersionFacts): Record<string, unknown> {
  const { author } = version;
  return {
    created_by: author === undefined ? null : { display_name: author.displayName, entity_id: author.entityId },
    created_time: new Date(version.createdAtMs).toISOString(),
    deletion_time: version.deletedAtMs === 0 ? '' : new Date(version.deletedAtMs).toISOString(),
    destroyed: version.destroyed,
  };
}

const fields = recordFields({
  max_versions: [int().describe('Number of versions to keep per secret. 0: ten.'), 0],
  cas_required: [bool().describe('Writes must include cas.'), false],
  delete_version_after: [signedDuration().describe('Time after which versions are deleted. 0: never.'), 0],
});
/** The mount's defaults for its secrets. */
export type KvConfig = typeof fields.defaults;
const config = single('config', fields.input);

/** The mount's settings for all its secrets; the defaults if none were written. */
export const configOf = async (storage: Storage): Promise<KvConfig> => (await config.find(storage)) ?? fields.defaults;

export const configPath = path('config', {
  summary: 'Settings for all secrets of the mount.',
  stored: ({ storage }) => config.find(storage),
  read: {
    summary: 'Read the configuration of the mount.',
    operationId: 'read-configuration',
    output: fields.output.extend({ delete_version_after: z.string() }),
    auditClear: 'all',
    async run({ storage }) {
      const { cas_required, delete_version_after, max_versions } = await configOf(storage);
      return data({ cas_required, delete_version_after: durationText(delete_version_after), max_versions });
    },
  },
  write: {
    summary: 'Configure the mount.',
    operationId: 'configure',
    input: fields.input,
    update: 'merge',
    defaults: fields.defaults,
    auditClear: 'all',
    run({ storage, input }) {
      if (input.max_versions < 0) throw new Refusal('invalid', 'max_versions must not be negative');
      config.put(storage, input);
      return empty;
    },
  },
});
