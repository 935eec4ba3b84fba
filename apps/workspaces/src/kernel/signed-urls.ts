import { equalSecrets } from '@keystead/auth';
import type { Keyring } from '@keystead/keyring';

const validSeconds = 25 * 3600;

function signature(keyring: Keyring, path: string, expires: number): string {
  return keyring.mac('signed-url', `${path}\n${expires}`).toString('base64url');
}

// Whole hours, so that a resource shown twice shows the same link.
const expiry = (env: { now(): number }): number => (Math.floor(env.now() / 3_600_000) + 1) * 3600 + validSeconds;

/**
 * An absolute URL that needs no token: it holds its own secret, and is good for 25 hours. `path` is below `/api/v2`. Where
 * it begins is configured and never taken from a request, so that nobody can have links made that lead elsewhere.
 */
export function signedUrl(env: { keyring: Keyring; publicUrl: string; now(): number }, path: string): string {
  const expires = expiry(env);
  return `${env.publicUrl}/api/v2${path}?expires=${expires}&signature=${signature(env.keyring, path, expires)}`;
}

/** The same with the secret in the path, for clients that write a query of their own. */
export function signedPathUrl(env: { keyring: Keyring; publicUrl: string; now(): number }, path: string): string {
  const expires = expiry(env);
  return `${env.publicUrl}/api/v2${path}/${expires}/${signature(env.keyring, path, expires)}`;
}

/** True where the query of a request carries the signature of its path and the time is not up. */
export function isSigned(
  env: { keyring: Keyring; now(): number },
  path: string,
  query: { get(name: string): string | undefined },
): boolean {
  const expires = Number(query.get('expires'));
  if (!Number.isSafeInteger(expires) || expires * 1000 <= env.now()) return false;
  return equalSecrets(query.get('signature') ?? '', signature(env.keyring, path, expires));
}
