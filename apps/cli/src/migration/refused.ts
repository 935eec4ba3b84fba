import { exitCodes, Problem } from '../problem';

/** One thing that a server had against a request, as JSON:API errors say it. */
export interface Objection {
  detail?: string;
  title?: string;
  source?: { pointer?: string };
}

/** A server said no. */
export class Refused extends Problem {
  constructor(
    message: string,
    readonly status: number,
    readonly objections: readonly Objection[],
  ) {
    super(message, exitCodes.refused);
  }

  /** Whether every further call would be refused as well, so that going on is of no use. */
  get isFinal(): boolean {
    return this.status === 401;
  }
}
