import { Refusal } from '@keystead/refusal';
import { during, type TraceSpan } from '@keystead/tracing';

/**
 * An outside system did not answer, or only a proxy in front of it answered. The request itself may be correct. So
 * background work does not count this as a failure. It retries for a long time, and soon after the system answers
 * again.
 */
export class Unreachable extends Refusal {
  readonly unreachable = true;
  constructor(message: string, cause?: unknown) {
    super('upstream', message, [], { cause });
  }
}

/**
 * An outside system must not be called for `restMs`, because it throttles us or has not answered for a while. The call
 * was not sent. Background work waits for this time and does not count a failure.
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
 * A circuit breaker for one outside system. After several unanswered calls in a row it opens: all calls fail at once
 * for a while. After that it lets one call through, and other calls wait for its result. If that call also fails, the
 * next pause is twice as long.
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

  /** Throws `NotNow` while the circuit is open. */
  check(): void {
    if (this.failures < failuresToOpen) return;
    const remainingMs = this.openUntilMs - this.clock.now();
    if (remainingMs <= 0) return;
    const seconds = Math.ceil(remainingMs / 1000);
    const text = `${this.who} did not answer ${this.failures} calls in a row (${this.reason}); it is tried again in ${seconds} s`;
    throw new NotNow(text, seconds * 1000);
  }

  /** Runs a call. `unanswered` returns why there was no answer, or undefined if the failure is itself an answer. */
  async run<T>(
    call: (span: TraceSpan | undefined) => Promise<T>,
    unanswered: (error: unknown) => string | undefined,
  ): Promise<T> {
    this.check();
    while (this.trial) await this.trial;
    this.check();
    const tries = this.failures >= failuresToOpen;
    const outcome = this.observe(call, unanswered, tries);
    if (!tries) return outcome;
    this.trial = outcome
      .catch(() => {})
      .finally(() => {
        this.trial = undefined;
      });
    return outcome;
  }

  private async observe<T>(
    call: (span: TraceSpan | undefined) => Promise<T>,
    unanswered: (error: unknown) => string | undefined,
    tries: boolean,
  ): Promise<T> {
    try {
      const result = await during('outside', this.who, undefined, call);
      this.close();
      return result;
    } catch (error) {
      const reason = unanswered(error);
      if (reason === undefined) this.close();
      else this.countFailure(reason, tries);
      throw error;
    }
  }

  private close(): void {
    this.failures = 0;
    this.restMs = firstRestMs;
  }

  private countFailure(reason: string, wasTrial: boolean): void {
    this.failures++;
    this.reason = reason;
    if (wasTrial) this.restMs = Math.min(this.restMs * 2, longestRestMs);
    this.openUntilMs = this.clock.now() + this.restMs;
  }
}
