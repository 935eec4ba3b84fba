import type { Keyring } from '@keystead/keyring';
import type { Database } from '../../../../kernel/database/database';
import type { LogEnd, RunJob } from './job';

const STX = Buffer.from([2]);
const ETX = Buffer.from([3]);
const chunkBytes = 64 * 1024;
const SPACE = 0x20;
const largestRead = 1024 * 1024;

const cell = (phaseId: string, start: bigint) => ({ table: 'log_chunk', row: `${phaseId}/${start}`, column: 'sealed' });

/** Replaces STX and ETX by spaces, because output of the tool must not end a log. */
function harmless(bytes: Uint8Array): Uint8Array {
  if (!bytes.some((byte) => byte === STX[0] || byte === ETX[0])) return bytes;
  return bytes.map((byte) => (byte === STX[0] || byte === ETX[0] ? SPACE : byte));
}

/** The end of a job's log, and whether the bytes to add begin after it. */
export interface Appended {
  readonly size: bigint;
  readonly gap: boolean;
}

/**
 * Appends to the log of a job: encrypted chunks that never change again. Undefined for a worker that was replaced,
 * whose output is dropped. `offset` is the position of the bytes in the log; bytes that are already there are not added
 * again.
 */
export async function append(
  db: Database,
  keyring: Keyring,
  job: Pick<RunJob, 'id' | 'attempt'>,
  piece: Uint8Array,
  offset?: bigint,
): Promise<Appended | undefined> {
  if (piece.length === 0 && offset === undefined) return undefined;
  return db.transaction(async (tx) => {
    const [phase] = await tx.prisma.$queryRaw<{ id: string; log_size: bigint }[]>`
      SELECT p.id, p.log_size FROM run_phase p JOIN run_job j ON j.phase_id = p.id
       WHERE j.id = ${job.id} AND j.attempt = ${job.attempt} AND j.state IN ('claimed', 'started') FOR UPDATE OF p`;
    if (!phase) return undefined;
    const phaseId = phase.id;
    const start = BigInt(phase.log_size);
    if (offset !== undefined && offset > start) return { size: start, gap: true };
    const stored = offset === undefined ? 0n : start - offset;
    const bytes = stored < BigInt(piece.length) ? piece.subarray(Number(stored)) : piece.subarray(piece.length);
    if (bytes.length === 0) return { size: start, gap: false };
    return { size: await appendToPhase(tx, keyring, { id: phaseId, logSize: start }, bytes), gap: false };
  });
}

/** Appends to the log of a locked phase; returns the new end of the log. */
export async function appendToPhase(
  tx: Database,
  keyring: Keyring,
  phase: Pick<Logged, 'id' | 'logSize'>,
  bytes: Uint8Array,
): Promise<bigint> {
  let start = phase.logSize;
  for (let at = 0; at < bytes.length; at += chunkBytes) {
    const piece = harmless(bytes.subarray(at, at + chunkBytes));
    const sealed = new Uint8Array(keyring.seal(piece, cell(phase.id, start)));
    const end = start + BigInt(piece.length);
    await tx.prisma.$executeRaw`
      WITH added AS (INSERT INTO log_chunk (phase_id, start, size, sealed) VALUES (${phase.id}, ${start}, ${piece.length}, ${sealed}))
      UPDATE run_phase SET log_size = ${end} WHERE id = ${phase.id}`;
    start = end;
  }
  return start;
}

const gapNote = Buffer.from('\n\nA part of the log is missing here.\n\n');

/**
 * Appends the end of a log in the transaction that ends its job, before the job ends. The end is stored even if the
 * database no longer has what precedes it.
 */
export async function appendEnd(tx: Database, keyring: Keyring, job: RunJob, log: LogEnd | undefined): Promise<void> {
  if (!log || log.bytes.length === 0) return;
  const appended = await append(tx, keyring, job, log.bytes, log.offset);
  if (appended?.gap) await append(tx, keyring, job, Buffer.concat([gapNote, log.bytes]));
}

/** Where the log of a job ends. */
export async function endOf(db: Database, job: Pick<RunJob, 'id'>): Promise<bigint> {
  const [phase] = await db.prisma.$queryRaw<{ log_size: bigint }[]>`
    SELECT p.log_size FROM run_phase p JOIN run_job j ON j.phase_id = p.id WHERE j.id = ${job.id}`;
  return BigInt(phase?.log_size ?? 0n);
}

/** An object with a log. */
export interface Logged {
  readonly id: string;
  readonly status: string;
  readonly logSize: bigint;
}

/** Whether a phase with this status is over, so that nothing more will be appended to its log. */
export const isLogOver = (status: string): boolean => ['finished', 'errored', 'canceled'].includes(status);

/**
 * A window of a log as clients read it: STX, the text, and ETX at the end of a finished log. Offsets include STX. Empty
 * if there is no log yet, or nothing new.
 */
export async function read(
  db: Database,
  keyring: Keyring,
  { id, status, logSize }: Logged,
  window: { offset: number; limit: number },
): Promise<Buffer> {
  const hasBegun = logSize > 0n || status === 'running' || isLogOver(status);
  if (!hasBegun) return Buffer.alloc(0);
  const limit = Math.min(window.limit, largestRead);
  const from = BigInt(window.offset) - 1n;
  const to = from + BigInt(limit);
  const pieces: Buffer[] = window.offset === 0 && limit > 0 ? [STX] : [];
  pieces.push(...(await piecesOf(db, keyring, id, { from, to: to < logSize ? to : logSize })));
  if (isLogOver(status) && from <= logSize && to > logSize) pieces.push(ETX);
  return Buffer.concat(pieces);
}

/** The text of a log from one byte to another, without STX and ETX. */
export async function readRange(
  db: Database,
  keyring: Keyring,
  phaseId: string,
  { from, to }: { from: number; to: number },
): Promise<Buffer> {
  return Buffer.concat(await piecesOf(db, keyring, phaseId, { from: BigInt(from), to: BigInt(to) }));
}

async function piecesOf(
  db: Database,
  keyring: Keyring,
  phaseId: string,
  { from, to }: { from: bigint; to: bigint },
): Promise<Buffer[]> {
  const rows = await db.prisma.$queryRaw<{ start: bigint; sealed: Uint8Array }[]>`
    SELECT start, sealed FROM log_chunk
     WHERE phase_id = ${phaseId} AND start < ${to} AND start + size > ${from} ORDER BY start`;
  return rows.map(({ start: at, sealed }) => {
    const start = BigInt(at);
    const bytes = keyring.open(sealed, cell(phaseId, start));
    const first = from > start ? Number(from - start) : 0;
    const last = to - start < BigInt(bytes.length) ? Number(to - start) : bytes.length;
    return bytes.subarray(first, last);
  });
}
