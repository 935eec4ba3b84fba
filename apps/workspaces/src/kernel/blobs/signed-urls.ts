import { equalSecrets } from '@keystead/auth';
import type { Keyring } from '@keystead/keyring';

const validSeconds = 25 * 3600;

/** What a link is good for. Where a write counts once, the thing that is written to says so. */
export type LinkVerb = 'GET' | 'PUT';

type Signer = { readonly keyring: Keyring; now(): number };

function signature(keyring: Keyring, verb: LinkVerb, path: string, expires: string): string {
  return keyring.mac('signed-url', `${verb}\n${path}\n${expires}`).toString('base64url');
}

// Whole hours, so that a resource shown twice shows the same link.
const expiry = (env: Signer): string => String((Math.floor(env.now() / 3_600_000) + 1) * 3600 + validSeconds);

/**
 * An absolute URL that needs no token: it holds its own secret, and is good for one verb on one path, for 25 hours. `path`
 * is below `/api/v2`, of an endpoint that declares `link`. Where it begins is configured and never taken from a request, so
 * that nobody can have links made that lead elsewhere.
 */
export function signedUrl(env: Signer & { publicUrl: string }, verb: LinkVerb, path: string): string {
  const expires = expiry(env);
  return `${env.publicUrl}/api/v2${path}?expires=${expires}&signature=${signature(env.keyring, verb, path, expires)}`;
}

/** The same with the secret in the path, for readers that write a query of their own. */
export function signedPathUrl(env: Signer & { publicUrl: string }, path: string): string {
  const expires = expiry(env);
  return `${env.publicUrl}/api/v2${path}/${expires}/${signature(env.keyring, 'GET', path, expires)}`;
}

/** What the two last parts of a path are called that hold the secret of a link. */
const inPath = '/:expires/:signature';

/** The parts of a request that make it one by a link. */
export interface LinkRequest {
  /** The pattern that was found for its path. */
  readonly pattern: string;
  readonly params: Readonly<Record<string, string>>;
  /** As sent: each secret has one spelling. */
  readonly query: ReadonlyMap<string, string>;
}

/** True where a request carries the signature of its verb and its path, and the time is not up. */
export function isSigned(env: Signer, verb: LinkVerb, { pattern, params, query }: LinkRequest): boolean {
  const holdsSecret = pattern.endsWith(inPath);
  const expires = holdsSecret ? params.expires : query.get('expires');
  const given = holdsSecret ? params.signature : query.get('signature');
  if (expires === undefined || given === undefined || !/^[1-9]\d{9}$/.test(expires)) return false;
  if (Number(expires) * 1000 <= env.now()) return false;
  const signed = holdsSecret ? pattern.slice(0, -inPath.length) : pattern;
  const path = signed.replace(/:(\w+)/g, (_part, name: string) => params[name] ?? '');
  return equalSecrets(given, signature(env.keyring, verb, path, expires));
}
