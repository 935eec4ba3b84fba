import type { Logger, Registry } from '@keystead/server';
import type { Clock, Fault } from '../kernel/storage/types';

/** The parts that a service is built from in addition to its configuration. */
export interface ServiceParts {
  readonly log: Logger;
  /** A clock that replaces the clock of the database. */
  readonly clock?: Clock;
  /** The clock of this machine, in epoch milliseconds. */
  readonly machineClock?: () => number;
  readonly fault?: Fault;
  /** The registry of its metrics. */
  readonly registry?: Registry;
}
