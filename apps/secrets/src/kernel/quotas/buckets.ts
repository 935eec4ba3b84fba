import { LRUCache } from 'lru-cache';
import type { RateLimit } from './types';

interface Bucket {
  tokens: number;
  filledMs: number;
  blockedUntilMs: number;
}

const MAX_CLIENTS = 20_000;

/** One token bucket per client of a rate limit, in the memory of this node. */
export class Buckets {
  private readonly clients = new LRUCache<string, Bucket>({ maxSize: MAX_CLIENTS, sizeCalculation: () => 1 });

  constructor(private readonly limit: RateLimit) {}

  /** Counts one request of a client. Returns false if the limit is reached. */
  take(client: string, nowMs: number): boolean {
    const { rate, intervalSeconds, blockSeconds } = this.limit;
    // Even a slow rate lets a first request through.
    const capacity = Math.max(1, rate);
    let bucket = this.clients.get(client);
    if (!bucket) {
      bucket = { tokens: capacity, filledMs: nowMs, blockedUntilMs: 0 };
      this.clients.set(client, bucket);
    }
    if (nowMs < bucket.blockedUntilMs) return false;
    const refill = ((nowMs - bucket.filledMs) / 1000) * (rate / intervalSeconds);
    bucket.tokens = Math.min(capacity, bucket.tokens + Math.max(0, refill));
    bucket.filledMs = nowMs;
    if (bucket.tokens >= 1) {
      bucket.tokens -= 1;
      return true;
    }
    if (blockSeconds > 0) bucket.blockedUntilMs = nowMs + blockSeconds * 1000;
    return false;
  }

  /**
   * How many requests a client has left, and in how many seconds the next request is allowed, or all requests are
   * available again.
   */
  headroom(client: string, nowMs: number): { limit: number; remaining: number; resetSeconds: number } {
    const { rate, intervalSeconds } = this.limit;
    const capacity = Math.max(1, rate);
    const { tokens, blockedUntilMs } = this.clients.peek(client) ?? { tokens: capacity, blockedUntilMs: 0 };
    const missingTokens = tokens < 1 ? 1 - tokens : capacity - tokens;
    const seconds = Math.max((missingTokens * intervalSeconds) / rate, (blockedUntilMs - nowMs) / 1000);
    return { limit: Math.floor(capacity), remaining: Math.floor(tokens), resetSeconds: Math.ceil(seconds) };
  }

  /** Whether a request of a client would be allowed. Counts nothing. */
  admits(client: string, nowMs: number): boolean {
    const bucket = this.clients.peek(client);
    if (!bucket) return true;
    const refill = ((nowMs - bucket.filledMs) / 1000) * (this.limit.rate / this.limit.intervalSeconds);
    return nowMs >= bucket.blockedUntilMs && bucket.tokens + Math.max(0, refill) >= 1;
  }
}
