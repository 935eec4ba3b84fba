/** The rotating signing keys of an issuer; the issuer decides how to store a key. */
export interface RotatingKeys<Key extends object> {
  readonly current: Key;
  /** Already published, so clients that cache our key set know the key before it signs. */
  readonly next: Key;
  /** These keys no longer sign, but tokens that they signed may still be valid. */
  readonly previous: readonly (Key & { readonly retiredAtMs: number })[];
  readonly currentSinceMs: number;
}

/**
 * How long a key signs, and how long it stays published afterwards. The latter is longer than the TTL of tokens, and
 * longer than clients cache a key set.
 */
export interface RotationRule {
  readonly rotateEveryMs: number;
  readonly shownForMs: number;
}

/** True if there are no keys yet, or the current one has signed for long enough. */
export function isRotationDue(
  keys: RotatingKeys<object> | undefined,
  { rotateEveryMs }: RotationRule,
  nowMs: number,
): boolean {
  return keys === undefined || nowMs - keys.currentSinceMs >= rotateEveryMs;
}

/** Rotates: the published key starts to sign, and `fresh` is published in its place. */
export function rotateKeys<Key extends object>(
  before: RotatingKeys<Key>,
  fresh: Key,
  { shownForMs }: RotationRule,
  nowMs: number,
): RotatingKeys<Key> {
  const published = before.previous.filter(({ retiredAtMs }) => nowMs - retiredAtMs < shownForMs);
  return {
    current: before.next,
    next: fresh,
    previous: [{ ...before.current, retiredAtMs: nowMs }, ...published],
    currentSinceMs: nowMs,
  };
}

/** The first keys of an issuer. */
export function firstKeys<Key extends object>(current: Key, next: Key, nowMs: number): RotatingKeys<Key> {
  return { current, next, previous: [], currentSinceMs: nowMs };
}

/** Every key that may have signed a token that is still valid, and the key that will sign next. */
export function shownKeys<Key extends object>({ current, next, previous }: RotatingKeys<Key>): readonly Key[] {
  return [current, next, ...previous];
}
