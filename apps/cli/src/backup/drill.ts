import { randomBytes } from 'node:crypto';
import { onDatabase } from '@keystead/postgres';
import { exitCodes, Problem } from '../problem';
import { checkArchive, type Header, type Proof, readBatches, readHeader } from './archive';
import { SealCheck } from './seal';
import { type BytesDone, connected, dropDatabase, migrationNames, restore } from './service-database';
import { listTables, readRows } from './tables';

/** The result of a drill. */
interface Drilled {
  readonly file: string;
  readonly service: Header['service'];
  readonly madeAt: string;
  /** The number of restored rows. All of them were read back. */
  readonly rows: number;
  /** Number of values decrypted with the seal key; null if there was no key. */
  readonly opened: number | null;
  /** States and configurations in an object store, which backups do not contain. */
  readonly objects: number;
  readonly seconds: number;
}

/**
 * Restores a backup into a separate database on a server, reads all of it again, and drops it. Throws `Problem` if
 * anything is missing or cannot be opened; the database is dropped then, too.
 */
export async function drill(
  file: string,
  server: string,
  proof: Proof,
  progress: {
    readonly checked: BytesDone;
    readonly loaded: BytesDone;
    readonly readAgain: (rows: number, total: number) => void;
  },
): Promise<Drilled> {
  const url = onDatabase(server, `keystead_drill_${randomBytes(6).toString('hex')}`);
  const startedMs = performance.now();
  try {
    const header = await readHeader(file);
    const total = await checkArchive(file, proof, progress.checked);
    await restore(file, header, url, proof, progress.loaded);
    const content = await lookAt(url, header, proof.sealKey, (rows) => progress.readAgain(rows, total));
    await compare(file, header, proof, content.counts);
    const rows = Object.values(content.counts).reduce((sum, count) => sum + count, 0);
    const seconds = Math.round((performance.now() - startedMs) / 100) / 10;
    const { service, madeAt } = header;
    return { file, service, madeAt, rows, opened: content.opened ?? null, objects: content.objects, seconds };
  } finally {
    await dropDatabase(url);
  }
}

function lookAt(url: string, header: Header, sealKey: Proof['sealKey'], read: (rows: number) => void) {
  return connected(url, async (client) => {
    await client.query('BEGIN READ ONLY');
    const tables = await listTables(client);
    const check = sealKey && new SealCheck({ ...header, tables }, sealKey);
    const counts: Record<string, number> = {};
    let all = 0;
    for (const table of tables) {
      counts[table.name] = 0;
      for await (const rows of readRows(client, table)) {
        counts[table.name]! += rows.length;
        all += rows.length;
        read(all);
        check?.see({ table: table.name, rows });
      }
    }
    const outside = `SELECT count(*)::int AS count FROM blob WHERE store = 'objects'`;
    const objects = header.service === 'workspaces' ? (await client.query(outside)).rows[0].count : 0;
    return { counts, objects: Number(objects), opened: check?.finish() };
  });
}

/**
 * Compares the rows of the database with those of the backup, unless newer migrations may have added or removed rows.
 */
async function compare(
  file: string,
  header: Header,
  proof: Proof,
  counts: Readonly<Record<string, number>>,
): Promise<void> {
  if (migrationNames(header.service).length !== header.migrations.length) return;
  const saved: Record<string, number> = {};
  for await (const { table, rows } of readBatches(file, proof)) saved[table] = (saved[table] ?? 0) + rows.length;
  for (const [table, count] of Object.entries(saved)) {
    if (counts[table] === count) continue;
    throw new Problem(`${file} has ${count} rows of ${table}, but ${counts[table] ?? 0} were restored`, exitCodes.file);
  }
}
