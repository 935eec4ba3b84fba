import type { Endpoint, HttpMethod } from './endpoint';

interface RouteNode {
  readonly literals: Map<string, RouteNode>;
  parameter?: { name: string; node: RouteNode };
  readonly endpoints: Map<HttpMethod, Endpoint>;
  /** Parameter names may differ between patterns, so each endpoint keeps its own names. */
  readonly names: Map<HttpMethod, readonly string[]>;
}

/** The endpoint for a request, with the decoded parts of its path. */
export interface Match {
  readonly endpoint: Endpoint;
  readonly params: Record<string, string>;
}

const isEndless = ({ answers }: Endpoint): boolean =>
  Object.values(answers).some(({ type }) => type === 'text/event-stream');

const node = (): RouteNode => ({ literals: new Map(), endpoints: new Map(), names: new Map() });

function decode(segment: string): string | undefined {
  if (!segment.includes('%')) return segment;
  try {
    return decodeURIComponent(segment);
  } catch {
    return undefined;
  }
}

/**
 * The paths of all endpoints as a tree of segments, built once. A literal segment takes precedence over a parameter.
 */
export class Routes {
  private readonly root = node();

  constructor(endpoints: Iterable<Endpoint>) {
    for (const endpoint of endpoints) {
      this.add(endpoint);
    }
  }

  private add(endpoint: Endpoint): void {
    const names: string[] = [];
    let at = this.root;
    for (const segment of endpoint.path.split('/').slice(1)) {
      if (segment.startsWith(':')) {
        names.push(segment.slice(1));
        at.parameter ??= { name: segment.slice(1), node: node() };
        at = at.parameter.node;
      } else {
        let next = at.literals.get(segment);
        if (next === undefined) {
          next = node();
          at.literals.set(segment, next);
        }
        at = next;
      }
    }
    if (at.endpoints.has(endpoint.method)) throw new Error(`${endpoint.method} ${endpoint.path} is declared twice`);
    at.endpoints.set(endpoint.method, endpoint);
    at.names.set(endpoint.method, names);
  }

  /**
   * The endpoint for a method and a path (without query), or undefined. A trailing slash is ignored. HEAD finds the
   * endpoints of GET, except those with endless answers.
   */
  find(method: string, path: string): Match | undefined {
    const segments = path.split('/');
    const last = segments.length > 2 && segments.at(-1) === '' ? segments.length - 1 : segments.length;
    const declared = (method === 'HEAD' ? 'GET' : method) as HttpMethod;
    const match = this.walk(this.root, segments, 1, last, [], declared);
    return method === 'HEAD' && match !== undefined && isEndless(match.endpoint) ? undefined : match;
  }

  private walk(
    at: RouteNode,
    segments: readonly string[],
    index: number,
    last: number,
    values: readonly string[],
    method: HttpMethod,
  ): Match | undefined {
    if (index === last) {
      const endpoint = at.endpoints.get(method);
      if (endpoint === undefined) return undefined;
      const names = at.names.get(method) ?? [];
      const params: Record<string, string> = {};
      for (let i = 0; i < names.length; i++) {
        params[names[i]!] = values[i]!;
      }
      return { endpoint, params };
    }
    const segment = segments[index]!;
    const literal = at.literals.get(segment);
    const found = literal && this.walk(literal, segments, index + 1, last, values, method);
    if (found !== undefined || at.parameter === undefined || segment === '') return found;
    const value = decode(segment);
    return value === undefined
      ? undefined
      : this.walk(at.parameter.node, segments, index + 1, last, [...values, value], method);
  }
}
