import { createHash } from 'node:crypto';
import { isObject } from './coerce';
import { refuse } from './refuse';

/** A secret that was sent to these places once, to be sent there again: kept in what a login remembers. */
export interface KeptSecret {
  readonly secret: string;
  /** Digest of the places. */
  readonly sentTo: string;
}

/** Keeps a secret for the places it was sent to: addresses, what is trusted there, and who we are there. */
export const keepSecret = (secret: string, places: readonly string[]): KeptSecret => ({
  secret,
  sentTo: digestOf(places),
});

/**
 * The secret, to be sent to these places. Throws `invalid` if it was sent to others: its owner did not choose these.
 */
export function secretKeptFor(kept: unknown, places: readonly string[]): string {
  if (!isObject(kept) || typeof kept.secret !== 'string' || kept.sentTo !== digestOf(places)) {
    refuse('the configuration that this login was checked against has changed: log in again');
  }
  return kept.secret;
}

const digestOf = (places: readonly string[]): string =>
  createHash('sha256').update(JSON.stringify(places)).digest('base64url');
