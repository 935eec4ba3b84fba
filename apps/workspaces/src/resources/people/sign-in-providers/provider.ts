import type { SignInProvider as Row } from '../../../generated/prisma/client';

/** A provider where people sign in with an account that they have elsewhere; without its secret. */
export interface SignInProvider extends Omit<Row, 'clientSecret'> {
  /** The organizations whose teams it fills, by name; null: all of them. */
  readonly organizations: readonly string[] | null;
}
