/**
 * Rows that mention features that are not built, with the names of those features in `docs/not-built.md`. Most rows
 * list a month's additions to an interface.
 */
export const notBuilt: Readonly<Record<string, readonly string[]>> = {};
