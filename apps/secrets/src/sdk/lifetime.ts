import { Refusal } from '@keystead/refusal';
import { shortDurationText } from './duration';

/** Everything that decides how long a token or lease may live; in seconds, 0 for "not set". */
export interface LifetimeTerms {
  readonly nowMs: number;
  /** When the token or lease was first issued; now, for a new one. */
  readonly issuedAtMs: number;
  /** Requested by the caller. */
  readonly incrementSeconds?: number;
  /** Set by role or backend. */
  readonly ttlSeconds?: number;
  readonly maxTtlSeconds?: number;
  readonly explicitMaxTtlSeconds?: number;
  readonly periodSeconds?: number;
  /** Effective lifetimes of the mount. */
  readonly mount: { readonly defaultLeaseTtlSeconds: number; readonly maxLeaseTtlSeconds: number };
}

export interface Lifetime {
  /** Whole seconds from now. */
  readonly ttlSeconds: number;
  readonly warnings: readonly string[];
}

/**
 * The lifetime of a token or lease from now on. A period overrides everything except the maxima. Otherwise the lifetime
 * is the requested time, the time of the backend, or the default of the mount. It never ends after the issue time plus
 * the smallest maximum. Throws `invalid` if that time has passed.
 */
export function lifetime(terms: LifetimeTerms): Lifetime {
  const { nowMs, issuedAtMs, mount } = terms;
  const maxima = [mount.maxLeaseTtlSeconds, terms.maxTtlSeconds ?? 0, terms.explicitMaxTtlSeconds ?? 0];
  const max = Math.min(...maxima.filter((seconds) => seconds > 0));
  const period = terms.periodSeconds ?? 0;
  const explicit = terms.explicitMaxTtlSeconds ?? 0;
  if (period > 0) {
    const remaining = explicit > 0 ? secondsLeft(issuedAtMs, explicit, nowMs) : Number.POSITIVE_INFINITY;
    const ttlSeconds = Math.min(period, max, remaining);
    return { ttlSeconds, warnings: period > max ? [capped('period', 'period', period, max)] : [] };
  }
  const remaining = secondsLeft(issuedAtMs, max, nowMs);
  const requested = terms.incrementSeconds || terms.ttlSeconds || mount.defaultLeaseTtlSeconds;
  if (requested <= remaining) return { ttlSeconds: requested, warnings: [] };
  // For a renewal, the effective maximum is the rest of the maximum.
  return { ttlSeconds: remaining, warnings: [capped('TTL', 'TTL', requested, remaining)] };
}

function secondsLeft(issuedAtMs: number, maxSeconds: number, nowMs: number): number {
  const remaining = Math.floor((issuedAtMs + maxSeconds * 1000 - nowMs) / 1000);
  if (remaining <= 0) throw new Refusal('invalid', 'past the max TTL, cannot renew');
  return remaining;
}

function capped(first: string, second: string, requested: number, max: number): string {
  return `${first} of "${shortDurationText(requested)}" exceeded the effective max_ttl of "${shortDurationText(max)}"; ${second} value is capped accordingly`;
}
