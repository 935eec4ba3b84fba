import type { Impatience, Waiter } from '@keystead/postgres';
import { Refusal } from '@keystead/refusal';
import type { InFlightRequest } from '../kernel/routing/in-flight';
import type { RouteMatch } from '../kernel/routing/sent-path';
import type { Kernel } from './kernel';
import { contextOf, emptyContext, type Located, type Request, type RequestContext } from './request';

/** A request in progress, in the state after its last step. */
export class InFlight implements Waiter {
  context: RequestContext = emptyContext;
  /** True after the request was answered with a timeout: no further work may start. */
  isOver = false;
  private refuse: ((reason: Refusal) => void) | undefined;

  constructor(private readonly request: Request) {}

  /** Creates the context of a request; the next steps complete it. `before` is its context at an earlier target. */
  locate(match: RouteMatch, before?: Located): Located {
    const context = before ? { ...before, match } : contextOf(match);
    this.context = context;
    return context;
  }

  /** The result of the work; a refusal if it takes too long. The work continues. */
  within<T>(work: Promise<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      this.refuse = reject;
      work.then(resolve, reject);
    });
  }

  giveUp(why: Impatience): void {
    this.isOver = true;
    this.refuse?.(why === 'late' ? timedOut() : unavailable());
  }

  facts(): Omit<InFlightRequest, 'startedAtMs'> {
    const { request } = this;
    const { match, bearer, token } = this.context;
    return {
      id: request.id,
      verb: request.verb,
      path: `/v1/${match ? match.namespace.path + match.path : request.path.unplaced}`,
      address: request.address,
      entityId: (bearer?.record ?? token)?.entityId ?? '',
    };
  }
}

export const unavailable = (): Refusal => new Refusal('unavailable', 'storage is unavailable');

export const timedOut = (): Refusal => new Refusal('timeout', 'request timed out');

/**
 * The running requests of this node, oldest first. They are taken from the timer that watches for timeouts. A separate
 * table would keep their objects alive for too long, so that only an expensive garbage collection would free them.
 */
export function inFlight({ silence, clock, timeoutSeconds }: Kernel): InFlightRequest[] {
  const nowMs = clock.now();
  return silence.waiters().flatMap(({ waiter, leftMs }) => {
    if (!(waiter instanceof InFlight)) return [];
    return [{ ...waiter.facts(), startedAtMs: Math.round(nowMs - (timeoutSeconds * 1000 - leftMs)) }];
  });
}
