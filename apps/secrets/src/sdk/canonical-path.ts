declare const canonical: unique symbol;

/**
 * A canonical path: decoded, without dot segments and doubled slashes, with names in lower case if they are stored so,
 * and without a trailing slash except for a folder. Only `kernel/routing/sent-path.ts` creates one, so all code uses
 * the same text for the same path.
 */
export type CanonicalPath = string & { readonly [canonical]: true };

/** A name in a path as the caller wrote it: to be shown, never to be looked up. */
export interface Spelling {
  readonly shown: string;
}

/** How case is ignored in names: `case` for all letters, `ascii-case` for A to Z only. */
export type Fold = 'case' | 'ascii-case';

/** The segments of a path that are converted to lower case: from `from` up to, but not including, `to`. */
export interface Folding {
  readonly fold: Fold;
  readonly from: number;
  readonly to: number;
}
