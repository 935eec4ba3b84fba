import { exitCodes, Problem } from '../problem';

/** One error of a JSON:API answer. */
export interface Objection {
  detail?: string;
  title?: string;
  source?: { pointer?: string };
}

/** A server refused a request. */
export class Refused extends Problem {
  constructor(
    what: string,
    readonly status: number,
    readonly objections: readonly Objection[],
  ) {
    super(`${what}: ${status} ${reasonOf(objections)}`, exitCodes.refused);
  }

  get reason(): string {
    return reasonOf(this.objections);
  }

  /** Whether every further call would also be refused, so that continuing is useless. */
  get isFinal(): boolean {
    return this.status === 401;
  }
}

function reasonOf(objections: readonly Objection[]): string {
  return objections.map(({ detail, title }) => detail ?? title).join('; ');
}
