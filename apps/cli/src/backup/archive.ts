import { createHash, createHmac, hkdfSync, timingSafeEqual } from 'node:crypto';
import { once } from 'node:events';
import { createReadStream, createWriteStream } from 'node:fs';
import { createInterface } from 'node:readline';
import { pipeline } from 'node:stream/promises';
import { createGunzip, createGzip } from 'node:zlib';
import { asProblem } from '../failure';
import { exitCodes, Problem } from '../problem';
import type { BackupTable, Sequence } from './tables';

/** The header of a backup. */
export interface Header {
  format: 1;
  service: 'secrets' | 'workspaces';
  madeAt: string;
  migrations: readonly string[];
  tables: readonly BackupTable[];
  sequences: readonly Sequence[];
  /** Identifies the seal key of the content without revealing it; absent if the key was not available. */
  sealKey?: string;
}

/** A batch of rows of one table. */
export interface Batch {
  table: string;
  rows: readonly string[];
}

interface Footer {
  counts: Record<string, number>;
  /** SHA-256 of every line before this one: detects damage, but not deliberate changes. */
  digest: string;
  /** HMAC-SHA-256 of the same lines with a key derived from the seal key; absent if the seal key was not available. */
  mac?: string;
}

/** How the content of a backup is authenticated. */
export interface Proof {
  readonly sealKey?: Uint8Array;
  /** Accepts a backup that was created without the seal key. A backup with a wrong MAC is always refused. */
  readonly allowUnauthenticated?: boolean;
}

/** The digests of all lines of a backup except the last. */
function digests(sealKey: Uint8Array | undefined) {
  const hash = createHash('sha256');
  const mac = sealKey && createHmac('sha256', Buffer.from(hkdfSync('sha256', sealKey, '', 'keystead backup', 32)));
  return {
    update(text: string) {
      hash.update(text);
      mac?.update(text);
    },
    finish: () => ({ digest: hash.digest('hex'), mac: mac?.digest('hex') }),
  };
}

type BackupLine = { header: Header } | { batch: Batch } | { footer: Footer };

/**
 * Writes a backup file, compressed and readable only by its owner; `-` is standard output. Calls `saved` after each
 * batch with the number of rows written. Refuses to overwrite.
 */
export async function writeArchive(
  file: string,
  header: Header,
  sealKey: Uint8Array | undefined,
  batches: AsyncIterable<Batch>,
  saved: (rows: number) => void = () => {},
): Promise<Record<string, number>> {
  const counts: Record<string, number> = Object.fromEntries(header.tables.map(({ name }) => [name, 0]));
  const gzip = createGzip();
  const target = file === '-' ? process.stdout : createWriteStream(file, { flags: 'wx', mode: 0o600 });
  const writing = pipeline(gzip, target);
  // `writing` is awaited below. If it fails before that, the failure must not end the process.
  writing.catch(() => {});
  const lines = digests(sealKey);
  const put = async (line: BackupLine) => {
    const text = `${JSON.stringify(line)}\n`;
    if (!('footer' in line)) lines.update(text);
    if (!gzip.write(text)) await Promise.race([once(gzip, 'drain'), writing]);
  };
  await put({ header });
  for await (const batch of batches) {
    counts[batch.table] = (counts[batch.table] ?? 0) + batch.rows.length;
    await put({ batch });
    saved(batch.rows.length);
  }
  await put({ footer: { counts, ...lines.finish() } });
  gzip.end();
  await writing;
  return counts;
}

/** Reads the header of a backup. Throws `Problem` if the file is not a backup. */
export async function readHeader(file: string): Promise<Header> {
  for await (const line of linesOf(file)) {
    const { header } = parse(file, line) as { header?: Header };
    if (!isHeader(header)) throw damaged(`${file} is not a backup that this version can read`);
    return header;
  }
  throw damaged(`${file} is empty`);
}

/**
 * Yields every batch of a backup, calls `read` with the bytes read so far, and verifies digests, counts and
 * completeness. With the seal key, it rejects a backup that was changed by someone without the key. If it throws
 * `Problem`, discard everything that it has yielded.
 */
export async function* readBatches(file: string, proof: Proof, read?: (bytes: number) => void): AsyncGenerator<Batch> {
  const counts: Record<string, number> = {};
  const digest = digests(proof.sealKey);
  let named: readonly BackupTable[] = [];
  let lines = 0;
  let footer: Footer | undefined;
  for await (const text of linesOf(file, read)) {
    lines += 1;
    const line = parse(file, text, lines);
    if (footer) throw damaged(`${file} has data after its end`);
    if ('footer' in line) {
      footer = line.footer;
      continue;
    }
    digest.update(`${text}\n`);
    if ('header' in line) named = line.header.tables;
    if (!('batch' in line)) continue;
    const { table } = line.batch;
    if (!named.some(({ name }) => name === table))
      throw damaged(`${file} contains rows of ${table}, which its header does not list`);
    counts[table] = (counts[table] ?? 0) + line.batch.rows.length;
    yield line.batch;
  }
  if (!footer) throw damaged(`${file} ends early: it was cut off`);
  requireSame(file, footer, digest.finish(), proof);
  for (const [table, count] of Object.entries(footer.counts)) {
    if ((counts[table] ?? 0) !== count) throw damaged(`${file} lacks rows of ${table}`);
  }
}

function requireSame(
  file: string,
  footer: Footer,
  found: ReturnType<ReturnType<typeof digests>['finish']>,
  proof: Proof,
) {
  if (footer.digest !== found.digest) throw damaged(`${file} has been changed since it was made`);
  if (found.mac === undefined) return;
  if (footer.mac === undefined) {
    if (proof.allowUnauthenticated) return;
    throw damaged(
      `${file} was made without the seal key, so anyone may have changed it: make backups with the key, or accept this one with --allow-unauthenticated`,
    );
  }
  const [claimed, real] = [footer.mac, found.mac].map((text) => Buffer.from(text, 'hex')) as [Buffer, Buffer];
  if (claimed.length !== real.length || !timingSafeEqual(claimed, real))
    throw damaged(`${file} was changed by someone without the seal key, or was made under another one`);
}

const damaged = (message: string): Problem => new Problem(message, exitCodes.file);

/** Reads a backup to its end and returns its number of rows. Throws `Problem` if it is incomplete. */
export async function checkArchive(file: string, proof: Proof, read?: (bytes: number) => void): Promise<number> {
  let count = 0;
  for await (const { rows } of readBatches(file, proof, read)) count += rows.length;
  return count;
}

async function* linesOf(file: string, read?: (bytes: number) => void): AsyncGenerator<string> {
  const source = createReadStream(file);
  const gunzip = createGunzip();
  const lines = createInterface({ input: gunzip, crlfDelay: Number.POSITIVE_INFINITY });
  let failure: NodeJS.ErrnoException | undefined;
  const fail = (error: Error) => {
    failure ??= error;
    lines.close();
  };
  source.on('error', fail);
  gunzip.on('error', fail);
  source.pipe(gunzip);
  let rowCount = 0;
  try {
    for await (const line of lines) {
      rowCount += 1;
      read?.(source.bytesRead);
      yield line;
    }
  } catch (error) {
    // A read error of the file also ends this loop; it is reported below. Other errors are rethrown.
    if (error !== failure) throw error;
  } finally {
    source.destroy();
    gunzip.destroy();
  }
  if (!failure) return;
  if (failure.path !== undefined || !/^Z_/.test(failure.code ?? '')) {
    failure.path ??= file;
    throw asProblem(failure);
  }
  if (rowCount > 0) throw damaged(`${file} is damaged after line ${rowCount}: ${failure.message}`);
  throw damaged(source.bytesRead === 0 ? `${file} is empty` : `${file} is not a backup, or its beginning is damaged`);
}

function parse(file: string, text: string, number = 1): BackupLine {
  let line: unknown;
  try {
    line = JSON.parse(text);
  } catch {
    // Reported below.
  }
  if (typeof line !== 'object' || line === null) {
    throw damaged(number === 1 ? `${file} is not a backup` : `${file} is damaged: line ${number} is not valid JSON`);
  }
  return line as BackupLine;
}

function isHeader(header: Header | undefined): header is Header {
  return (
    header?.format === 1 &&
    (header.service === 'secrets' || header.service === 'workspaces') &&
    [header.migrations, header.tables, header.sequences].every(Array.isArray)
  );
}
