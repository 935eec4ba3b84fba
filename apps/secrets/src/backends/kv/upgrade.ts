import { Refusal } from '@keystead/refusal';
import { backend } from '../../sdk/backend';
import { operation, path } from '../../sdk/path';
import type { Storage } from '../../sdk/storage';
import { changeKey, configOf, findKey, newKey, putKey, valueKey, versionedKey, withNextVersion } from './key-metadata';

const wait = operation({
  summary: 'Answer that the mount is being upgraded.',
  run() {
    throw new Refusal(
      'unavailable',
      'Upgrading from non-versioned to versioned data. This backend will be unavailable for a brief period and will resume service shortly.',
    );
  },
});

/** The backend of a key/value mount during its upgrade to versions: callers get an error that tells them to wait. */
export const kvUpgrading = backend({
  type: 'kv',
  kind: 'secret',
  summary: 'key/value secret storage, being upgraded to versions',
  paths: [
    path(':path*', { summary: 'Waits.', read: wait, list: wait, scan: wait, write: wait, patch: wait, delete: wait }),
  ],
});

/** Converts a secret without versions to version 1 of a secret with versions. `text` is its pairs as JSON. */
export function firstVersionOf(at: string, text: string, nowMs: number): readonly { path: string; value: string }[] {
  const settings = { max_versions: 0, cas_required: false, delete_version_after: 0 };
  const { key, version } = withNextVersion(newKey(nowMs), settings, nowMs);
  return [
    { path: versionedKey(at), value: JSON.stringify(key) },
    { path: valueKey(at, version), value: text },
  ];
}

/** The names of entries in a mount with versions. */
const versioned = /^(?:meta\/|ends\/\d{12} |data\/\d+\/|config$)/;

/**
 * Adopts secrets that a slow request wrote without versions during the upgrade, as their newest versions. Returns the
 * number of these secrets.
 */
export async function adoptLate(storage: Storage, nowMs: number): Promise<number> {
  const late = (await storage.scan('')).filter((at) => !versioned.test(at));
  const config = await configOf(storage);
  for (const at of late) {
    await changeKey(storage, at, async (tx) => {
      const text = await tx.get(at);
      if (text === undefined) return;
      const before = await findKey(tx, at);
      const { key, version, dropped } = withNextVersion(before ?? newKey(nowMs), config, nowMs);
      putKey(tx, at, key, before);
      tx.put(valueKey(at, version), text);
      for (const number of dropped) tx.delete(valueKey(at, number));
      tx.delete(at);
    });
  }
  return late.length;
}
