import type { Transport } from '../api/transport';

/** Where the provider sends the browser back to; it must be allowed there, and by the role. */
const place = '/ui/oidc/callback';
const key = 'keystead.sign-in';

/** A sign-in that the page began before it left for the provider. Nothing in it opens a door by itself. */
interface Begun {
  readonly mount: string;
  readonly namespace: string;
  readonly nonce: string;
  /** Where the person was. */
  readonly to?: string;
}

/** Leaves for the provider of a mount. Throws `ApiError`, or says why the provider cannot be used. */
export async function leaveForProvider(
  transport: Transport,
  { mount, namespace, role }: { mount: string; namespace: string; role: string },
): Promise<void> {
  const bytes = crypto.getRandomValues(new Uint8Array(24));
  const nonce = [...bytes].map((byte) => byte.toString(16).padStart(2, '0')).join('');
  const redirect_uri = location.origin + place;
  const answer = await transport.call<{ data: { auth_url: string; state?: string } }>(
    'POST',
    `/v1/auth/${mount.replace(/\/$/, '')}/oidc/auth_url`,
    { redirect_uri, client_nonce: nonce, ...(role === '' ? {} : { role }) },
    namespace === '' ? {} : { 'X-Service-Namespace': namespace },
  );
  const { auth_url, state } = answer.data;
  if (auth_url === '') throw new Error(`The role does not allow ${redirect_uri}: ask for it in allowed_redirect_uris.`);
  if (state !== undefined || !/^https?:\/\//.test(auth_url)) {
    throw new Error('The role is for other clients: the console needs callback_mode client.');
  }
  sessionStorage.setItem(
    key,
    JSON.stringify({ mount, namespace, nonce, to: location.pathname + location.search } satisfies Begun),
  );
  location.assign(auth_url);
}

/** Where the workspace service leads to a provider and back to this page. */
export function addressOf(provider: string): string {
  return `/ui/sign-in/${encodeURIComponent(provider)}?to=${encodeURIComponent(location.pathname + location.search)}`;
}

/** Leaves to prove again, at the provider a session came from, who sits here. Throws `ApiError`. */
export async function proveAtProvider(transport: Transport, provider: string): Promise<void> {
  const answer = await transport.call<{ location: string }>('POST', addressOf(provider), {});
  location.assign(answer.location);
}

/** What to send to the service where the browser has just come back; undefined if it has not. Both are forgotten. */
export function takeWhatCameBack(): Record<string, string> | undefined {
  if (location.pathname !== place) return undefined;
  const sent = new URLSearchParams(location.search);
  const kept = sessionStorage.getItem(key);
  sessionStorage.removeItem(key);
  const { to = '/ui/' } = kept === null ? {} : (JSON.parse(kept) as Begun);
  // Neither code nor state stay in the address, or in the history.
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
