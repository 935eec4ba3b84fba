import { Refusal } from '@keystead/refusal';
import { shortDurationText } from './duration';

/** Everything that bears on how long a token or lease may live; seconds, 0 for "says nothing". */
export interface LifetimeTerms {
  readonly nowMs: number;
  /** When the token or lease was first issued; now, for a new one. */
  readonly issuedAtMs: number;
  /** What the caller asks for. */
  readonly incrementSeconds?: number;
  /** What role or backend gives. */
  readonly ttlSeconds?: number;
  readonly maxTtlSeconds?: number;
  readonly explicitMaxTtlSeconds?: number;
  readonly periodSeconds?: number;
  /** Effective lifetimes of the mount. */
  readonly mount: { readonly defaultLeaseTtlSeconds: number; readonly maxLeaseTtlSeconds: number };
}

export interface Lifetime {
  /** From now on; whole seconds. */
  readonly ttlSeconds: number;
  readonly warnings: readonly string[];
}

/**
 * How long a token or lease lives from now on. A period wins over everything but the maxima; otherwise what was asked
 * for, else what the backend gives, else the mount's default, never beyond issue time plus the smallest maximum.
 * Throws `invalid` when that moment has passed.
 */
export function lifetime(terms: LifetimeTerms): Lifetime {
  const { nowMs, issuedAtMs, mount } = terms;
  const maxima = [mount.maxLeaseTtlSeconds, terms.maxTtlSeconds ?? 0, terms.explicitMaxTtlSeconds ?? 0];
  const max = Math.min(...maxima.filter((seconds) => seconds > 0));
  const period = terms.periodSeconds ?? 0;
  const explicit = terms.explicitMaxTtlSeconds ?? 0;
  if (period > 0) {
    const left = explicit > 0 ? secondsLeft(issuedAtMs, explicit, nowMs) : Number.POSITIVE_INFINITY;
    const ttlSeconds = Math.min(period, max, left);
    return { ttlSeconds, warnings: period > max ? [capped('period', 'period', period, max)] : [] };
  }
  const left = secondsLeft(issuedAtMs, max, nowMs);
  const wanted = terms.incrementSeconds || terms.ttlSeconds || mount.defaultLeaseTtlSeconds;
  if (wanted <= left) return { ttlSeconds: wanted, warnings: [] };
  // Of a renewal, the maximum in effect is what is left of it.
  return { ttlSeconds: left, warnings: [capped('TTL', 'TTL', wanted, left)] };
}

function secondsLeft(issuedAtMs: number, maxSeconds: number, nowMs: number): number {
  const left = Math.floor((issuedAtMs + maxSeconds * 1000 - nowMs) / 1000);
  if (left <= 0) throw new Refusal('invalid', 'past the max TTL, cannot renew');
  return left;
}

function capped(first: string, second: string, wanted: number, max: number): string {
  return `${first} of "${shortDurationText(wanted)}" exceeded the effective max_ttl of "${shortDurationText(max)}"; ${second} value is capped accordingly`;
}
