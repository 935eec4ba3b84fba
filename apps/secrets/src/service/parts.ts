import type { Logger, Registry } from '@keystead/server';
import type { Clock, Fault } from '../kernel/storage/types';

/** What a service is built with besides its configuration. */
export interface ServiceParts {
  readonly log: Logger;
  /** Tells the time instead of the database. */
  readonly clock?: Clock;
  /** The clock of this machine, in epoch milliseconds. */
  readonly machineClock?: () => number;
  readonly fault?: Fault;
  /** Where its measurements go. */
  readonly registry?: Registry;
}
