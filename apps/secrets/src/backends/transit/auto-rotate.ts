import type { BackgroundCall } from '../../sdk/call';
import { changeKey, due, dueAt, findKey, rotated, type TransitKey } from './key';
import { makeVersion } from './material';

/** Rotates the keys that are due. Every node checks, and the first node that stores a new version wins. */
export async function rotateWhenDue({ storage, nowMs }: BackgroundCall): Promise<void> {
  const { names } = await due.list(storage, nowMs);
  for (const name of names) {
    const key = await findKey(storage, name);
    if (!key || !isDue(key, nowMs)) continue;
    const version = await makeVersion(key.type, key.key_size, nowMs);
    await changeKey(storage, name, (found) =>
      found && found.type === key.type && isDue(found, nowMs) ? rotated(found, version) : (found ?? null),
    );
  }
}

function isDue(key: TransitKey, nowMs: number): boolean {
  const seconds = dueAt(key);
  return seconds !== undefined && seconds * 1000 <= nowMs;
}
