import { Refusal } from '@keystead/refusal';
import type { AnyOperation } from '../sdk/path';
import type { Request } from './request';

/** A page asked for something that its session allows only after a step-up. */
export class StepUpRequired extends Refusal {
  constructor() {
    super('denied', 'step-up-required: prove once more who you are, at /ui/session/step-up, and send this again');
  }
}

/** Throws `StepUpRequired`; never for who sends a token. */
export function requireStepUp({ session }: Pick<Request, 'session'>, operation: AnyOperation | undefined): void {
  if (session && !session.steppedUp && operation?.stepUp) throw new StepUpRequired();
}
