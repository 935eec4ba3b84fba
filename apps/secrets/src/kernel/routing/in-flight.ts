import type { Verb } from '../../sdk/call';

/** The data of a running request. */
export interface InFlightRequest {
  readonly id: string;
  readonly startedAtMs: number;
  readonly verb: Verb;
  /** From `/v1/` on, its namespace included. */
  readonly path: string;
  readonly address: string;
  /** The caller's entity; empty if there is none or it is not known yet. */
  readonly entityId: string;
}
