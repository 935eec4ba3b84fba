import type { IncomingMessage } from 'node:http';

const route = Symbol('route label');
/** The route of requests without a label. */
const OTHER = 'other';

/**
 * Labels a request with its route, for metrics and the log. A route is a pattern, never a path, so there are few
 * labels, and none contains text from a caller.
 */
export function labelRoute(req: IncomingMessage & { [route]?: string }, label: string): void {
  req[route] = label;
}

/** The route label of a request; `other` if it has no label. */
export function routeOf(req: IncomingMessage & { [route]?: string }): string {
  return req[route] ?? OTHER;
}
