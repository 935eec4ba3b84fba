/**
 * SQL: a join with the rows that belong to the rows before it, for reads by key. `OFFSET 0` keeps the order of the joins:
 *
 * - PostgreSQL does not compare orders, which takes longer than the read itself whenever a connection plans it.
 * - PostgreSQL cannot keep a plan from when the tables were almost empty, which goes through all workspaces to find one
 *   run.
 */
export const joined = (table: string, name: string, condition: string): string =>
  `CROSS JOIN LATERAL (SELECT * FROM ${table} WHERE ${condition} OFFSET 0) ${name}`;
