import { credential, instant } from '@keystead/jsonapi';
import { Refusal } from '@keystead/refusal';
import { type Endpoint, endpoints, type Raw, serializerOf } from '../../../kernel/endpoints/endpoint';
import { requireFreshSession } from '../tokens/fresh-session';
import { readForm } from './form';
import { leads, leadTo } from './pages';
import { NewLoginCode } from './schema';
import { createLoginCode, exchangeCode, type LoginCode, problemOf } from './tool-login';

const formBytes = 16 * 1024;

const codeSerializer = serializerOf<LoginCode>()({
  type: 'login-codes',
  shape: {
    code: credential,
    'expired-at': instant,
  },
  id: () => 'shown-once',
  attributes: ({ code, expiresAt }) => ({ code, 'expired-at': expiresAt.toISOString() }),
});
const { post } = endpoints({}, codeSerializer, { organizationsOf: () => [] });
const { raw } = endpoints({}, undefined, { organizationsOf: () => [] });

const authorize = raw('GET')('/app/oauth2/auth', {
  summary: 'Redirect to the page that asks the user whether the tool’s login command gets a token.',
  answers: leads,
  outside: true,
  auth: 'none',
  query: {
    client_id: 'The tool.',
    redirect_uri: 'The address on the same machine at which the tool waits for the answer.',
    response_type: 'code',
    code_challenge: 'SHA-256 hash of a secret of the tool, in base64url.',
    code_challenge_method: 'S256',
    state: 'A string that is returned to the tool unchanged.',
  },
  run: async ({ env, query }) => {
    const parameter = (name: string) => query.get(name) ?? '';
    const problem =
      parameter('response_type') !== 'code'
        ? 'response_type is not code'
        : parameter('code_challenge_method') !== 'S256'
          ? 'code_challenge_method is not S256'
          : problemOf({
              clientId: parameter('client_id'),
              redirectUri: parameter('redirect_uri'),
              codeChallenge: parameter('code_challenge'),
            });
    // An invalid request is not redirected to any address.
    if (problem) throw new Refusal('malformed', problem);
    // The request is passed as a single parameter, which the page returns unchanged.
    const encoded = Buffer.from(new URLSearchParams([...query.entries]).toString()).toString('base64url');
    return leadTo(env, `authorize?asked=${encoded}`);
  },
});

const makeCode = post('/account/login-codes', {
  summary: 'Create an authorization code, which the tool exchanges for a token of the caller.',
  tokens: ['user'],
  idempotent: false,
  stepUp: true,
  body: NewLoginCode,
  run: async ({ db, env, principal, body }) => {
    await requireFreshSession(db, principal, env.now());
    return createLoginCode(db, env.keyring, principal, body, env.now());
  },
});

const oauthError = (error: string): Raw => ({
  status: 400,
  headers: { 'Content-Type': 'application/json' },
  body: JSON.stringify({ error }),
});

const exchange = raw('POST')('/oauth2/token', {
  summary: 'Exchange an authorization code of the tool’s login for a token.',
  outside: true,
  auth: 'none',
  streams: true,
  takes: 'application/x-www-form-urlencoded',
  refuses: [413],
  answers: {
    200: {
      description: 'The token.',
      type: 'application/json',
      schema: {
        type: 'object',
        required: ['access_token', 'token_type'],
        properties: { access_token: { type: 'string' }, token_type: { type: 'string', enum: ['bearer'] } },
      },
    },
    400: {
      description: 'The code is invalid, or was created for a different request.',
      type: 'application/json',
      schema: {
        type: 'object',
        required: ['error'],
        properties: { error: { type: 'string', enum: ['unsupported_grant_type', 'invalid_grant'] } },
      },
    },
  },
  run: async ({ db, env, request }) => {
    const form = await readForm(request.stream, formBytes);
    const parameter = (name: string) => form.get(name) ?? '';
    if (parameter('grant_type') !== 'authorization_code') return oauthError('unsupported_grant_type');
    const token = await exchangeCode(
      db,
      env.keyring,
      request.id,
      {
        code: parameter('code'),
        clientId: parameter('client_id'),
        redirectUri: parameter('redirect_uri'),
        codeVerifier: parameter('code_verifier'),
      },
      env.now(),
    );
    if (!token) return oauthError('invalid_grant');
    return {
      status: 200,
      headers: { 'Content-Type': 'application/json', Pragma: 'no-cache' },
      body: JSON.stringify({ access_token: token, token_type: 'bearer' }),
    };
  },
});

/** The tool's `login` command: the redirect to its page, codes, and their exchange, with proof of possession. */
export const toolLoginEndpoints: readonly Endpoint[] = [authorize, makeCode, exchange];
