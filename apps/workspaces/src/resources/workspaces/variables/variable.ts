import type { Variable as Row } from '../../../generated/prisma/client';

/** A variable; the value of a sensitive variable is never read for responses. */
export interface Variable extends Omit<Row, 'sealed'> {
  /**
   * For one workspace: the id of the variable that overrides this variable, and the ids of the variables that it
   * overrides.
   */
  readonly precedence?: { readonly overwriter: string | null; readonly overwritten: readonly string[] };
}
