import type { SignInProvider as Row } from '../../../generated/prisma/client';

/** A provider at which users sign in with an external account; without its client secret. */
export interface SignInProvider extends Omit<Row, 'clientSecret'> {
  /** The names of the organizations whose teams the provider fills; null means all organizations. */
  readonly organizations: readonly string[] | null;
}
