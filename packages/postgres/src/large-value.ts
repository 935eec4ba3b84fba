import pg from 'pg';

/** A bytes value: a column of the only row that has the given values in other columns. */
export interface LargeValue {
  readonly table: string;
  readonly column: string;
  readonly where: Readonly<Record<string, string | number>>;
}

/** Short enough that a message from the server fits into one read from its socket. */
const pieceBytes = 32 * 1024;
const signature = Buffer.from('PGCOPY\n\xff\r\n\0', 'latin1');
/** Signature, flags, and the length of an unused extension. */
const headerBytes = signature.length + 8;

/** A COPY from the server: data is passed on while it is in the driver's buffer. */
class CopyOut extends pg.Query {
  constructor(
    text: string,
    private readonly onData: (data: Buffer) => void,
    callback: (error: Error | undefined | null) => void,
  ) {
    super(text, callback);
  }

  handleCopyData({ chunk }: { chunk: Buffer }): void {
    this.onData(chunk);
  }
}

/**
 * Reads a bytea value in binary format, in short pieces that are copied as they arrive; undefined if the row does not
 * exist. In an ordinary query, a value takes memory of fourteen times its length: twice for hexadecimal digits, and the
 * rest for growing buffers.
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
  return assembly.value();
}

function copyOf({ table, column, where }: LargeValue): string {
  const name = pg.escapeIdentifier(column);
  const matches = Object.entries(where).map(
    ([key, value]) =>
      `${pg.escapeIdentifier(key)} = ${typeof value === 'number' ? Number(value) : pg.escapeLiteral(value)}`,
  );
  return `COPY (
    SELECT octet_length(${name}), substring(${name} FROM ${pieceBytes} * piece + 1 FOR ${pieceBytes})
      FROM ${pg.escapeIdentifier(table)}, generate_series(0, octet_length(${name}) / ${pieceBytes}) AS piece
     WHERE ${matches.join(' AND ')} ORDER BY piece
  ) TO STDOUT (FORMAT binary)`;
}

/** Assembles the rows of a COPY in pieces: each row has the total length and a piece. */
class Assembly {
  private into: Buffer | undefined;
  private at = 0;

  add(data: Buffer): void {
    // The header arrives separately or with the first row; the end marker arrives separately.
    const row = data.subarray(0, signature.length).equals(signature) ? data.subarray(headerBytes) : data;
    if (row.length === 0 || row.readInt16BE(0) < 0) return;
    const [length, bytes] = [row.readInt32BE(6), row.readInt32BE(10)];
    const piece = row.subarray(14, 14 + bytes);
    this.into ??= Buffer.allocUnsafe(length);
    if (piece.length !== bytes || this.at + bytes > this.into.length) throw new Error('a COPY is not as it should be');
    piece.copy(this.into, this.at);
    this.at += bytes;
  }

  value(): Buffer | undefined {
    if (this.into !== undefined && this.at !== this.into.length) throw new Error('a COPY ended early');
    return this.into;
  }
}
