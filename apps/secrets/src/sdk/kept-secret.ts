import { createHash } from 'node:crypto';
import { isObject } from './coerce';
import { refuse } from './refuse';

/** A secret that is stored with a login and sent to the same destinations again. */
export interface KeptSecret {
  readonly secret: string;
  /** A digest of the places to which the secret was sent. */
  readonly sentTo: string;
}

/** Stores a secret for the places it was sent to: addresses, trusted certificates, and our identity there. */
export const keepSecret = (secret: string, places: readonly string[]): KeptSecret => ({
  secret,
  sentTo: digestOf(places),
});

/**
 * The secret, for sending it to these places. Throws `invalid` if it was sent to other places, because its owner did
 * not choose these.
 */
export function secretKeptFor(stored: unknown, places: readonly string[]): string {
  if (!isObject(stored) || typeof stored.secret !== 'string' || stored.sentTo !== digestOf(places)) {
    refuse('the configuration that this login was checked against has changed: log in again');
  }
  return stored.secret;
}

const digestOf = (places: readonly string[]): string =>
  createHash('sha256').update(JSON.stringify(places)).digest('base64url');
