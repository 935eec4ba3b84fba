import type { Transport } from '../api/transport';
import { newNonce } from './nonce';

/** The redirect URI: the provider and the role must allow it. */
const place = '/ui/oidc/callback';
const key = 'keystead.sign-in';

/** A sign-in that the page began before it left for the provider. It contains no credential. */
interface Begun {
  readonly mount: string;
  readonly namespace: string;
  readonly nonce: string;
  /** The page to return to. */
  readonly to?: string;
}

/** Redirects to the provider of a mount. Throws `ApiError`, or an error that says why the provider cannot be used. */
export async function leaveForProvider(
  transport: Transport,
  { mount, namespace, role }: { mount: string; namespace: string; role: string },
): Promise<void> {
  const nonce = newNonce();
  const redirect_uri = location.origin + place;
  const answer = await transport.call<{ data: { auth_url: string; state?: string } }>(
    'POST',
    `/v1/auth/${mount.replace(/\/$/, '')}/oidc/auth_url`,
    { redirect_uri, client_nonce: nonce, ...(role === '' ? {} : { role }) },
    namespace === '' ? {} : { 'X-Service-Namespace': namespace },
  );
  const { auth_url, state } = answer.data;
  if (auth_url === '')
    throw new Error(`The role does not allow ${redirect_uri}: have it added to allowed_redirect_uris.`);
  if (state !== undefined || !/^https?:\/\//.test(auth_url)) {
    throw new Error('The role is for other clients: the console needs callback_mode client.');
  }
  sessionStorage.setItem(
    key,
    JSON.stringify({ mount, namespace, nonce, to: location.pathname + location.search } satisfies Begun),
  );
  location.assign(auth_url);
}

/** The address at which the workspace service redirects to a provider and back to this page. */
export function addressOf(provider: string): string {
  return `/ui/sign-in/${encodeURIComponent(provider)}?to=${encodeURIComponent(location.pathname + location.search)}`;
}

/** Redirects to the provider of the session to confirm who the person is. Throws `ApiError`. */
export async function proveAtProvider(transport: Transport, provider: string): Promise<void> {
  const answer = await transport.call<{ location: string }>('POST', addressOf(provider), {});
  location.assign(answer.location);
}

/**
 * What to send to the service if the browser has just come back from a provider, otherwise undefined. Can be read once.
 */
export function takeWhatCameBack(): Record<string, string> | undefined {
  if (location.pathname !== place) return undefined;
  const sent = new URLSearchParams(location.search);
  const kept = sessionStorage.getItem(key);
  sessionStorage.removeItem(key);
  const { to = '/ui/' } = kept === null ? {} : (JSON.parse(kept) as Begun);
  // Removes code and state from the address and the history.
  history.replaceState(null, '', to.startsWith('/ui/') ? to : '/ui/');
  if (sent.has('error')) return { method: 'oidc', refused: sent.get('error') ?? '' };
  if (kept === null) return { method: 'oidc', refused: 'this page did not begin the sign-in' };
  const { mount, namespace, nonce } = JSON.parse(kept) as Begun;
  const iss = sent.get('iss');
  return {
    method: 'oidc',
    mount,
    nonce,
    state: sent.get('state') ?? '',
    authorization: sent.get('code') ?? '',
    ...(iss === null ? {} : { iss }),
    ...(namespace === '' ? {} : { namespace }),
  };
}
