import type { Logger, Registry } from '@keystead/server';
import type { Clock, Fault } from '../kernel/storage/types';

/** What a service is built with besides its configuration. */
export interface ServiceParts {
  readonly log: Logger;
  readonly clock?: Clock;
  readonly fault?: Fault;
  /** Where its measurements go. */
  readonly registry?: Registry;
}
