import { isAllowedRedirect } from '@keystead/auth';
import { Refusal } from '@keystead/refusal';
import { z } from 'zod';
import type { Call } from '../../sdk/call';
import { anyCase, secretString, string } from '../../sdk/fields';
import { path } from '../../sdk/path';
import { data } from '../../sdk/reply';
import { authorizationUrl, beginning, browserConfig, browserRole, challengeOf, scopeOf } from './browser-login';
import type { Verifier } from './config';
import { keep } from './pending';
import { type OidcProvider, ProviderRefusal } from './provider';
import { takeNamespace } from './redirect';
import type { JwtRole } from './role';

const Input = z.object({
  role: anyCase(string()).optional().describe('Name of the role. Default: default_role of the configuration.'),
  redirect_uri: string()
    .optional()
    .describe('Redirect URI after sign-in at the provider; not needed for the device flow.'),
  client_nonce: secretString()
    .optional()
    .describe('Nonce that the client chooses. The client must send it again to finish the login; needed for polling.'),
});

const usualPollSeconds = 5;
const longestNonce = 256;

/** `oidc/auth_url`: starts a login by browser or device. Decision 0041. */
export const authUrlPath = (provider: OidcProvider) =>
  path('oidc/auth_url', {
    summary: 'The URL for signing in at the provider.',
    auth: 'none',
    write: {
      operationId: 'oidc-request-authorization-url',
      summary: 'Start a login with a browser or device. Returns the URL to open.',
      judges: 'nothing',
      input: Input,
      output: z.object({
        auth_url: z.string(),
        state: z.string().optional(),
        user_code: z.string().optional(),
        poll_interval: z.string().optional(),
      }),
      async run(call) {
        const { input, storage } = call;
        if ((input.client_nonce ?? '').length > longestNonce) {
          throw new Refusal('invalid', `client_nonce: at most ${longestNonce} characters`);
        }
        const found = await browserConfig(storage);
        const name = (input.role || found.default_role).toLowerCase();
        if (!name) throw new Refusal('invalid', 'missing role');
        const role = await browserRole(storage, name);
        if (role.callback_mode !== 'client' && !input.client_nonce)
          throw new Refusal('invalid', 'missing client_nonce');
        return role.callback_mode === 'device'
          ? beginDevice(provider, found, role, name, call)
          : beginBrowser(provider, found, role, name, call);
      },
    },
  });

type AuthUrlCall = Call<object, z.output<typeof Input>>;

async function beginBrowser(provider: OidcProvider, found: Verifier, role: JwtRole, name: string, call: AuthUrlCall) {
  const { input, storage, caller, nowMs } = call;
  if (!input.redirect_uri) throw new Refusal('invalid', 'missing redirect_uri');
  const { redirectUri, namespace } = found.namespace_in_state
    ? takeNamespace(input.redirect_uri)
    : { redirectUri: input.redirect_uri, namespace: '' };
  if (!isAllowedRedirect(redirectUri, role.allowed_redirect_uris)) {
    // An address that is not allowed gets an empty URL, which existing clients check for.
    call.warn('redirect_uri is not among the allowed_redirect_uris of the role');
    return data({ auth_url: '' });
  }
  const pending = beginning(found, role, name, {
    redirectUri,
    clientNonce: input.client_nonce ?? '',
    address: caller.address,
  });
  // Called before anything is stored, so that no login starts while the provider is unavailable.
  const endpoint = await provider.endpoint(found, 'authorization_endpoint');
  if (!endpoint) call.warn('the provider has no authorization_endpoint, so auth_url is empty');
  const state = await keep(storage, pending, nowMs);
  const stateParameter = namespace === '' ? state : `${state},ns=${namespace}`;
  const auth_url = authorizationUrl(endpoint, found, role, pending, stateParameter);
  if (role.callback_mode !== 'direct') return data({ auth_url });
  return data({ auth_url, state, poll_interval: String(role.poll_interval || usualPollSeconds) });
}

async function beginDevice(provider: OidcProvider, found: Verifier, role: JwtRole, name: string, call: AuthUrlCall) {
  const { input, storage, caller, nowMs } = call;
  const pendingLogin = { redirectUri: '', clientNonce: input.client_nonce ?? '', address: caller.address };
  const pending = beginning(found, role, name, pendingLogin);
  const device = await provider.beginDevice(found, scopeOf(role), challengeOf(pending.verifier)).catch((error) => {
    if (!(error instanceof ProviderRefusal)) throw error;
    throw new Refusal('invalid', `error authorizing device: ${error.message}`);
  });
  const state = await keep(storage, { ...pending, deviceCode: device.deviceCode }, nowMs);
  return data({
    auth_url: device.url,
    state,
    ...(device.userCode ? { user_code: device.userCode } : {}),
    poll_interval: String(role.poll_interval || device.intervalSeconds || usualPollSeconds),
  });
}
