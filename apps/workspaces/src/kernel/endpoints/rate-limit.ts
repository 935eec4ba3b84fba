import { LRUCache } from 'lru-cache';

/** The state of the rate limit after a request, for its headers. `limit` 0 means no limit. */
export interface RateVerdict {
  readonly allowed: boolean;
  readonly limit: number;
  readonly remaining: number;
  readonly resetSeconds: number;
}

interface Bucket {
  tokens: number;
  atMs: number;
}

const UNLIMITED: RateVerdict = { allowed: true, limit: 0, remaining: 0, resetSeconds: 0 };

/**
 * A token bucket per principal, refilled evenly: a burst of `limit` requests, and `limit` a second. One per process.
 */
export class RateLimit {
  private readonly buckets = new LRUCache<string, Bucket>({ maxSize: 50_000, sizeCalculation: () => 1 });

  constructor(private readonly now: () => number) {}

  /** Takes one request out of the caller's bucket. */
  take(caller: string, limit: number): RateVerdict {
    if (limit <= 0) return UNLIMITED;
    const nowMs = this.now();
    let bucket = this.buckets.get(caller);
    if (bucket === undefined) {
      bucket = { tokens: limit, atMs: nowMs };
      this.buckets.set(caller, bucket);
    }
    bucket.tokens = Math.min(limit, bucket.tokens + (Math.max(0, nowMs - bucket.atMs) * limit) / 1000);
    bucket.atMs = nowMs;
    const allowed = bucket.tokens >= 1;
    if (allowed) {
      bucket.tokens -= 1;
    }
    const missing = allowed ? limit - bucket.tokens : 1 - bucket.tokens;
    return {
      allowed,
      limit,
      remaining: Math.max(0, Math.floor(bucket.tokens)),
      resetSeconds: missing / limit,
    };
  }
}
