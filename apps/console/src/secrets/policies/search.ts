/** The question of who may do what, kept in the address. */
export interface ExplainSearch {
  readonly path?: string;
  readonly operation?: string;
  readonly accessor?: string;
  /** Separated by commas. */
  readonly policies?: string;
}

/** Reads it from an address. */
export const explainSearch = (search: Record<string, unknown>): ExplainSearch =>
  Object.fromEntries(
    ['path', 'operation', 'accessor', 'policies'].flatMap((name) =>
      typeof search[name] === 'string' && search[name] !== '' ? [[name, search[name]]] : [],
    ),
  );
