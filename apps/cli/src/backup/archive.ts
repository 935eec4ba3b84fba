import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { createReadStream, createWriteStream } from 'node:fs';
import { createInterface } from 'node:readline';
import { pipeline } from 'node:stream/promises';
import { createGunzip, createGzip } from 'node:zlib';
import { Problem } from '../problem';
import type { Sequence, Table } from './tables';

/** What a backup says of itself before its rows. */
export interface Header {
  format: 1;
  service: 'secrets' | 'workspaces';
  madeAt: string;
  migrations: readonly string[];
  tables: readonly Table[];
  sequences: readonly Sequence[];
  /** Names the seal key that opens the content, without giving it away; absent when it was not at hand. */
  sealKey?: string;
}

/** A batch of rows of one table. */
export interface Batch {
  table: string;
  rows: readonly string[];
}

interface Footer {
  counts: Record<string, number>;
  /** SHA-256 of every line before this one. */
  digest: string;
}

type Line = { header: Header } | { batch: Batch } | { footer: Footer };

/** Writes a backup file, compressed and readable by its owner alone. Refuses to overwrite. */
export async function writeArchive(
  file: string,
  header: Header,
  batches: AsyncIterable<Batch>,
): Promise<Record<string, number>> {
  const counts: Record<string, number> = Object.fromEntries(header.tables.map(({ name }) => [name, 0]));
  const gzip = createGzip();
  const written = pipeline(gzip, createWriteStream(file, { flags: 'wx', mode: 0o600 }));
  // Seen by whoever awaits it below; an early failure must not end the process before that.
  written.catch(() => {});
  const digest = createHash('sha256');
  const put = async (line: Line) => {
    const text = `${JSON.stringify(line)}\n`;
    if (!('footer' in line)) digest.update(text);
    if (!gzip.write(text)) await Promise.race([once(gzip, 'drain'), written]);
  };
  await put({ header });
  for await (const batch of batches) {
    counts[batch.table] = (counts[batch.table] ?? 0) + batch.rows.length;
    await put({ batch });
  }
  await put({ footer: { counts, digest: digest.digest('hex') } });
  gzip.end();
  await written;
  return counts;
}

/** Reads the header of a backup. Throws `Problem` when it is none. */
export async function readHeader(file: string): Promise<Header> {
  for await (const line of linesOf(file)) {
    const { header } = parse(file, line) as { header?: Header };
    if (header?.format !== 1) throw new Problem(`${file} is no backup that this version reads`);
    return header;
  }
  throw new Problem(`${file} is empty`);
}

/**
 * Gives every batch of a backup and checks it on the way: the digest, the counts, and that it does not end early.
 * Throws `Problem`; what was read until then must not be kept.
 */
export async function* readBatches(file: string): AsyncGenerator<Batch> {
  const counts: Record<string, number> = {};
  const digest = createHash('sha256');
  let footer: Footer | undefined;
  for await (const text of linesOf(file)) {
    const line = parse(file, text);
    if (footer) throw new Problem(`${file} goes on after its end`);
    if ('footer' in line) {
      footer = line.footer;
      continue;
    }
    digest.update(`${text}\n`);
    if (!('batch' in line)) continue;
    counts[line.batch.table] = (counts[line.batch.table] ?? 0) + line.batch.rows.length;
    yield line.batch;
  }
  if (!footer) throw new Problem(`${file} ends early: it was cut off`);
  if (footer.digest !== digest.digest('hex')) throw new Problem(`${file} was changed since it was made`);
  for (const [table, count] of Object.entries(footer.counts)) {
    if ((counts[table] ?? 0) !== count) throw new Problem(`${file} lacks rows of ${table}`);
  }
}

async function* linesOf(file: string): AsyncGenerator<string> {
  const source = createReadStream(file);
  const gunzip = createGunzip();
  const lines = createInterface({ input: gunzip, crlfDelay: Number.POSITIVE_INFINITY });
  let failure: Error | undefined;
  const fail = (error: Error) => {
    failure ??= error;
    lines.close();
  };
  source.on('error', fail);
  gunzip.on('error', fail);
  source.pipe(gunzip);
  try {
    for await (const line of lines) yield line;
  } finally {
    source.destroy();
    gunzip.destroy();
  }
  if (failure) throw new Problem(`${file} cannot be read: ${failure.message}`);
}

function parse(file: string, text: string): Line {
  try {
    return JSON.parse(text) as Line;
  } catch {
    throw new Problem(`${file} is no backup`);
  }
}
