import { equalSecrets } from '@keystead/auth';
import type { Keyring } from '@keystead/keyring';
import { isHolderKind, type LinkHolder } from '../access/current-access';

const validSeconds = 25 * 3600;

/** What a link is good for. Where a write counts once, the thing that is written to says so. */
export type LinkVerb = 'GET' | 'PUT';

type Signer = { readonly keyring: Keyring; now(): number };
/** What makes links: they are good for what their holder may do when they are used. */
type LinkMaker = Signer & { readonly publicUrl: string; readonly holder?: LinkHolder };

/** The holder and the secret: a link is judged as a request of the holder's. */
function signature(keyring: Keyring, verb: LinkVerb, path: string, expires: string, { kind, id }: LinkHolder): string {
  const mac = keyring.mac('signed-url', [verb, path, expires, kind, id].join('\n')).toString('base64url');
  return `${kind}.${id}.${mac}`;
}

function holderOf({ holder }: LinkMaker): LinkHolder {
  if (holder === undefined) throw new Error('a link needs a holder: it is made while a request is answered');
  return holder;
}

// Whole hours, so that a resource shown twice shows the same link.
const expiry = (env: Signer): string => String((Math.floor(env.now() / 3_600_000) + 1) * 3600 + validSeconds);

const soon = (env: Signer, seconds: number): string => String(Math.floor(env.now() / 1000) + seconds);

/**
 * An absolute URL that needs no token: it holds its own secret, and is good for one verb on one path, for 25 hours or
 * the given seconds, as long as the caller it was made for could do the same with a token. `path` is below `/api/v2`, of an endpoint that declares
 * `link`. Where it begins is configured and never taken from a request, so that links never lead elsewhere.
 */
export function signedUrl(env: LinkMaker, verb: LinkVerb, path: string, seconds?: number): string {
  const expires = seconds === undefined ? expiry(env) : soon(env, seconds);
  const secret = signature(env.keyring, verb, path, expires, holderOf(env));
  return `${env.publicUrl}/api/v2${path}?expires=${expires}&signature=${secret}`;
}

/** The same with the secret in the path, for clients that add their own query. */
export function signedPathUrl(env: LinkMaker, path: string): string {
  const expires = expiry(env);
  return `${env.publicUrl}/api/v2${path}/${expires}/${signature(env.keyring, 'GET', path, expires, holderOf(env))}`;
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

/** Whose link a request came by: it carries the signature of its verb and its path, and the time is not up. */
export function holderOfLink(
  env: Signer,
  verb: LinkVerb,
  { pattern, params, query }: LinkRequest,
): LinkHolder | undefined {
  const holdsSecret = pattern.endsWith(inPath);
  const expires = holdsSecret ? params.expires : query.get('expires');
  const given = holdsSecret ? params.signature : query.get('signature');
  if (expires === undefined || given === undefined || !/^[1-9]\d{9}$/.test(expires)) return undefined;
  if (Number(expires) * 1000 <= env.now()) return undefined;
  const [kind = '', id = ''] = given.split('.');
  if (!isHolderKind(kind)) return undefined;
  const signed = holdsSecret ? pattern.slice(0, -inPath.length) : pattern;
  const path = signed.replace(/:(\w+)/g, (_part, name: string) => params[name] ?? '');
  const holder = { kind, id };
  return equalSecrets(given, signature(env.keyring, verb, path, expires, holder)) ? holder : undefined;
}
