import * as client from 'openid-client';

// A third-party relying party that checks everything: discovery, PKCE, state, nonce, signatures, at_hash.
const { issuer, token, applications, redirect } = JSON.parse(process.argv[2]);
const ways = {
  basic: (secret) => client.ClientSecretBasic(secret),
  post: (secret) => client.ClientSecretPost(secret),
  none: () => client.None(),
};

/** The console's part of a sign-in, for a person with a session. */
async function browse(url) {
  const at = new URL(url);
  at.pathname = at.pathname.replace('/ui/', '/v1/');
  const answer = await fetch(at, { headers: { 'X-Service-Token': token } });
  const said = await answer.json();
  const back = new URL(redirect);
  for (const [name, value] of Object.entries(said)) back.searchParams.set(name, value);
  return back;
}

for (const { id, secret, way, algorithm } of applications) {
  const execute = [client.allowInsecureRequests];
  const metadata = { id_token_signed_response_alg: algorithm };
  const config = await client.discovery(new URL(issuer), id, metadata, ways[way](secret), { execute });
  if (!config.serverMetadata().supportsPKCE()) throw new Error('no PKCE');
  const verifier = client.randomPKCECodeVerifier();
  const [state, nonce] = [client.randomState(), client.randomNonce()];
  const url = client.buildAuthorizationUrl(config, {
    redirect_uri: redirect,
    scope: 'openid profile',
    code_challenge: await client.calculatePKCECodeChallenge(verifier),
    code_challenge_method: 'S256',
    max_age: '600',
    state,
    nonce,
  });
  const back = await browse(url);
  const checks = { pkceCodeVerifier: verifier, expectedState: state, expectedNonce: nonce, maxAge: 600 };
  const tokens = await client.authorizationCodeGrant(config, back, { ...checks, idTokenExpected: true });
  const { sub } = tokens.claims();
  const user = await client.fetchUserInfo(config, tokens.access_token, sub);
  if (user.name !== tokens.claims().name) throw new Error('userinfo differs from the ID token');
  const again = await client.authorizationCodeGrant(config, back, checks).catch((error) => error.error);
  if (again !== 'invalid_grant') throw new Error(`the code was good twice: ${again}`);
  const ended = await client.fetchUserInfo(config, tokens.access_token, sub).catch((error) => error.cause?.[0]);
  if (ended?.parameters?.error !== 'invalid_token')
    throw new Error(`the tokens of the session are still valid: ${ended}`);
  console.log(`${way} ${algorithm}: ${user.name} ${sub}`);
}
