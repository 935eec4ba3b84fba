import type { Variable as Row } from '../../../generated/prisma/client';

/** A variable; the value of a sensitive one is never read for showing. */
export interface Variable extends Omit<Row, 'sealed'> {
  /** In one workspace: the id of the variable of the same key that counts instead, and those that it hides. */
  readonly standing?: { readonly overwriter: string | null; readonly overwritten: readonly string[] };
}
