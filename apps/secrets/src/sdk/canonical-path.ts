declare const canonical: unique symbol;

/**
 * A path in its one spelling: decoded, without dot segments and doubled slashes, names that are stored in lower case in
 * lower case, no slash at the end but that of a folder. Only `kernel/routing/sent-path.ts` makes one, so all code that asks,
 * counts, writes or handles a path sees the same text.
 */
export type CanonicalPath = string & { readonly [canonical]: true };

/** A name of a path as the caller wrote it: to be shown, never to be looked for. */
export interface Spelling {
  readonly shown: string;
}

/** How names are compared that differ in case only: `case` as all letters go, `ascii-case` as A to Z go. */
export type Fold = 'case' | 'ascii-case';

/** The segments of a path that are read in lower case: from `from` up to, but not including, `to`. */
export interface Folding {
  readonly fold: Fold;
  readonly from: number;
  readonly to: number;
}
