/** Two years, one of them a leap year: how long tokens live where an organization limits them and says nothing else. */
export const longestLifeMs = 731 * 86_400_000;

/** SQL: how many milliseconds tokens of a kind may live in the organization in row `o`; null where it sets no limit. */
export const maxLifeOf = (tokenType: string): string =>
  `CASE WHEN o.max_ttl_enabled THEN coalesce((o.token_max_lives->>${tokenType})::float8, ${longestLifeMs}) END`;
