import pg from 'pg';

/** One value of bytes: the column of the one row whose other columns are these. */
export interface LargeValue {
  readonly table: string;
  readonly column: string;
  readonly where: Readonly<Record<string, string | number>>;
}

/** So short that a message of the server fits into what is read from its socket at once. */
const pieceBytes = 32 * 1024;
const signature = Buffer.from('PGCOPY\n\xff\r\n\0', 'latin1');
/** Signature, flags, and the length of an unused extension. */
const headerBytes = signature.length + 8;

/** A COPY to us: what comes is handed on while it lies in the buffer of the driver. */
class CopyOut extends pg.Query {
  constructor(
    text: string,
    private readonly onData: (data: Buffer) => void,
    done: (error: Error | undefined | null) => void,
  ) {
    super(text, done);
  }

  handleCopyData({ chunk }: { chunk: Buffer }): void {
    this.onData(chunk);
  }
}

/**
 * Reads a value of bytes as they are, in short pieces that are put in their place as they come; undefined if there is no
 * such row. As a column of an ordinary answer a value takes fourteen times its length: twice as digits, and more for
 * buffers that grow.
 */
export async function readLargeValue(pool: pg.Pool, value: LargeValue): Promise<Buffer | undefined> {
  const assembly = new Assembly();
  const client = await pool.connect();
  let failure: Error | undefined;
  try {
    await new Promise<void>((resolve, reject) => {
      client.query(
        new CopyOut(
          copyOf(value),
          (data) => {
            try {
              assembly.add(data);
            } catch (error) {
              failure ??= error as Error;
            }
          },
          (error) => (error ? reject(error) : resolve()),
        ),
      );
    });
  } catch (error) {
    client.release(error as Error);
    throw error;
  }
  client.release();
  if (failure) throw failure;
  return assembly.whole();
}

function copyOf({ table, column, where }: LargeValue): string {
  const name = pg.escapeIdentifier(column);
  const matches = Object.entries(where).map(
    ([key, wanted]) =>
      `${pg.escapeIdentifier(key)} = ${typeof wanted === 'number' ? Number(wanted) : pg.escapeLiteral(wanted)}`,
  );
  return `COPY (
    SELECT octet_length(${name}), substring(${name} FROM ${pieceBytes} * piece + 1 FOR ${pieceBytes})
      FROM ${pg.escapeIdentifier(table)}, generate_series(0, octet_length(${name}) / ${pieceBytes}) AS piece
     WHERE ${matches.join(' AND ')} ORDER BY piece
  ) TO STDOUT (FORMAT binary)`;
}

/** Puts the rows of such a COPY together: each has the length of the whole, and a piece. */
class Assembly {
  private into: Buffer | undefined;
  private at = 0;

  add(data: Buffer): void {
    // The header comes by itself or before the first row, the mark of the end by itself.
    const row = data.subarray(0, signature.length).equals(signature) ? data.subarray(headerBytes) : data;
    if (row.length === 0 || row.readInt16BE(0) < 0) return;
    const [length, bytes] = [row.readInt32BE(6), row.readInt32BE(10)];
    const piece = row.subarray(14, 14 + bytes);
    this.into ??= Buffer.allocUnsafe(length);
    if (piece.length !== bytes || this.at + bytes > this.into.length) throw new Error('a COPY is not as it should be');
    piece.copy(this.into, this.at);
    this.at += bytes;
  }

  whole(): Buffer | undefined {
    if (this.into !== undefined && this.at !== this.into.length) throw new Error('a COPY ended early');
    return this.into;
  }
}
