/** The input of "Explain access", kept in the page's address. */
export interface ExplainSearch {
  readonly path?: string;
  readonly operation?: string;
  readonly accessor?: string;
  /** Names of policies, separated by commas. */
  readonly policies?: string;
}

/** Parses the input from an address. */
export const explainSearch = (search: Record<string, unknown>): ExplainSearch =>
  Object.fromEntries(
    ['path', 'operation', 'accessor', 'policies'].flatMap((name) =>
      typeof search[name] === 'string' && search[name] !== '' ? [[name, search[name]]] : [],
    ),
  );
