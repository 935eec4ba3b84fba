import type { InFlightRequest } from '../kernel/routing/in-flight';
import type { Kernel } from './kernel';
import type { Request, RequestContext } from './request';

/** A request in progress, as its last step left it. */
export class InFlight {
  constructor(
    private readonly request: Request,
    private readonly context: () => RequestContext,
  ) {}

  facts(): Omit<InFlightRequest, 'startedAtMs'> {
    const { request } = this;
    const { match, bearer, token } = this.context();
    return {
      id: request.id,
      verb: request.verb,
      path: `/v1/${match ? match.namespace.path + match.path : request.path.unplaced}`,
      address: request.address,
      entityId: (bearer?.record ?? token)?.entityId ?? '',
    };
  }
}

/**
 * The running requests of this node, oldest first. The clock of the timeouts keeps them, because in a separate table
 * they would survive the cheap garbage collections.
 */
export function inFlight({ silence, clock, timeoutSeconds }: Kernel): InFlightRequest[] {
  const nowMs = clock.now();
  return silence.waitingFor().flatMap(({ about, leftMs }) => {
    if (!(about instanceof InFlight)) return [];
    return [{ ...about.facts(), startedAtMs: Math.round(nowMs - (timeoutSeconds * 1000 - leftMs)) }];
  });
}
