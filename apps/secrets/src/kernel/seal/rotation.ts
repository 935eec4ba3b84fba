import type { JobFacts, JobStep } from '../storage/jobs';
import type { StorageKernel } from '../storage/storage';
import { RotationPlan } from './rotation-plan';
import type { Seal } from './seal';
import { findSeal, replaceKeyring } from './seal-row';
import { type SealedColumn, sealedColumns } from './sealed-columns';

/** The key that seals new values. */
export interface KeyStatus {
  readonly term: number;
  readonly installedAtMs: number;
  /** Values that this node has sealed with the key, without the values resealed after a rotation. */
  readonly encryptions: number;
}

interface RotationState {
  readonly version: number;
  /** The current sealed column, and its last resealed row. */
  readonly at: number;
  readonly after?: readonly string[];
}

const KIND = 'reseal';
const ROWS_AT_ONCE = 500;

/** Rotates the key of the barrier. New values use the new key at once; old values are resealed in the background. */
export class Rotation {
  readonly plan: RotationPlan;

  constructor(
    private readonly storage: StorageKernel,
    private readonly seal: Seal,
  ) {
    this.plan = new RotationPlan(storage);
    storage.jobs.define<RotationState>(KIND, (state) => this.step(state));
    storage.background.every('key-rotation', 60_000, () => this.rotateIfDue(), { byTime: true });
  }

  /** Rotates the key if the rules require it; only one of several nodes does. */
  async rotateIfDue(): Promise<undefined> {
    const record = await findSeal(this.storage.database);
    if (!record || !(await this.plan.isDue(record.keyInstalledAtMs))) return;
    if (await this.install(record.keyInstalledAtMs))
      this.storage.log?.info({}, 'the encryption key was rotated automatically');
  }

  async keyStatus(): Promise<KeyStatus> {
    const { keyInstalledAtMs } = await this.seal.requireRecord();
    const { barrier } = this.storage;
    return { term: barrier.keys.version, installedAtMs: keyInstalledAtMs, encryptions: barrier.sealedCount };
  }

  /** Activates a new key on every node and starts to reseal values of older keys. */
  async rotate(): Promise<KeyStatus> {
    await this.install();
    return this.keyStatus();
  }

  /** Installs a new key. Returns false if the key that was installed at `insteadOfMs` has already been replaced. */
  private async install(insteadOfMs?: number): Promise<boolean> {
    const { storage, seal } = this;
    const version = await storage.committer.transaction(
      async (tx) => {
        const record = await findSeal(tx, true);
        if (insteadOfMs !== undefined && record!.keyInstalledAtMs !== insteadOfMs) return undefined;
        const keyring = seal.unwrap(record!.keyring);
        const next = keyring.addVersion();
        await replaceKeyring(tx, seal.wrap(keyring), storage.clock.now());
        keyring.destroy();
        return next;
      },
      [{ topic: 'seal', key: 'rotated' }],
    );
    if (version === undefined) return false;
    await storage.fault('rotate:stored');
    await seal.reload();
    await storage.jobs.start(KIND, '', { version, at: 0 } satisfies RotationState);
    storage.background.wake('jobs');
    return true;
  }

  /** The progress of resealing; undefined if there never was any. */
  progress(): Promise<JobFacts | undefined> {
    return this.storage.jobs.newest(KIND, '');
  }

  private async step({ version, at, after }: RotationState): Promise<JobStep<RotationState>> {
    const column = sealedColumns[at];
    if (!column) return { state: { version, at }, advanced: 0, finished: true };
    // A newer rotation has its own job; this job must not undo its work.
    if (this.storage.barrier.keys.version < version) await this.storage.reloadKeys();
    const { resealed, last, more } = await this.resealSome(column, after);
    const finished = !more && at + 1 >= sealedColumns.length;
    return { state: more ? { version, at, after: last } : { version, at: at + 1 }, advanced: resealed, finished };
  }

  private async resealSome(column: SealedColumn, after: readonly string[] | undefined) {
    const { database, barrier } = this.storage;
    const { rows } = await database.query<Record<string, Buffer | string>>(select(column, after !== undefined), [
      ROWS_AT_ONCE,
      ...(after ?? []),
    ]);
    const changed: { keys: string[]; old: Buffer; fresh: Buffer }[] = [];
    for (const row of rows) {
      const old = row.sealed as Buffer;
      if (barrier.keys.versionOf(old) >= barrier.keys.version) continue;
      const parts = column.key.map(([name]) => row[name]!);
      const cell = { table: column.table, row: column.row(...(parts as never[])), column: column.column };
      // Not counted as use of the key: a store with more values than the rules allow would rotate forever.
      changed.push({ keys: parts.map(keyText), old, fresh: barrier.keys.seal(barrier.open(old, cell), cell) });
    }
    if (changed.length > 0) {
      await database.query(update(column), [
        ...column.key.map((_, index) => changed.map(({ keys }) => keys[index])),
        changed.map(({ old }) => old),
        changed.map(({ fresh }) => fresh),
      ]);
    }
    const last = rows.at(-1);
    return {
      resealed: changed.length,
      last: last && column.key.map(([name]) => keyText(last[name]!)),
      more: rows.length === ROWS_AT_ONCE,
    };
  }
}

const keyText = (part: Buffer | string): string => (Buffer.isBuffer(part) ? `\\x${part.toString('hex')}` : part);

function select({ table, column, key }: SealedColumn, follows: boolean): string {
  const names = key.map(([name]) => `"${name}"`).join(', ');
  const values = key.map(([, type], index) => `$${index + 2}::text::${type}`).join(', ');
  const bound = follows ? `AND (${names}) > (${values})` : '';
  return `SELECT ${names}, "${column}" AS sealed FROM "${table}" WHERE "${column}" IS NOT NULL ${bound} ORDER BY ${names} LIMIT $1`;
}

/** Writes a row only if it has not changed since it was read. If the row is an entry, also updates its witness. */
function update({ table, column, key }: SealedColumn): string {
  const arrays = key.map(([, type], index) => `$${index + 1}::text[]::${type}[]`);
  const names = key.map(([name]) => name);
  const bytes = [`$${key.length + 1}::bytea[]`, `$${key.length + 2}::bytea[]`];
  const same = names.map((name) => `t."${name}" = n."${name}"`).join(' AND ');
  const fresh = `unnest(${[...arrays, ...bytes].join(', ')}) AS n(${names.join(', ')}, old, fresh)`;
  const write = `UPDATE "${table}" t SET "${column}" = n.fresh FROM ${fresh} WHERE ${same} AND t."${column}" = n.old`;
  if (table !== 'entry') return write;
  return `WITH written AS (${write} RETURNING t.mount_id, t.path, t.sealed)
    UPDATE entry_witness w SET stamp = substring(written.sealed FROM length(written.sealed) - 15)
      FROM written WHERE w.mount_id = written.mount_id AND w.path = written.path`;
}
