/** What the secret browser shows; it is kept in the address and is never a value. */
export interface SecretSearch {
  /** Path with its mount; folders end in a slash. */
  readonly at?: string | undefined;
  readonly version?: number | undefined;
  /** The version that is compared with. */
  readonly with?: number | undefined;
}

const numberOf = (value: unknown): number | undefined => {
  const number = Number(value);
  return Number.isInteger(number) && number > 0 ? number : undefined;
};

/** Reads it out of an address; what cannot be meant is left out. */
export function secretSearch(search: Record<string, unknown>): SecretSearch {
  const version = numberOf(search.version);
  const other = numberOf(search.with);
  return {
    ...(typeof search.at === 'string' && search.at !== '' ? { at: search.at } : {}),
    ...(version === undefined ? {} : { version }),
    ...(other === undefined ? {} : { with: other }),
  };
}
