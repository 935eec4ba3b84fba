import pg from 'pg';

/** The part of pg's connection that COPY speaks to; its types leave it out. */
interface CopyConnection {
  query(text: string): void;
  sendCopyFromChunk(chunk: Buffer): void;
  endCopyFrom(): void;
  sync(): void;
  stream: NodeJS.WritableStream & { writableNeedDrain: boolean };
}

/** Sends rows to a table with COPY, as fast as it takes them; resolves with how many there were. */
export async function copyIn(
  url: string,
  table: string,
  columns: readonly string[],
  rows: Iterable<readonly (string | number | Buffer | null)[]>,
): Promise<number> {
  const client = new pg.Client(url);
  await client.connect();
  let count = 0;
  try {
    await new Promise<void>((resolve, reject) => {
      const iterator = rows[Symbol.iterator]();
      const pump = (connection: CopyConnection): void => {
        for (;;) {
          let chunk = '';
          while (chunk.length < 1 << 16) {
            const next = iterator.next();
            if (next.done) {
              if (chunk !== '') connection.sendCopyFromChunk(Buffer.from(chunk));
              connection.endCopyFrom();
              return;
            }
            chunk += `${next.value.map(field).join('\t')}\n`;
            count++;
          }
          connection.sendCopyFromChunk(Buffer.from(chunk));
          if (connection.stream.writableNeedDrain) {
            connection.stream.once('drain', () => pump(connection));
            return;
          }
        }
      };
      const submittable = {
        submit: (connection: CopyConnection) => connection.query(`COPY ${table} (${columns.join(', ')}) FROM STDIN`),
        handleCopyInResponse: pump,
        handleError: reject,
        handleCommandComplete: () => undefined,
        handleReadyForQuery: () => resolve(),
      };
      client.query(submittable as unknown as pg.Submittable);
    });
  } finally {
    await client.end();
  }
  return count;
}

function field(value: string | number | Buffer | null): string {
  if (value === null) return '\\N';
  if (Buffer.isBuffer(value)) return `\\\\x${value.toString('hex')}`;
  return String(value).replaceAll('\\', '\\\\').replaceAll('\t', '\\t').replaceAll('\n', '\\n');
}
