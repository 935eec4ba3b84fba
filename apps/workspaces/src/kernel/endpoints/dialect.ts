import type { Refusal } from '@keystead/refusal';

/** A standard other than JSON:API that the endpoints below a path follow: its bodies and its refusals. */
export interface Dialect {
  /** The path prefix, with a slash at the end: `/scim/v2/`. */
  readonly prefix: string;
  /** Media types of bodies; the first is the one of answers. */
  readonly mediaTypes: readonly [string, ...string[]];
  /** The answer for a refusal, or for a fault if there is none. */
  refusal(refusal: Refusal | undefined): { readonly status: number; readonly text: string };
  /** The schema of that answer, for the API description. */
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
