import type { SignInProvider as Row } from '../../../generated/prisma/client';

/** Where people sign in with an account that they have elsewhere; without its secret. */
export interface SignInProvider extends Omit<Row, 'clientSecret'> {
  /** Whose teams it fills, by name; null is all of them. */
  readonly organizations: readonly string[] | null;
}
