import { withClient } from '@keystead/postgres';

/** The settings that make PostgreSQL count its statements. */
export const countsStatements = {
  shared_preload_libraries: 'pg_stat_statements',
  'pg_stat_statements.track_planning': 'on',
};

/** Forgets the statements counted so far. */
export async function forgetStatements(url: string): Promise<void> {
  await withClient(url, async (client) => {
    await client.query('CREATE EXTENSION IF NOT EXISTS pg_stat_statements');
    await client.query('SELECT pg_stat_statements_reset()');
  });
}

/**
 * Statements per request in one database since the count was reset, and their time in PostgreSQL in µs. The `shown`
 * most expensive ones are printed to standard error.
 */
export async function statementsOf(
  url: string,
  requests: number,
  shown = 0,
): Promise<{ statements: number; postgres: number }> {
  const { rows } = await withClient(url, (client) =>
    client.query<{ query: string; calls: number; ms: number; planning: number }>(
      `SELECT query, calls::float8, total_exec_time + total_plan_time AS ms, total_plan_time AS planning
         FROM pg_stat_statements JOIN pg_database d ON d.oid = dbid
        WHERE d.datname = current_database() AND query NOT LIKE '%pg_stat_statements%'
        ORDER BY ms DESC`,
    ),
  );
  const perRequest = (total: number) => total / requests;
  for (const { query, calls, ms, planning } of rows.slice(0, shown)) {
    const text = query.replaceAll(/\s+/g, ' ').slice(0, 160);
    process.stderr.write(
      `  ${perRequest(calls).toFixed(3)} × ${perRequest(ms * 1000).toFixed(1)} µs (${perRequest(planning * 1000).toFixed(1)} planning)  ${text}\n`,
    );
  }
  const sum = (figure: 'calls' | 'ms') => perRequest(rows.reduce((total, row) => total + row[figure], 0));
  return { statements: sum('calls'), postgres: sum('ms') * 1000 };
}
