import type { Transport } from '../api/transport';
import { newNonce } from './nonce';

/** The redirect URI. It must be allowed at the provider and in the role. */
const place = '/ui/oidc/callback';
const key = 'keystead.sign-in';

/** The data of a sign-in that the page stores before it redirects to the provider. It contains no credential. */
interface Begun {
  readonly mount: string;
  readonly namespace: string;
  readonly nonce: string;
  /** The page to return to after the sign-in. */
  readonly to?: string;
}

/**
 * Redirects to the provider of a mount. Throws `ApiError`, or an error with the reason if the provider cannot be used.
 */
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

/**
 * The address where the workspace service redirects the browser to a provider; afterwards, the provider returns the
 * browser to this page.
 */
export function addressOf(provider: string): string {
  return `/ui/sign-in/${encodeURIComponent(provider)}?to=${encodeURIComponent(location.pathname + location.search)}`;
}

/** Redirects to the provider of the session to confirm who the person is. Throws `ApiError`. */
export async function proveAtProvider(transport: Transport, provider: string): Promise<void> {
  const answer = await transport.call<{ location: string }>('POST', addressOf(provider), {});
  location.assign(answer.location);
}

/**
 * If a provider has just returned the browser to this page, what the page must send to the service; otherwise
 * undefined. It can be read only once.
 */
export function takeWhatCameBack(): Record<string, string> | undefined {
  if (location.pathname !== place) return undefined;
  const sent = new URLSearchParams(location.search);
  const stored = sessionStorage.getItem(key);
  sessionStorage.removeItem(key);
  const { to = '/ui/' } = stored === null ? {} : (JSON.parse(stored) as Begun);
  // Removes code and state from the address and the history.
  history.replaceState(null, '', to.startsWith('/ui/') ? to : '/ui/');
  if (sent.has('error')) return { method: 'oidc', refused: sent.get('error') ?? '' };
  if (stored === null) return { method: 'oidc', refused: 'this page did not begin the sign-in' };
  const { mount, namespace, nonce } = JSON.parse(stored) as Begun;
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
