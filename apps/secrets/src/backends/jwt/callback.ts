import { randomBase62 } from '@keystead/auth';
import { isRefusal, Refusal } from '@keystead/refusal';
import { z } from 'zod';
import type { Call } from '../../sdk/call';
import { secretString, string } from '../../sdk/fields';
import { path } from '../../sdk/path';
import { login, type Reply } from '../../sdk/reply';
import { finish } from './browser-login';
import { findVerifier } from './config';
import { confirmPage, page } from './pages';
import { decide, isBearer, isBeginner, type PendingLogin } from './pending';
import { type OidcProvider, ProviderRefusal } from './provider';

const failed = 'Keystead login failed.';
const noState = `${failed} Expired or missing OAuth state.`;
/** Replaces a code that was sent by form and is stored here. */
const codeByForm = 'no_code';
/** Real codes are shorter; callers without a token must not store more. */
const longestCode = 4096;

/** The response for a user whose browser was redirected here. */
const asPage = { media: ['application/json', 'text/html'], refusalMedia: 'text/html' } as const;

const Input = z.object({
  state: string().optional().describe('The state from the authorization URL.'),
  code: secretString().optional().describe('The authorization code from the provider.'),
  client_nonce: secretString().optional().describe('The client_nonce that was sent when the login started.'),
  iss: string().optional().describe('The issuer, if the provider sends it.'),
  error: string().optional().describe('Error code of the provider, if it refused.'),
  error_description: string().optional().describe('The provider’s description of the error; not shown.'),
  error_uri: string().optional().describe('The provider’s page about the error; not used.'),
  confirmation: secretString()
    .optional()
    .describe('Confirms that the same user started the login. With code=no_code: the value from the form’s page.'),
});
type CallbackInput = z.output<typeof Input>;

const parameters = new Set([
  'invalid_request',
  'unauthorized_client',
  'access_denied',
  'unsupported_response_type',
  'invalid_scope',
  'server_error',
  'temporarily_unavailable',
  'login_required',
  'interaction_required',
  'consent_required',
]);

/** `oidc/callback`: the browser returns from the provider. Decision 0041. */
export const callbackPath = (provider: OidcProvider) =>
  path('oidc/callback', {
    summary: 'The redirect URI of logins with a browser.',
    auth: 'none',
    read: {
      operationId: 'oidc-callback',
      summary: 'Finish a login with the code from the provider.',
      judges: 'unguessable',
      ...asPage,
      input: Input,
      run: (call) => comeBack(provider, call),
    },
    write: {
      operationId: 'oidc-callback-form-post',
      summary: 'Accept the form that the provider posts. A request with code=no_code then finishes the login.',
      judges: 'unguessable',
      ...asPage,
      input: Input,
      responses: { 405: 'The mount accepts no codes by form, because its `oidc_response_mode` is not `form_post`.' },
      async run(call) {
        const { input, storage, nowMs } = call;
        const found = await findVerifier(storage);
        if (!found) throw new Refusal('invalid', 'could not load configuration');
        if (found.oidc_response_mode !== 'form_post') {
          throw new Refusal('unsupported-operation', 'unsupported operation');
        }
        const { state = '', code = '' } = input;
        if (code === '' || code === codeByForm) return errorPage('No code received.');
        if (code.length > longestCode) return errorPage(`The code is longer than ${longestCode} characters.`);
        const byForm = { code, proof: randomBase62(32) };
        const pending = await decide(storage, state, nowMs, (one) =>
          // Only the first code of a login is accepted.
          one.byForm || one.taken ? { next: one, result: undefined } : { next: { ...one, byForm }, result: one },
        );
        if (!pending) return errorPage('Expired or missing OAuth state.');
        const { proof: confirmation } = byForm;
        if (pending.mode === 'direct') return confirmPage(pending, { state, code: codeByForm, confirmation });
        return page(
          'Signed in at the provider',
          `If you started this login yourself, return to the program where you started it, and enter this code: ${confirmation}`,
        );
      },
    },
  });

async function comeBack(provider: OidcProvider, call: Call<object, CallbackInput>): Promise<Reply> {
  const { input, storage, nowMs } = call;
  const { state = '' } = input;
  const pendingLogin = await decide(storage, state, nowMs, (pending) => take(pending, input));
  if (!pendingLogin) throw new Refusal('invalid', noState);
  const { pending, confirm } = pendingLogin;
  if (confirm) {
    return confirmPage(pending, { state, code: input.code ?? '', iss: input.iss ?? '', confirmation: 'yes' });
  }
  if (pending.mode !== 'direct') return login(await redeem(provider, pending, call));
  try {
    const login = await redeem(provider, pending, call);
    await decide(storage, state, nowMs, (one) => ({ next: { ...one, login }, result: true }));
    return page('Signed in', 'You can close this page. The login continues in the program where you started it.');
  } catch (error) {
    await decide(storage, state, nowMs, () => ({ next: undefined, result: true }));
    if (!isRefusal(error)) throw error;
    return errorPage(error.message.replace(`${failed} `, ''), error.kind === 'upstream' ? 502 : 400);
  }
}

/** The first callback claims the login: a state cannot be used twice. */
function take(pending: PendingLogin, { code, confirmation = '', error }: CallbackInput) {
  const { mode, taken } = pending;
  if (taken || mode === 'device') return { next: pending, result: undefined };
  // A caller that only knows the state may have sent another person to the provider. Only that person's browser has the
  // other secrets.
  if (code === codeByForm && !isBearer(pending, confirmation)) return { next: pending, result: undefined };
  if (mode === 'client') return { next: undefined, result: { pending, confirm: false } };
  // Opening a link could confirm another person's code, so the page asks the user first.
  const confirm = !confirmation && !error;
  return { next: confirm ? pending : { ...pending, taken: true }, result: { pending, confirm } };
}

async function redeem(provider: OidcProvider, pending: PendingLogin, call: Call<object, CallbackInput>) {
  const { error, iss, client_nonce = '', code: sent } = call.input;
  if (error) {
    const why = parameters.has(error) ? error : 'An unknown error occurred during OIDC authentication.';
    throw new Refusal('invalid', `${failed} ${why}`);
  }
  if (pending.mode === 'client' && !isBeginner(pending, client_nonce)) {
    throw new Refusal('invalid', 'invalid client_nonce');
  }
  const code = sent === codeByForm ? pending.byForm?.code : sent;
  if (!code) throw new Refusal('invalid', `${failed} No code received.`);
  return finish(
    provider,
    pending,
    async (found) => {
      // Without this check, a provider could get the code of another provider.
      if (iss && iss !== (await provider.keys.issuer(found))) {
        throw new Refusal('invalid', `${failed} The response is from another issuer (iss).`);
      }
      return provider.exchange(found, code, pending.verifier, pending.redirectUri).catch((failure) => {
        if (!(failure instanceof ProviderRefusal)) throw failure;
        throw new Refusal('invalid', `${failed} Error exchanging oidc code: ${JSON.stringify(failure.code)}.`);
      });
    },
    call,
  );
}

const errorPage = (text: string, status = 400): Reply => page(failed, text, status);
