import type { Statement } from './ceilings';
import type { Figures } from './figures';

/** One row of the table: a request to put under load. */
export interface Scenario {
  readonly name: string;
  /** The PostgreSQL ceiling it is compared with, besides bare `node:http`. */
  readonly ceiling?: Statement;
  /** The process that answers. */
  readonly pid?: number;
  /** The length of bare `node:http`'s answer in the comparison; short by default. */
  readonly bareBytes?: number;
  /** Prepares what the next run uses up; called before each run, and not measured. */
  prepare?(connections: number, seconds: number): Promise<void>;
  run(connections: number, seconds: number): Promise<Figures>;
}

/** One measurement with the baselines that were measured with it. */
export interface Measured extends Figures {
  readonly bare?: number;
  readonly ceiling?: number;
}

/** A row of the finished table. */
export interface Row {
  readonly name: string;
  readonly connections: number;
  readonly rounds: readonly Measured[];
}
