import { createHmac, randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { manualClock, testCertificate } from '@keystead/testing';
import { IssuerStandIn, newKey, signRaw } from '../../../test/stand-ins/jwt';
import { startSecrets } from '../../../test/start-secrets';

describe('login with signed tokens', () => {
  const issuer = new IssuerStandIn();
  const clock = manualClock(Date.now());
  issuer.nowMs = () => clock.now();
  beforeAll(() => issuer.start());
  afterAll(() => issuer.stop());
  const secrets = startSecrets({ clock });
  beforeAll(async () => {
    await secrets.root.write('sys/auth/jwt', { type: 'jwt' }).expect(204);
  });

  const configure = (fields: object) => secrets.root.write('auth/jwt/config', fields);
  const byDiscovery = () => configure({ oidc_discovery_url: issuer.address }).expect(204);
  const role = (name: string, fields: object) =>
    secrets.root.write(`auth/jwt/role/${name}`, { role_type: 'jwt', user_claim: 'sub', ...fields });
  const login = (fields: object) => secrets.anonymous.write('auth/jwt/login', fields);
  const refused = async (fields: object, status = 400): Promise<string> =>
    (await login(fields).expect(status)).body.errors[0];
  const now = () => Math.floor(clock.now() / 1000);

  describe('configuration', () => {
    const publicPem = newKey().publicKey.export({ type: 'spki', format: 'pem' }).toString();
    const privatePem = newKey().privateKey.export({ type: 'pkcs8', format: 'pem' }).toString();

    it('is absent at first, and all logins are refused', async () => {
      await secrets.root.read('auth/jwt/config').expect(404);
      expect(await refused({ role: 'ci', jwt: 'x' })).toBe('could not load configuration');
    });

    it.each([
      ['no source of keys', () => ({}), 'exactly one of'],
      ['two sources', () => ({ jwks_url: issuer.keysAddress, oidc_discovery_url: issuer.address }), 'exactly one of'],
      [
        'keys in addition to a source',
        () => ({ jwks_url: issuer.keysAddress, jwt_validation_pubkeys: publicPem }),
        'exactly one',
      ],
      ['a string that is not a key', () => ({ jwt_validation_pubkeys: 'zz' }), 'number 1 of jwt_validation_pubkeys'],
      [
        'a private key',
        () => ({ jwt_validation_pubkeys: [publicPem, privatePem] }),
        'number 2 of jwt_validation_pubkeys',
      ],
      [
        'a symmetric algorithm',
        () => ({ jwks_url: issuer.keysAddress, jwt_supported_algs: 'HS256' }),
        'unsupported signing',
      ],
      ['no algorithm', () => ({ jwks_url: issuer.keysAddress, jwt_supported_algs: 'none' }), 'unsupported signing'],
      ['a file', () => ({ jwks_url: 'file:///etc/passwd' }), 'jwks_url must be an http or https address'],
      ['a password in an address', () => ({ jwks_url: 'http://a:b@127.0.0.1/' }), 'jwks_url must be an http'],
      [
        'certificates without an address',
        () => ({ oidc_discovery_url: issuer.address, jwks_ca_pem: 'x' }),
        'no effect without',
      ],
      [
        'broken certificates',
        () => ({ jwks_url: issuer.keysAddress, jwks_ca_pem: 'x' }),
        'not an x509 PEM certificate',
      ],
      [
        'an address without keys',
        () => ({ jwks_url: `${issuer.address}/nothing` }),
        'error checking jwks_url: the issuer answered 404',
      ],
      [
        'an address without a server',
        () => ({ jwks_url: 'http://127.0.0.1:1/keys' }),
        'the issuer is unreachable: ECONNREFUSED',
      ],
      [
        'an address without a discovery document',
        () => ({ oidc_discovery_url: `${issuer.address}/other` }),
        'error checking oidc_discovery_url',
      ],
    ])('with %s is refused, and nothing is stored', async (_what, fields, text) => {
      const { body } = await configure(fields()).expect(400);
      expect(body.errors[0]).toContain(text);
      await secrets.root.read('auth/jwt/config').expect(404);
    });

    it('is refused if the document is of another issuer, or names an untrusted place for its keys', async () => {
      issuer.document = { issuer: 'https://elsewhere.example' };
      await configure({ oidc_discovery_url: issuer.address }).expect(400, /names the issuer .*elsewhere/);
      issuer.document = { jwks_uri: 'nowhere' };
      await configure({ oidc_discovery_url: issuer.address }).expect(400, /cannot be trusted/);
      issuer.document = {};
    });

    it('is refused if no key can verify anything', async () => {
      const { published } = issuer;
      issuer.published = [];
      issuer.further = [{ kty: 'oct', k: 'c2VjcmV0' }, { kty: 'RSA', n: 'x' }, 7, null];
      await configure({ jwks_url: issuer.keysAddress }).expect(400, /it has no key that can verify signatures/);
      // A provider without keys is accepted: it may create its first key with its first token.
      await configure({ oidc_discovery_url: issuer.address }).expect(204);
      Object.assign(issuer, { published, further: [] });
    });

    it('is stored unchecked when asked for', async () => {
      const { body } = await configure({ jwks_url: 'http://127.0.0.1:1/keys', skip_jwks_validation: true }).expect(200);
      expect(body.warnings[0]).toContain('unreachable');
      await secrets.root.delete('auth/jwt/config').expect(204);
      await secrets.root.read('auth/jwt/config').expect(404);
    });

    it('is written whole and read again', async () => {
      await configure({ jwks_url: issuer.keysAddress, default_role: 'CI', bound_issuer: 'x' }).expect(204);
      await configure({ oidc_discovery_url: issuer.address, jwt_supported_algs: ['ES256', 'EdDSA'] }).expect(204);
      const { body } = await secrets.root.read('auth/jwt/config').expect(200);
      expect(body.data).toEqual({
        bound_issuer: '',
        default_role: '',
        jwks_ca_pem: '',
        jwks_url: '',
        jwt_supported_algs: ['ES256', 'EdDSA'],
        jwt_validation_pubkeys: [],
        namespace_in_state: true,
        oidc_client_id: '',
        oidc_discovery_ca_pem: '',
        oidc_discovery_url: issuer.address,
        oidc_response_mode: '',
        oidc_response_types: [],
        provider_config: {},
      });
      await configure({ oidc_discovery_url: issuer.address, namespace_in_state: false }).expect(204);
      await configure({ oidc_discovery_url: issuer.address }).expect(204);
      expect((await secrets.root.read('auth/jwt/config').expect(200)).body.data.namespace_in_state).toBe(false);
    });

    it('warns of keys fetched in the clear from elsewhere', async () => {
      const fields = { jwks_url: 'http://issuer.invalid/keys', skip_jwks_validation: true };
      const { body } = await configure(fields).expect(200);
      expect(body.warnings[0]).toContain('jwks_url is not https');
    });

    it('trusts the certificates it names, and no others', async () => {
      const secure = new IssuerStandIn(testCertificate);
      await secure.start();
      try {
        await configure({ oidc_discovery_url: secure.address }).expect(400, /unreachable: DEPTH_ZERO_SELF_SIGNED_CERT/);
        const fields = { oidc_discovery_url: secure.address, oidc_discovery_ca_pem: testCertificate.cert };
        await configure(fields).expect(204);
        await role('tls', { bound_audiences: 'secrets' }).expect(204);
        secure.nowMs = () => clock.now();
        await login({ role: 'tls', jwt: secure.sign() }).expect(200);
        secure.document = { jwks_uri: issuer.keysAddress };
        await configure(fields).expect(400, /cannot be trusted/);
      } finally {
        await secure.stop();
      }
    });
  });

  describe('roles', () => {
    it('are written, merged, read, listed and deleted', async () => {
      await role('Full', {
        bound_audiences: 'a, b',
        bound_subject: 'run-1',
        bound_claims: { project: ['one', 'two'], level: 3 },
        groups_claim: '/nested/groups',
        claim_mappings: { project: 'team_project' },
        clock_skew_leeway: '30s',
        expiration_leeway: -1,
        policies: 'dev',
        token_ttl: '20m',
      }).expect(204);
      await secrets.root.write('auth/jwt/role/full', { token_max_ttl: '1h' }).expect(204);
      const { body } = await secrets.root.read('auth/jwt/role/full').expect(200);
      expect(body.data).toEqual({
        role_type: 'jwt',
        bound_audiences: ['a', 'b'],
        bound_subject: 'run-1',
        bound_claims: { project: ['one', 'two'], level: 3 },
        bound_claims_type: 'string',
        user_claim: 'sub',
        user_claim_json_pointer: false,
        groups_claim: '/nested/groups',
        groups_claim_optional: false,
        claim_mappings: { project: 'team_project' },
        expiration_leeway: -1,
        not_before_leeway: 0,
        clock_skew_leeway: 30,
        allowed_redirect_uris: null,
        oidc_scopes: null,
        max_age: 0,
        callback_mode: 'client',
        verbose_oidc_logging: false,
        policies: ['dev'],
        token_bound_cidrs: [],
        token_explicit_max_ttl: 0,
        token_max_ttl: 3600,
        token_no_default_policy: false,
        token_num_uses: 0,
        token_period: 0,
        token_policies: ['dev'],
        token_ttl: 1200,
        token_type: 'default',
        token_strictly_bind_ip: false,
      });
      await role('other', { bound_subject: 'x' }).expect(204);
      const { body: listed } = await secrets.root.list('auth/jwt/role').expect(200);
      expect(listed.data.keys).toEqual(['full', 'other', 'tls']);
      await secrets.root.delete('auth/jwt/role/other').expect(204);
      await secrets.root.delete('auth/jwt/role/other').expect(204);
      await secrets.root.read('auth/jwt/role/other').expect(404);
    });

    it.each([
      [{ bound_audiences: 'a', user_claim: '' }, 'a user claim must be defined on the role'],
      [{}, 'must have at least one bound constraint'],
      [{ bound_claims: {} }, 'must have at least one bound constraint'],
      [{ bound_audiences: 'a', role_type: 'oidc' }, "'allowed_redirect_uris' must be set"],
      [{ bound_claims: { a: 'b' }, bound_claims_type: 'regex' }, "invalid 'bound_claims_type': regex"],
      [{ bound_claims: { a: 1 }, bound_claims_type: 'glob' }, 'bound claim "a" must be a string or a list of strings'],
      [{ bound_claims: { a: { b: 1 } } }, 'bound claim "a" must be a string, number or boolean'],
      [{ bound_claims: { a: [] } }, 'bound claim "a" must be a string, number or boolean'],
      [{ bound_claims: 'x' }, "expected a map, got 'string'"],
      [{ bound_audiences: 'a', claim_mappings: { a: 'k', b: 'k' } }, 'multiple keys are mapped to metadata key "k"'],
      [{ bound_audiences: 'a', claim_mappings: { a: 'role' } }, 'metadata key "role" is reserved'],
      [{ bound_audiences: 'a', token_ttl: '2h', token_max_ttl: '1h' }, "'token_ttl' cannot be greater"],
      [{ bound_audiences: 'a', token_bound_cidrs: 'zz' }, 'error parsing address "zz"'],
      [{ bound_audiences: 'a', token_period: '9000h' }, 'token period of "9000h0m0s" is greater than'],
    ])('refuse %j', async (fields, text) => {
      const { body } = await role('bad', fields).expect(400);
      expect(body.errors[0]).toContain(text);
      await secrets.root.read('auth/jwt/role/bad').expect(404);
    });
  });

  describe('login', () => {
    beforeAll(async () => {
      await byDiscovery();
      await role('ci', {
        bound_audiences: 'secrets,other',
        bound_claims: { project: ['harbour', 'crane'] },
        claim_mappings: { project: 'project', '/run/id': 'run_id', absent: 'absent', build: 'build' },
        token_policies: 'dev',
        token_ttl: '20m',
        token_max_ttl: '1h',
        token_num_uses: 5,
      }).expect(204);
    });

    it('refuses a name that cannot be shown or is too long', async () => {
      for (const [sub, why] of [
        ['a\0b', 'alias name cannot contain control characters'],
        ['a'.repeat(513), 'alias name is longer than 512 characters'],
      ] as const) {
        expect(await refused({ role: 'ci', jwt: issuer.sign({ sub, project: 'crane' }) })).toBe(why);
      }
      await login({ role: 'ci', jwt: issuer.sign({ sub: 'a'.repeat(512), project: 'crane' }) }).expect(200);
    });

    it('answers a token with the role’s parameters and the mapped metadata', async () => {
      const jwt = issuer.sign({ project: 'crane', run: { id: 'r-9' }, build: 7 });
      const { body } = await login({ role: 'CI', jwt }).expect(200);
      expect(body.auth).toMatchObject({
        token_policies: ['default', 'dev'],
        lease_duration: 1200,
        renewable: true,
        orphan: true,
        num_uses: 5,
        metadata: { role: 'ci', project: 'crane', run_id: 'r-9', build: '7' },
      });
      const self = await secrets.as(body.auth.client_token).read('auth/token/lookup-self').expect(200);
      expect(self.body.data).toMatchObject({ path: 'auth/jwt/login', display_name: 'jwt-run-1' });
      const entity = await secrets.root.read(`identity/entity/id/${body.auth.entity_id}`).expect(200);
      expect(entity.body.data.aliases[0]).toMatchObject({
        name: 'run-1',
        metadata: { project: 'crane', run_id: 'r-9', build: '7' },
      });
      const again = await login({ role: 'ci', jwt }).expect(200);
      expect(again.body.auth.entity_id).toBe(body.auth.entity_id);
    });

    it('uses the default role if none is named', async () => {
      expect(await refused({ jwt: issuer.sign() })).toBe('missing role');
      await configure({ oidc_discovery_url: issuer.address, default_role: 'CI' }).expect(204);
      await login({ jwt: issuer.sign({ project: 'crane' }) }).expect(200);
    });

    it.each([
      [{ role: 'ci' }, 'missing token'],
      [{ role: 'nope', jwt: 'x' }, 'role "nope" could not be found'],
      [{ role: 'ci', jwt: 'x' }, 'error validating token: malformed jwt'],
    ])('refuses %j', async (fields, text) => {
      expect(await refused(fields)).toBe(text);
    });

    it('is refused from outside the role’s addresses', async () => {
      await role('far', { bound_audiences: 'secrets', token_bound_cidrs: '10.1.0.0/16' }).expect(204);
      expect(await refused({ role: 'far', jwt: issuer.sign() }, 403)).toBe('permission denied');
    });

    it('renews by the current role, and not once the role is deleted', async () => {
      await role('brief', { bound_subject: 'run-1', bound_audiences: 'secrets', token_ttl: '10m' }).expect(204);
      const { body } = await login({ role: 'brief', jwt: issuer.sign() }).expect(200);
      await role('brief', { token_ttl: '25m' }).expect(204);
      const token = secrets.as(body.auth.client_token);
      const renewed = await token.write('auth/token/renew-self', {}).expect(200);
      expect(renewed.body.auth.lease_duration).toBe(1500);
      await secrets.root.delete('auth/jwt/role/brief').expect(204);
      const refusal = await token.write('auth/token/renew-self', {}).expect(400);
      expect(refusal.body.errors[0]).toContain('role brief does not exist during renewal');
    });

    it('adds the entity to the external groups that the token names', async () => {
      await role('members', { bound_audiences: 'secrets', groups_claim: '/access/groups' }).expect(204);
      const mounts = await secrets.root.read('sys/auth').expect(200);
      const created = await secrets.root
        .write('identity/group', { name: 'from-issuer', type: 'external', policies: 'group-policy' })
        .expect(200);
      const alias = { name: 'builders', mount_accessor: mounts.body.data['jwt/'].accessor };
      await secrets.root.write('identity/group-alias', { ...alias, canonical_id: created.body.data.id }).expect(200);
      const sign = (groups: unknown) => issuer.sign({ sub: 'member', access: { groups } });
      const inside = await login({ role: 'members', jwt: sign(['builders', 'others']) }).expect(200);
      expect(inside.body.auth.identity_policies).toEqual(['group-policy']);
      const outside = await login({ role: 'members', jwt: sign(['others']) }).expect(200);
      expect(outside.body.auth.identity_policies).toBeUndefined();
      const one = await login({ role: 'members', jwt: sign('builders') }).expect(200);
      expect(one.body.auth.identity_policies).toEqual(['group-policy']);
    });

    it('works below a namespace and at another path', async () => {
      await secrets.root.write('sys/namespaces/team', {}).expect(200);
      await secrets.root.write('team/sys/auth/ci/runs', { type: 'jwt' }).expect(204);
      await secrets.root.write('team/auth/ci/runs/config', { jwks_url: issuer.keysAddress }).expect(204);
      const bound = { user_claim: 'sub', bound_audiences: 'secrets' };
      await secrets.root.write('team/auth/ci/runs/role/r', bound).expect(204);
      const { body } = await secrets.anonymous
        .write('team/auth/ci/runs/login', { role: 'r', jwt: issuer.sign() })
        .expect(200);
      const self = await secrets
        .as(body.auth.client_token, { 'X-Service-Namespace': 'team' })
        .read('auth/token/lookup-self')
        .expect(200);
      expect(self.body.data.display_name).toBe('ci-runs-run-1');
    });
  });

  describe('signatures', () => {
    it.each(['RS256', 'RS384', 'RS512', 'ES256', 'ES384', 'ES512', 'PS256', 'PS384', 'PS512', 'EdDSA'])(
      'of %s are verified, from a key set and from a configured key',
      async (algorithm) => {
        clock.advance(31_000);
        issuer.rotate(algorithm);
        await byDiscovery();
        await role('any', { bound_audiences: 'secrets' }).expect(204);
        await login({ role: 'any', jwt: issuer.sign() }).expect(200);
        await login({ role: 'any', jwt: issuer.sign({}, { kid: undefined }) }).expect(200);
        const pem = issuer.key.publicKey.export({ type: 'spki', format: 'pem' }).toString();
        const other = newKey().publicKey.export({ type: 'spki', format: 'pem' }).toString();
        await configure({ jwt_validation_pubkeys: [other, pem] }).expect(204);
        await login({ role: 'any', jwt: issuer.sign() }).expect(200);
        await configure({ jwt_validation_pubkeys: [other] }).expect(204);
        expect(await refused({ role: 'any', jwt: issuer.sign() })).toContain('failed to verify signature of jwt');
      },
    );

    it('of an algorithm that is not supported are refused', async () => {
      issuer.rotate('RS256');
      await configure({ oidc_discovery_url: issuer.address, jwt_supported_algs: 'ES256,EdDSA' }).expect(204);
      expect(await refused({ role: 'any', jwt: issuer.sign() })).toContain('unexpected signature algorithm of jwt');
    });

    it('of a configured certificate are verified', async () => {
      const pem = testCertificate.cert;
      await configure({ jwt_validation_pubkeys: pem }).expect(204);
      expect(await refused({ role: 'any', jwt: issuer.sign() })).toContain('no such key');
    });
  });

  describe('wrong tokens', () => {
    const encode = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url');
    const hmac = (header: object) => {
      const pem = issuer.key.publicKey.export({ type: 'spki', format: 'pem' }).toString();
      const text = `${encode({ typ: 'JWT', ...header })}.${issuer.sign().split('.')[1]}`;
      return `${text}.${createHmac('sha256', pem).update(text).digest('base64url')}`;
    };
    const parts = () => issuer.sign({ project: 'harbour' }).split('.');
    const weak = newKey('RS256', 1024);
    beforeAll(async () => {
      clock.advance(31_000);
      issuer.rotate('RS256');
      issuer.published.push(weak);
      await byDiscovery();
      await role('strict', {
        bound_audiences: 'secrets',
        bound_subject: 'run-1',
        bound_claims: { project: 'harbour', 'list/of': ['x'], '/deep/flag': true },
        groups_claim: 'groups',
        claim_mappings: { mapped: 'mapped' },
        expiration_leeway: -1,
        not_before_leeway: -1,
        clock_skew_leeway: -1,
      }).expect(204);
    });
    const sound = { project: 'harbour', 'list/of': ['w', 'x'], deep: { flag: true }, groups: ['g'], mapped: 'm' };
    const sign = (claims: object = {}, header: Record<string, unknown> = {}, key = issuer.key) =>
      issuer.sign({ ...sound, ...claims }, header, key);

    it('are distinguished from valid ones', async () => {
      await login({ role: 'strict', jwt: sign() }).expect(200);
    });

    const signature = 'failed to verify signature of jwt';
    const table: [string, () => string, string][] = [
      ['not a token', () => 'zz', 'malformed jwt'],
      ['two parts', () => parts().slice(0, 2).join('.'), 'malformed jwt'],
      ['four parts', () => `${issuer.sign()}.x`, 'malformed jwt'],
      ['five parts, as in an encrypted token', () => 'a.b.c.d.e', 'malformed jwt'],
      ['an empty signature', () => `${parts().slice(0, 2).join('.')}.`, signature],
      ['a truncated signature', () => sign().slice(0, -4), signature],
      ['a broken header', () => `e30x.${parts()[1]}.${parts()[2]}`, 'malformed jwt'],
      ['a header that is a list', () => `${encode(['RS256'])}.${parts()[1]}.${parts()[2]}`, 'malformed jwt'],
      [
        'a payload that is not an object',
        () => signRaw({ alg: 'RS256', kid: issuer.key.kid }, 'text', issuer.key),
        'malformed',
      ],
      ['a payload that is a list', () => signRaw({ alg: 'RS256', kid: issuer.key.kid }, [1], issuer.key), 'malformed'],
      ['characters outside base64url', () => `${sign()}=`, 'malformed jwt'],
      ['white space around it', () => ` ${sign()}`, 'malformed jwt'],
      ['a payload that was changed after signing', () => [parts()[0], encode(sound), parts()[2]].join('.'), signature],
      ['alg none', () => `${encode({ alg: 'none' })}.${parts()[1]}.`, 'unexpected signature algorithm'],
      ['alg None with a signature', () => sign({}, { alg: 'None' }), 'unexpected signature algorithm'],
      [
        'alg HS256 with the public key as secret',
        () => hmac({ alg: 'HS256', kid: issuer.key.kid }),
        'unexpected signature',
      ],
      ['alg HS256 without key id', () => hmac({ alg: 'HS256' }), 'unexpected signature algorithm'],
      ['alg that is a list', () => sign({}, { alg: ['RS256'] }), 'unexpected signature algorithm'],
      ['no alg', () => sign({}, { alg: undefined }), 'unexpected signature algorithm'],
      ['alg RS512 over a signature of RS256', () => sign({}, { alg: 'RS512' }), signature],
      ['alg PS256 over a signature of RS256', () => sign({}, { alg: 'PS256' }), signature],
      ['alg ES256 for an RSA key', () => sign({}, { alg: 'ES256' }), 'no such key'],
      ['alg EdDSA for an RSA key', () => sign({}, { alg: 'EdDSA' }), 'no such key'],
      ['an unknown key id', () => sign({}, { kid: randomUUID() }), 'no such key'],
      ['a key id that is not a string', () => sign({}, { kid: 7 }), 'malformed jwt'],
      ['another key under a known id', () => sign({}, { kid: issuer.key.kid }, newKey('RS256')), signature],
      ['another key without an id', () => sign({}, { kid: undefined }, newKey('RS256')), signature],
      ['a key that is too short', () => sign({}, {}, weak), 'no such key'],
      [
        'another key in the header',
        () => {
          const ownKey = newKey('RS256');
          return sign({}, { kid: issuer.key.kid, jwk: ownKey.publicKey.export({ format: 'jwk' }) }, ownKey);
        },
        signature,
      ],
      ['critical extensions', () => sign({}, { crit: ['b64'], b64: true }), 'it demands extensions'],
      ['another audience', () => sign({ aud: 'other' }), 'invalid audience (aud) claim'],
      ['other audiences', () => sign({ aud: ['a', 'b'] }), 'invalid audience (aud) claim'],
      ['no audience', () => sign({ aud: undefined }), 'invalid audience (aud) claim'],
      ['an audience that is not a string', () => sign({ aud: { secrets: true } }), 'invalid audience (aud) claim'],
      ['another issuer', () => sign({ iss: 'https://evil.example' }), 'invalid issuer (iss) claim'],
      ['an issuer with an additional slash', () => sign({ iss: `${issuer.address}/` }), 'invalid issuer (iss) claim'],
      ['no issuer', () => sign({ iss: undefined }), 'invalid issuer (iss) claim'],
      ['another subject', () => sign({ sub: 'run-2' }), 'invalid subject (sub) claim'],
      ['an expiry in the past', () => sign({ exp: now() - 1 }), 'token is expired'],
      ['an expiry at this moment', () => sign({ exp: now() }), 'token is expired'],
      ['an expiry that is a string', () => sign({ exp: 'tomorrow' }), 'invalid exp claim'],
      ['a negative expiry', () => sign({ exp: -5 }), 'invalid exp claim'],
      ['no time claim', () => sign({ exp: undefined, iat: undefined, nbf: undefined }), 'no issued at (iat)'],
      ['a start in the future', () => sign({ nbf: now() + 60 }), 'token not yet valid'],
      ['an issue time in the future', () => sign({ iat: now() + 60 }), 'token issued in the future'],
      ['no bound claim', () => sign({ project: undefined }), 'claim "project" is missing'],
      ['another value of a bound claim', () => sign({ project: 'harbor' }), 'claim "project" does not match'],
      ['a bound claim that is null', () => sign({ project: null }), 'claim "project" is missing'],
      ['a bound claim of another type', () => sign({ project: { name: 'harbour' } }), '"project" is not a string'],
      ['a list without the bound value', () => sign({ 'list/of': ['y'] }), 'claim "list/of" does not match'],
      ['an empty list for a bound claim', () => sign({ 'list/of': [] }), 'claim "list/of" does not match'],
      ['another value below a pointer', () => sign({ deep: { flag: false } }), 'claim "/deep/flag" does not match'],
      ['nothing at a pointer', () => sign({ deep: 'x' }), 'claim "/deep/flag" is missing'],
      ['no groups claim', () => sign({ groups: undefined }), 'without groups, set groups_claim_optional'],
      ['groups that are not strings', () => sign({ groups: [1] }), '"groups" claim could not be converted'],
      ['a mapped claim that is an object', () => sign({ mapped: {} }), 'error converting claim "mapped" to string'],
    ];

    it('of more than 64 KiB are not read', async () => {
      await login({ role: 'strict', jwt: sign({ filler: 'x'.repeat(70_000) }) }).expect(413);
    });

    it.each(table)('with %s are refused without being repeated', async (_what, make, reason) => {
      const jwt = make();
      const text = await refused({ role: 'strict', jwt });
      expect(text).toContain(reason);
      for (const part of jwt.split('.').filter((piece) => piece.length > 8)) expect(text).not.toContain(part);
    });

    it.each([
      ['no user claim', {}, 'claim "who" not found in token'],
      ['an empty user claim', { who: '' }, 'claim "who" could not be converted to string'],
      ['a user claim that is a number', { who: 7 }, 'claim "who" could not be converted to string'],
      [
        'a user claim that every JavaScript object inherits',
        { who: undefined, __proto__: {} },
        'claim "who" not found in token',
      ],
    ])('with %s are refused', async (_what, claims, reason) => {
      await role('who', { bound_audiences: 'secrets', user_claim: 'who' }).expect(204);
      expect(await refused({ role: 'who', jwt: issuer.sign(claims) })).toContain(reason);
      await role('inherited', { bound_audiences: 'secrets', user_claim: 'constructor' }).expect(204);
      expect(await refused({ role: 'inherited', jwt: issuer.sign() })).toContain('not found in token');
    });

    it('with an audience are refused by a role that binds none', async () => {
      await role('open', { bound_subject: 'run-1' }).expect(204);
      expect(await refused({ role: 'open', jwt: issuer.sign() })).toContain('no audiences bound to the role');
      await login({ role: 'open', jwt: issuer.sign({ aud: undefined }) }).expect(200);
    });
  });

  describe('claims', () => {
    it.each([
      ['harbour-*', 'harbour-7', true],
      ['*-7', 'harbour-7', true],
      ['h*r-*7', 'harbour-7', true],
      ['*', '', true],
      ['harbour', 'harbour-7', false],
      ['harbour-*', 'xharbour-7', false],
      ['ab*ba', 'aba', false],
      ['a*b*a', 'aba', true],
    ])('with the pattern %s and the value %s match: %s', async (pattern, value, fits) => {
      await role('globbed', { bound_audiences: 'secrets', bound_claims_type: 'glob', bound_claims: { p: [pattern] } });
      await login({ role: 'globbed', jwt: issuer.sign({ p: value }) }).expect(fits ? 200 : 400);
    });

    it('have bounds that are patterns only if configured', async () => {
      await role('plain', { bound_audiences: 'secrets', bound_claims: { p: 'a*' } }).expect(204);
      await login({ role: 'plain', jwt: issuer.sign({ p: 'ab' }) }).expect(400);
      await login({ role: 'plain', jwt: issuer.sign({ p: 'a*' }) }).expect(200);
    });

    it('name the user by a JSON pointer if configured', async () => {
      const pointer = { user_claim: '/who/is~1it', user_claim_json_pointer: true };
      await role('pointed', { bound_audiences: 'secrets', ...pointer }).expect(204);
      const { body } = await login({ role: 'pointed', jwt: issuer.sign({ who: { 'is/it': 'me' } }) }).expect(200);
      const self = await secrets.as(body.auth.client_token).read('auth/token/lookup-self').expect(200);
      expect(self.body.data.display_name).toBe('jwt-me');
    });

    it('of time allow the leeways of the role', async () => {
      await role('usual', { bound_audiences: 'secrets' }).expect(204);
      await login({ role: 'usual', jwt: issuer.sign({ exp: now() - 50 }) }).expect(200);
      await login({ role: 'usual', jwt: issuer.sign({ exp: now() - 61 }) }).expect(400);
      await login({ role: 'usual', jwt: issuer.sign({ nbf: now() + 50, iat: now() + 50 }) }).expect(200);
      await login({ role: 'usual', jwt: issuer.sign({ nbf: now() + 61 }) }).expect(400);
      // Without exp, a token is valid for 150 seconds after it was issued, plus 60 seconds of clock skew.
      const undated = (ageSeconds: number) => issuer.sign({ exp: undefined, nbf: undefined, iat: now() - ageSeconds });
      await login({ role: 'usual', jwt: undated(200) }).expect(200);
      await login({ role: 'usual', jwt: undated(211) }).expect(400);
      await role('wide', { bound_audiences: 'secrets', expiration_leeway: 600, clock_skew_leeway: -1 }).expect(204);
      await login({ role: 'wide', jwt: undated(590) }).expect(200);
      await login({ role: 'wide', jwt: undated(601) }).expect(400);
    });
  });

  it('are refused once the document at the address is of another issuer', async () => {
    await byDiscovery();
    clock.advance(3_601_000);
    issuer.document = { issuer: 'https://evil.example' };
    const jwt = issuer.sign({ iss: 'https://evil.example' });
    expect(await refused({ role: 'any', jwt }, 502)).toContain('names the issuer "https://evil.example"');
    issuer.document = {};
  });

  describe('keys of the issuer', () => {
    const keyRequests = () => issuer.calls.filter((call) => call === '/keys').length;
    beforeAll(byDiscovery);

    it('are fetched again when they rotate, while forged key ids cause few requests', async () => {
      clock.advance(31_000);
      issuer.rotate('ES256');
      await login({ role: 'any', jwt: issuer.sign() }).expect(200);
      const before = keyRequests();
      for (let i = 0; i < 10; i++) await refused({ role: 'any', jwt: issuer.sign({}, { kid: randomUUID() }) });
      expect(keyRequests() - before).toBeLessThanOrEqual(4);
    });

    it('are fetched once for simultaneous logins', async () => {
      clock.advance(3_601_000);
      const before = keyRequests();
      await Promise.all(Array.from({ length: 10 }, () => login({ role: 'any', jwt: issuer.sign() }).expect(200)));
      expect(keyRequests()).toBe(before + 1);
    });

    it('stay in use for a day while the issuer is down', async () => {
      clock.advance(3 * 3_600_000);
      issuer.down = true;
      const before = issuer.calls.length;
      await login({ role: 'any', jwt: issuer.sign() }).expect(200);
      await login({ role: 'any', jwt: issuer.sign() }).expect(200);
      expect(issuer.calls.length).toBe(before + 1);
      clock.advance(24 * 3_600_000);
      expect(await refused({ role: 'any', jwt: issuer.sign() }, 502)).toContain('the issuer answered 503');
      issuer.down = false;
      clock.advance(6_000);
      await login({ role: 'any', jwt: issuer.sign() }).expect(200);
    });
  });
});
