import type { Refusal } from '@keystead/refusal';

/**
 * A protocol other than JSON:API (such as SCIM) that all endpoints under a path prefix use for request bodies,
 * responses and errors.
 */
export interface Dialect {
  /** The path prefix, with a slash at the end: `/scim/v2/`. */
  readonly prefix: string;
  /** Accepted request media types; responses use the first. */
  readonly mediaTypes: readonly [string, ...string[]];
  /** Renders an error response; without a refusal, an internal server error. */
  refusal(refusal: Refusal | undefined): { readonly status: number; readonly text: string };
  /** The schema of error responses, for the API description. */
  readonly refusalSchema: Readonly<Record<string, unknown>>;
}

/** Finds the dialect of a path, whether or not an endpoint exists there. */
export type DialectAt = (path: string) => Dialect | undefined;

/** The dialects of endpoints, by path. */
export function dialectsOf(endpoints: readonly { readonly dialect?: Dialect }[]): DialectAt {
  const all = new Set(endpoints.flatMap(({ dialect }) => dialect ?? []));
  return (path) => {
    for (const dialect of all) if (path.startsWith(dialect.prefix)) return dialect;
    return undefined;
  };
}
