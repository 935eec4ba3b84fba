import type { Variable as Row } from '../../../generated/prisma/client';

/** A variable; the value of a sensitive variable is never read for responses. */
export interface Variable extends Omit<Row, 'sealed'> {
  /**
   * The id of the variable that overrides this one in a workspace, and the ids of the variables that this one overrides
   * there. Undefined if no workspace was named.
   */
  readonly precedence?: { readonly overwriter: string | null; readonly overwritten: readonly string[] };
}
