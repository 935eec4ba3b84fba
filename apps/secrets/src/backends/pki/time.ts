import { refuse } from '../../sdk/refuse';

/** Parses an RFC 3339 time to epoch milliseconds. Throws `invalid`. */
export function requireTime(text: string): number {
  const rule = /^\d{4}-\d\d-\d\d[Tt]\d\d:\d\d:\d\d(\.\d+)?([Zz]|[+-]\d\d:\d\d)$/;
  const ms = rule.test(text) ? Date.parse(text) : Number.NaN;
  if (Number.isNaN(ms)) {
    refuse(`parsing time ${JSON.stringify(text)} as "2006-01-02T15:04:05Z07:00": cannot parse it`);
  }
  return ms;
}
