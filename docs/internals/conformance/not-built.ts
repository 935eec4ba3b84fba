/**
 * Rows that name what is not built, among other things or not, and what that is: in the words of `docs/not-built.md`. Most
 * list what an interface got in one month.
 */
export const notBuilt: Readonly<Record<string, readonly string[]>> = {};
