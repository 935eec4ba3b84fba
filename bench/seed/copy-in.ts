import { once } from 'node:events';
import pg from 'pg';
import { COPY_HEADER, COPY_TRAILER } from './copy-rows';

/** The part of pg's connection that COPY needs, which the types of pg leave out. */
interface CopyConnection {
  query(text: string): void;
  sendCopyFromChunk(chunk: Buffer): void;
  sendCopyFail(message: string): void;
  endCopyFrom(): void;
  stream: NodeJS.WritableStream & { writableNeedDrain: boolean };
}

/** Sends rows in binary format to a table with COPY, as fast as the table takes them. */
function copyIn(
  client: pg.Client,
  table: string,
  columns: readonly string[],
  rows: AsyncIterable<Uint8Array>,
): Promise<void> {
  return new Promise((resolve, reject) => {
    let failure: unknown;
    const pump = async (connection: CopyConnection): Promise<void> => {
      connection.sendCopyFromChunk(COPY_HEADER);
      for await (const chunk of rows) {
        // The server has reported an error, so sending the rest is useless.
        if (failure) return;
        connection.sendCopyFromChunk(Buffer.from(chunk.buffer, chunk.byteOffset, chunk.length));
        if (connection.stream.writableNeedDrain) await once(connection.stream, 'drain');
      }
      connection.sendCopyFromChunk(COPY_TRAILER);
      connection.endCopyFrom();
    };
    const submittable = {
      submit: (connection: CopyConnection) =>
        connection.query(`COPY ${table} (${columns.join(', ')}) FROM STDIN (FORMAT binary)`),
      handleCopyInResponse: (connection: CopyConnection) => {
        pump(connection).catch((error: Error) => {
          failure = error;
          connection.sendCopyFail(error.message);
        });
      },
      handleError: (error: unknown) => {
        failure ??= error;
        reject(failure);
      },
      handleCommandComplete: () => undefined,
      handleReadyForQuery: () => resolve(),
    };
    client.query(submittable as unknown as pg.Submittable);
  });
}

/**
 * Fills a table after dropping its keys and indexes, and rebuilds them at the end: a sorted build is faster than
 * millions of random insertions. All of this is one transaction, so a failure leaves the table unchanged.
 */
export async function fillBare(
  url: string,
  table: string,
  columns: readonly string[],
  rows: AsyncIterable<Uint8Array>,
): Promise<{ indexed: Promise<void> }> {
  const client = new pg.Client(url);
  await client.connect();
  try {
    await client.query(`BEGIN; SET LOCAL maintenance_work_mem = '256MB'; LOCK TABLE ${table} IN ACCESS EXCLUSIVE MODE`);
    const indexes = await definitions(client, table);
    for (const { drop } of indexes) await client.query(drop);
    await copyIn(client, table, columns, rows);
    return { indexed: indexAgain(client, table, indexes) };
  } catch (error) {
    await client.end();
    throw error;
  }
}

interface Definition {
  readonly drop: string;
  readonly make: string;
}

async function definitions(client: pg.Client, table: string): Promise<Definition[]> {
  const { rows } = await client.query<Definition>(
    `SELECT CASE WHEN c.oid IS NULL THEN format('DROP INDEX %s', i.indexrelid::regclass)
                 ELSE format('ALTER TABLE %s DROP CONSTRAINT %I', i.indrelid::regclass, c.conname) END AS drop,
            CASE WHEN c.oid IS NULL THEN pg_get_indexdef(i.indexrelid)
                 ELSE format('ALTER TABLE %s ADD CONSTRAINT %I %s', i.indrelid::regclass, c.conname, pg_get_constraintdef(c.oid)) END AS make
       FROM pg_index i LEFT JOIN pg_constraint c ON c.conindid = i.indexrelid AND c.contype IN ('p', 'u')
      WHERE i.indrelid = $1::regclass`,
    [table],
  );
  return rows;
}

async function indexAgain(client: pg.Client, table: string, definitions: readonly Definition[]): Promise<void> {
  try {
    for (const { make } of definitions) await client.query(make);
    await client.query('COMMIT');
    await client.query(`VACUUM (ANALYZE) ${table}`);
  } finally {
    await client.end();
  }
}
