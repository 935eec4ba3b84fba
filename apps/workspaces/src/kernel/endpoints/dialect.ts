import type { Refusal } from '@keystead/refusal';

/** How endpoints below a path speak that follow another standard than JSON:API: what they take, and how they refuse. */
export interface Dialect {
  /** Where it is spoken, with a slash at the end: `/scim/v2/`. */
  readonly prefix: string;
  /** Media types of bodies; the first is that of answers. */
  readonly mediaTypes: readonly [string, ...string[]];
  /** The answer for a refusal, or for a fault, if there is none. */
  refusal(refusal: Refusal | undefined): { readonly status: number; readonly text: string };
  /** The schema of that answer, for the API description. */
  readonly refusalSchema: Readonly<Record<string, unknown>>;
}

/** Finds the dialect that is spoken at a path, whether there is something or not. */
export type DialectAt = (path: string) => Dialect | undefined;

/** The dialects that endpoints speak, by path. */
export function dialectsOf(endpoints: readonly { readonly dialect?: Dialect }[]): DialectAt {
  const all = new Set(endpoints.flatMap(({ dialect }) => dialect ?? []));
  return (path) => {
    for (const dialect of all) if (path.startsWith(dialect.prefix)) return dialect;
    return undefined;
  };
}
