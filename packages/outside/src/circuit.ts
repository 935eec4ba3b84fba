import { Refusal } from '@keystead/refusal';
import { during, type TraceSpan } from '@keystead/tracing';

/**
 * An outside system did not answer, or only something before it did. Nothing is wrong with what was asked of it: background
 * work asks again without counting a failure for a good while, and soon after the system is heard of again.
 */
export class Unreachable extends Refusal {
  readonly unreachable = true;
  constructor(message: string, cause?: unknown) {
    super('upstream', message, [], { cause });
  }
}

/**
 * An outside system must not be called for `restMs`: it throttles us, or has not answered for a while. The call was not
 * sent. Background work waits this long instead of counting a failure.
 */
export class NotNow extends Unreachable {
  constructor(
    message: string,
    readonly restMs: number,
    cause?: unknown,
  ) {
    super(message, cause);
  }
}

const failuresToOpen = 5;
const firstRestMs = 5_000;
const longestRestMs = 15_000;

/**
 * Guards one outside system. After some unanswered calls in a row it is open: calls fail at once, for a
 * while that doubles. Then one call tries, and the others wait for what becomes of it.
 */
export class Circuit {
  private failures = 0;
  private restMs = firstRestMs;
  private openUntilMs = 0;
  private trial: Promise<unknown> | undefined;
  private reason: string | undefined;

  constructor(
    private readonly who: string,
    private readonly clock: { now(): number },
  ) {}

  /** Throws `NotNow` while the system must not be called. */
  check(): void {
    if (this.failures < failuresToOpen) return;
    const left = this.openUntilMs - this.clock.now();
    if (left <= 0) return;
    const seconds = Math.ceil(left / 1000);
    const text = `${this.who} did not answer ${this.failures} calls in a row (${this.reason}); it is tried again in ${seconds} s`;
    throw new NotNow(text, seconds * 1000);
  }

  /** Runs a call; `unanswered` says why there was no answer, or nothing if the failure is an answer. */
  async run<T>(
    call: (span: TraceSpan | undefined) => Promise<T>,
    unanswered: (error: unknown) => string | undefined,
  ): Promise<T> {
    this.check();
    while (this.trial) await this.trial;
    this.check();
    const tries = this.failures >= failuresToOpen;
    const outcome = this.judged(call, unanswered, tries);
    if (!tries) return outcome;
    this.trial = outcome
      .catch(() => {})
      .finally(() => {
        this.trial = undefined;
      });
    return outcome;
  }

  private async judged<T>(
    call: (span: TraceSpan | undefined) => Promise<T>,
    unanswered: (error: unknown) => string | undefined,
    tries: boolean,
  ): Promise<T> {
    try {
      const result = await during('outside', this.who, undefined, call);
      this.answered();
      return result;
    } catch (error) {
      const reason = unanswered(error);
      if (reason === undefined) this.answered();
      else this.failed(reason, tries);
      throw error;
    }
  }

  private answered(): void {
    this.failures = 0;
    this.restMs = firstRestMs;
  }

  private failed(reason: string, tried: boolean): void {
    this.failures++;
    this.reason = reason;
    if (tried) this.restMs = Math.min(this.restMs * 2, longestRestMs);
    this.openUntilMs = this.clock.now() + this.restMs;
  }
}
