import { withClient } from '@keystead/postgres';

/** Columns that reads change, such as the last use of a token. */
const moved: Readonly<Record<string, readonly string[]>> = { token: ['last_used_at', 'longest_rest_ms'] };

/** Every row of a database, as text, by table: two results are equal if nothing was changed in between. */
export function allRows(databaseUrl: string): Promise<Record<string, string[]>> {
  return withClient(databaseUrl, async (client) => {
    const { rows: tables } = await client.query<{ name: string }>(
      `SELECT quote_ident(table_name) AS name FROM information_schema.tables
        WHERE table_schema = 'public' AND table_type = 'BASE TABLE' ORDER BY 1`,
    );
    const found: Record<string, string[]> = {};
    for (const { name } of tables) {
      const { rows } = await client.query<{ text: string }>(
        `SELECT (to_jsonb(t) - $1::text[])::text AS text FROM ${name} t ORDER BY 1`,
        [moved[name] ?? []],
      );
      found[name] = rows.map(({ text }) => text);
    }
    return found;
  });
}

/** The rows without the events of refusals and of reads, which even a request that changes nothing leaves. */
export async function rowsButRefusals(databaseUrl: string): Promise<Record<string, string[]>> {
  const rows = await allRows(databaseUrl);
  const kept = rows.audit_event?.filter((text) => !/"action": "(request\.refuse|[\w-]+\.download)"/.test(text)) ?? [];
  return { ...rows, audit_event: kept };
}
