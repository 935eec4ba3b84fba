import type { IncomingMessage } from 'node:http';

const route = Symbol('route label');
/** The route of requests without a label. */
const OTHER = 'other';

/**
 * Names the route of a request, for metrics and the log: a pattern, never a path, so that there are few of them and none
 * holds what a caller wrote.
 */
export function labelRoute(req: IncomingMessage & { [route]?: string }, label: string): void {
  req[route] = label;
}

/** The route a request was labelled with; `other` where it led nowhere. */
export function routeOf(req: IncomingMessage & { [route]?: string }): string {
  return req[route] ?? OTHER;
}
