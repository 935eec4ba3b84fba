import type { Variable as Row } from '../../../generated/prisma/client';

/** A variable; the value of a sensitive one is never read to be shown. */
export interface Variable extends Omit<Row, 'sealed'> {
  /** In one workspace: the id of the variable that overrides it, and those that it overrides. */
  readonly standing?: { readonly overwriter: string | null; readonly overwritten: readonly string[] };
}
