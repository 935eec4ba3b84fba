import { Refusal } from '@keystead/refusal';

/** There is no such path, and the caller is warned where to look instead: tools show that rather than the refusal. */
export class Misguided extends Refusal {
  constructor(
    message: string,
    readonly warning: string,
  ) {
    super('unsupported-path', message);
  }
}
