import { setTimeout as sleep } from 'node:timers/promises';
import { Refusal } from '@keystead/refusal';
import { adoptLate, firstVersionOf } from '../backends/kv/upgrade';
import type { LiveMount } from '../kernel/mounts/mount';
import type { Mounts } from '../kernel/mounts/mounts';
import type { Jobs } from '../kernel/storage/jobs';
import type { StorageKernel } from '../kernel/storage/storage';
import { addDelete, addPut, newWriteSet } from '../kernel/storage/write-set';
import type { BackgroundCall } from '../sdk/call';

interface KvUpgradeDeps {
  readonly mounts: Mounts;
  readonly jobs: Jobs;
  readonly storage: StorageKernel;
  readonly inBackground: <T>(mount: LiveMount, run: (call: BackgroundCall) => Promise<T>) => Promise<T>;
}

interface KvUpgradeState {
  readonly uuid: string;
  readonly step: 'close' | 'convert' | 'late';
}

const kind = 'kv-upgrade';
/** The number of secrets that one commit can convert without blocking others. */
const most = { secrets: 10_000, bytes: 64 * 1024 * 1024 };
/** The time until every node knows that the mount is closed, and active writes have finished. */
const quietMs = { single: 500, amongOthers: 3_000 };
/** Longer than any request may take. After this time, no old request is active. */
const lateMs = 120_000;
const readAtOnce = 500;

/**
 * Upgrades a kv mount to versions: closes it, waits for open requests, and then converts everything in one commit
 * together with the mount. This is a job, so another node continues if the first one stops. Decision 0086.
 */
export function kvUpgrade({ mounts, jobs, storage, inBackground }: KvUpgradeDeps): (mount: LiveMount) => Promise<void> {
  const { entries, changes, clock } = storage;
  const find = async (uuid: string) => {
    await mounts.refresh();
    return mounts.find(uuid);
  };
  /** Moves the secrets of some old paths to their new paths. */
  const converted = async (mountId: string, paths: readonly string[]) => {
    const set = newWriteSet();
    for (const path of paths) addDelete(set, { mountId, path });
    for (let at = 0; at < paths.length; at += readAtOnce) {
      const keys = paths.slice(at, at + readAtOnce).map((path) => ({ mountId, path }));
      for (const entry of await entries.readMany(keys)) {
        if (!entry) continue;
        const version = firstVersionOf(entry.path, entry.value.toString('utf8'), clock.now());
        for (const { path, value } of version) addPut(set, { mountId, path, value: Buffer.from(value) });
      }
    }
    return set;
  };
  jobs.define<KvUpgradeState>(kind, async ({ uuid, step }) => {
    const mount = await find(uuid);
    const finished = { state: { uuid, step }, advanced: 0, finished: true };
    if (!mount) return finished;
    if (step === 'late') {
      const advanced = await inBackground(mount, ({ storage, nowMs }) => adoptLate(storage, nowMs));
      return { ...finished, advanced };
    }
    const isDone = mount.options?.version === '2';
    if (step === 'close') {
      if (isDone) return finished;
      const closed = await mounts.tune(mount, (now) => ({
        options: now.options?.version === '2' ? now.options : { ...now.options, upgrading: 'true' },
      }));
      if (!closed) return finished;
      await sleep(changes.mustTell ? quietMs.amongOthers : quietMs.single);
      return { state: { uuid, step: 'convert' }, advanced: 0, finished: false };
    }
    const late = { state: { uuid, step: 'late' as const }, finished: false, waitMs: lateMs };
    // The mount was converted, but the progress of the job could not be recorded.
    if (isDone) return { ...late, advanced: 0 };
    const paths = await entries.listDeep(uuid, '');
    const set = await converted(uuid, paths);
    const tuned = await mounts.tuneWith(mount, set, (now) => {
      if (now.options?.version === '2') return undefined;
      const { upgrading: _upgrading, ...options } = now.options ?? {};
      return { options: { ...options, version: '2' } };
    });
    return { ...late, advanced: tuned ? paths.length : 0 };
  });
  return async (mount) => {
    const { count, bytes } = await entries.weigh(mount.uuid);
    if (count > most.secrets || bytes > most.bytes) {
      const text = `it holds more than ${most.secrets} secrets or ${most.bytes} bytes: mount another one and copy`;
      throw new Refusal('invalid', `${mount.path} cannot be upgraded to versions in one step: ${text}`);
    }
    await jobs.startHere(kind, mount.uuid, { uuid: mount.uuid, step: 'close' });
    if ((await find(mount.uuid))?.options?.version === '2') return;
    throw new Refusal('unavailable', `${mount.path} is being upgraded to versions and will be available shortly`);
  };
}
