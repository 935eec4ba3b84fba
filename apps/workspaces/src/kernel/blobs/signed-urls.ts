import { equalSecrets } from '@keystead/auth';
import type { Keyring } from '@keystead/keyring';
import { isHolderKind, type LinkHolder } from '../access/current-access';

const validSeconds = 25 * 3600;

/** The request that a link allows. If a write may happen only once, the endpoint enforces this. */
export type LinkVerb = 'GET' | 'PUT';

type Signer = { readonly keyring: Keyring; now(): number };
/** The data for creating links. A link allows only what its holder may do at the time it is used. */
type LinkMaker = Signer & { readonly publicUrl: string; readonly holder?: LinkHolder };

/** The holder and the MAC of a link. A request through a link is treated as a request of the holder. */
function signature(keyring: Keyring, verb: LinkVerb, path: string, expires: string, { kind, id }: LinkHolder): string {
  const mac = keyring.mac('signed-url', [verb, path, expires, kind, id].join('\n')).toString('base64url');
  return `${kind}.${id}.${mac}`;
}

function holderOf({ holder }: LinkMaker): LinkHolder {
  if (holder === undefined) throw new Error('a signed URL needs a holder: it can be created only during a request');
  return holder;
}

// Rounded to whole hours, so that a resource that is shown twice has the same link.
const expiry = (env: Signer): string => String((Math.floor(env.now() / 3_600_000) + 1) * 3600 + validSeconds);

const soon = (env: Signer, seconds: number): string => String(Math.floor(env.now() / 1000) + seconds);

/**
 * An absolute URL that needs no token. It contains a secret and allows one verb on one path, for 25 hours or the given
 * seconds, as long as its holder could do the same with a token. `path` is below `/api/v2` and belongs to an endpoint
 * that declares `link`. The base URL is configured and never taken from a request, so links always lead to this
 * service.
 */
export function signedUrl(env: LinkMaker, verb: LinkVerb, path: string, seconds?: number): string {
  const expires = seconds === undefined ? expiry(env) : soon(env, seconds);
  const secret = signature(env.keyring, verb, path, expires, holderOf(env));
  return `${env.publicUrl}/api/v2${path}?expires=${expires}&signature=${secret}`;
}

/** A signed URL with the secret in the path, for clients that append their own query. */
export function signedPathUrl(env: LinkMaker, path: string): string {
  const expires = expiry(env);
  return `${env.publicUrl}/api/v2${path}/${expires}/${signature(env.keyring, 'GET', path, expires, holderOf(env))}`;
}

/** The names of the last two path parameters, which contain the secret of a link. */
const inPath = '/:expires/:signature';

/** The parts of a request that contain a link. */
export interface LinkRequest {
  /** The path pattern of its endpoint. */
  readonly pattern: string;
  readonly params: Readonly<Record<string, string>>;
  /** The query parameters as sent. Secrets are compared as sent, because each secret has only one spelling. */
  readonly query: ReadonlyMap<string, string>;
}

/**
 * The holder of the link that a request used. The signature must match the verb and the path, and the link must not
 * have expired.
 */
export function holderOfLink(
  env: Signer,
  verb: LinkVerb,
  { pattern, params, query }: LinkRequest,
): LinkHolder | undefined {
  const holdsSecret = pattern.endsWith(inPath);
  const expires = holdsSecret ? params.expires : query.get('expires');
  const proof = holdsSecret ? params.signature : query.get('signature');
  if (expires === undefined || proof === undefined || !/^[1-9]\d{9}$/.test(expires)) return undefined;
  if (Number(expires) * 1000 <= env.now()) return undefined;
  const [kind = '', id = ''] = proof.split('.');
  if (!isHolderKind(kind)) return undefined;
  const signed = holdsSecret ? pattern.slice(0, -inPath.length) : pattern;
  const path = signed.replace(/:(\w+)/g, (_part, name: string) => params[name] ?? '');
  const holder = { kind, id };
  return equalSecrets(proof, signature(env.keyring, verb, path, expires, holder)) ? holder : undefined;
}
