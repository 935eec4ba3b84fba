/**
 * Two years, one of them a leap year. This is the maximum lifetime of tokens if an organization turns limits on without
 * a value.
 */
export const longestLifeMs = 731 * 86_400_000;

/** SQL: how many milliseconds tokens of a kind may live in the organization in row `o`; null if it sets no limit. */
export const maxLifeOf = (tokenType: string): string =>
  `CASE WHEN o.max_ttl_enabled THEN coalesce((o.token_max_lives->>${tokenType})::float8, ${longestLifeMs}) END`;
