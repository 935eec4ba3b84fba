/** What the secret browser shows. It is kept in the page's address, so it never contains a secret value. */
export interface SecretSearch {
  /** Path including its mount; folders end with a slash. */
  readonly at?: string | undefined;
  readonly version?: number | undefined;
  /** The version to compare the shown version with. */
  readonly with?: number | undefined;
}

const numberOf = (value: unknown): number | undefined => {
  const number = Number(value);
  return Number.isInteger(number) && number > 0 ? number : undefined;
};

/** Parses the search parameters of an address; ignores invalid values. */
export function secretSearch(search: Record<string, unknown>): SecretSearch {
  const version = numberOf(search.version);
  const other = numberOf(search.with);
  return {
    ...(typeof search.at === 'string' && search.at !== '' ? { at: search.at } : {}),
    ...(version === undefined ? {} : { version }),
    ...(other === undefined ? {} : { with: other }),
  };
}
