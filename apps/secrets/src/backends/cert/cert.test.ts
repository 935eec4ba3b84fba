import { Agent } from 'node:https';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { manualClock } from '@keystead/testing';
import { KeyUsageFlags } from '@peculiar/asn1-x509';
import {
  type Issued,
  root as makeRoot,
  selfSigned,
  serverAuth,
  utf8,
  type Wanted,
} from '../../../test/stand-ins/authority';
import { startSecrets } from '../../../test/start-secrets';
import { type Shown, TlsListener, type TlsRequest } from '../../../test/tls-listener';

const noOne = 'invalid certificate or no client certificate supplied';
const unmet = 'no chain matching all constraints could be found for this login certificate';
const day = 86_400_000;

describe('login with a certificate', () => {
  const clock = manualClock(Date.now());
  const secrets = startSecrets({ clock });
  const tls = new TlsListener();
  const authority = makeRoot('Acme Root');
  const web = authority.issue('web', { units: ['ops'], dns: ['web.acme.example'], emails: ['web@acme.example'] });
  beforeAll(() => tls.start(secrets.service.app));
  afterAll(() => tls.stop());

  const role = (name: string, fields: object = {}, mount = 'cert') =>
    secrets.root.write(`auth/${mount}/certs/${name}`, { certificate: authority.pem, ...fields });
  const login = (certificate: Shown | undefined, name?: string, more: TlsRequest = {}) =>
    tls.send('auth/cert/login', certificate, { body: name === undefined ? {} : { name }, ...more });
  const withChain = (leaf: Issued, ...sent: Issued[]): Shown => ({
    pem: [leaf, ...sent].map(({ pem }) => pem).join(''),
    keyPem: leaf.keyPem,
  });
  beforeAll(async () => {
    await secrets.root.write('sys/auth/cert', { type: 'cert' }).expect(204);
    await role('web', { allowed_common_names: 'web*', token_policies: 'shop', token_ttl: '20m' }).expect(204);
  });

  it('keeps its configuration', async () => {
    const certificate = async () => (await secrets.root.read('auth/cert/config').expect(200)).body.data;
    const usual = { disable_binding: false, enable_identity_alias_metadata: false, ocsp_cache_size: 100 };
    expect(await certificate()).toEqual(usual);
    await secrets.root.write('auth/cert/config', { enable_identity_alias_metadata: true }).expect(204);
    expect(await certificate()).toEqual({ ...usual, enable_identity_alias_metadata: true });
    await secrets.root
      .write('auth/cert/config', { role_cache_size: 5 })
      .expect(400, /role_cache_size is not supported/);
    await secrets.root
      .write('auth/cert/config', { enable_metadata_on_failures: true })
      .expect(400, /enable_metadata_on_failures is not supported/);
    await secrets.root.write('auth/cert/config', { enable_identity_alias_metadata: false }).expect(204);
  });

  it('keeps roles, and shows them', async () => {
    await role('Shown', { ttl: '5m', allowed_dns_sans: 'a,b', required_extensions: ['1.2.3:x*'] }).expect(204);
    await secrets.root.write('auth/cert/certs/shown', { token_max_ttl: '1h' }).expect(204);
    const { body } = await secrets.root.read('auth/cert/certs/shown').expect(200);
    expect(body.data).toMatchObject({
      certificate: authority.pem,
      display_name: 'shown',
      allowed_names: [],
      allowed_dns_sans: ['a', 'b'],
      required_extensions: ['1.2.3:x*'],
      allowed_metadata_extensions: [],
      token_ttl: 300,
      ttl: 300,
      token_max_ttl: 3600,
    });
    expect((await secrets.root.list('auth/cert/certs').expect(200)).body.data.keys).toEqual(['shown', 'web']);
    await secrets.root.delete('auth/cert/certs/shown').expect(204);
    await secrets.root.read('auth/cert/certs/shown').expect(404);
    await role('aged', { lease: 600 }).expect(204);
    expect((await secrets.root.read('auth/cert/certs/aged').expect(200)).body.data.token_ttl).toBe(600);
    await secrets.root.delete('auth/cert/certs/aged').expect(204);
  });

  it.each<[string, object, string]>([
    ['no certificate', { certificate: '' }, 'failed to parse certificate'],
    ['a certificate that is not in PEM', { certificate: 'x' }, 'failed to parse certificate'],
    [
      'an unreadable certificate',
      { certificate: authority.pem.replace(/\n[^-]{20}/, '\nAAAAAAAAAAAAAAAAAAAA') },
      'failed to parse certificate: it is not an X.509',
    ],
    [
      'a server certificate',
      { certificate: selfSigned('a', { purposes: [serverAuth] }).pem },
      'nonCA certificates should have',
    ],
    ['a weak key', { certificate: makeRoot('weak', { kind: 'RSA-1024' }).pem }, 'number 1 of certificate has a key'],
    ['too many', { certificate: authority.pem.repeat(101) }, 'there are more than 100'],
    ['no such extension', { required_extensions: ['x'] }, 'number 1 of required_extensions'],
    [
      'an extension that is not an id',
      { required_extensions: ['1.2.3:a', '1..2:b'] },
      'number 2 of required_extensions',
    ],
    ['metadata that is not an id', { allowed_metadata_extensions: ['a.b'] }, 'number 1 of allowed_metadata_extensions'],
    ['ttl above max', { token_ttl: '2h', token_max_ttl: '1h' }, "'token_ttl' cannot be greater"],
  ])('refuses a role with %s', async (_what, fields, text) => {
    const { body } = await role('bad', fields).expect(400);
    expect(body.errors[0]).toContain(text);
    await secrets.root.read('auth/cert/certs/bad').expect(404);
  });

  it('issues a token for a certificate of a trusted CA', async () => {
    const { status, body } = await login(web, 'WEB');
    expect(status).toBe(200);
    expect(body.auth).toMatchObject({ token_policies: ['default', 'shop'], lease_duration: 1200 });
    expect(body.auth.metadata).toEqual({
      cert_name: 'web',
      common_name: 'web',
      serial_number: web.serial.toString(),
      subject_key_id: web.keyId.toString('hex').match(/../g)!.join(':'),
      authority_key_id: authority.keyId.toString('hex').match(/../g)!.join(':'),
    });
    const entity = await secrets.root.read(`identity/entity/id/${body.auth.entity_id}`).expect(200);
    expect(entity.body.data.aliases[0]).toMatchObject({ name: 'web', mount_type: 'cert' });
    const self = await secrets.as(body.auth.client_token).read('auth/token/lookup-self').expect(200);
    expect(self.body.data).toMatchObject({ display_name: 'web', path: 'auth/cert/login' });
    expect((await login(web)).body.auth.metadata.cert_name).toBe('web');
  });

  it('requests a certificate, and requires it only for this login', async () => {
    expect((await tls.send('sys/health', undefined, { method: 'GET' })).status).toBe(200);
    const bare = await login(undefined, 'web');
    expect([bare.status, bare.body.errors]).toEqual([400, ['no client certificate found']]);
    const plain = await secrets.anonymous.write('auth/cert/login', { name: 'web' }).expect(400);
    expect(plain.body.errors).toEqual(['no client certificate found']);
  });

  it('identifies clients on kept-alive connections, and resumes no session', async () => {
    const agent = new Agent({ keepAlive: true, maxCachedSessions: 10 });
    const deep = withChain(between.issue('web'), between);
    for (const certificate of [web, web, deep, deep, web, deep]) {
      const { status, resumed } = await tls.send('auth/cert/login', certificate, {}, agent);
      expect([status, resumed]).toEqual([200, false]);
    }
    agent.destroy();
    expect((await tls.send('auth/cert/login', web, {}, agent)).resumed).toBe(false);
    agent.destroy();
  });

  const between = authority.issue('Acme Clients', { authority: true });
  const deeper = between.issue('Acme Machines', { authority: true });
  const other = makeRoot('Other Root');
  const twice = authority.issue('x', { extensions: [{ id: '2.5.29.14', value: Buffer.from('040101', 'hex') }] });
  it.each<[string, () => Shown]>([
    ['of RSA', () => authority.issue('web', { kind: 'RSA' })],
    ['of Ed25519', () => authority.issue('web', { kind: 'Ed25519' })],
    ['for anything', () => authority.issue('web', { purposes: ['2.5.29.37.0'] })],
    ['without purposes', () => authority.issue('web', { purposes: null })],
    ['with an intermediate', () => withChain(between.issue('web'), between)],
    ['with intermediates in any order', () => withChain(deeper.issue('web'), between, deeper)],
    ['with the root sent along', () => withChain(deeper.issue('web'), deeper, between, authority)],
    ['sent with unrelated certificates', () => withChain(between.issue('web'), other, between, other)],
    ['sent with an unreadable certificate', () => withChain(between.issue('web'), twice, between)],
  ])('accepts a certificate %s', async (_what, certificate) => {
    expect(await login(certificate(), 'web')).toMatchObject({ status: 200 });
  });

  it('answers requests that look at no certificate, even if a sent certificate is unreadable', async () => {
    const chain = withChain(between.issue('web'), twice, between);
    for (let i = 0; i < 3; i++) {
      expect(await tls.send('sys/health', chain, { method: 'GET' })).toMatchObject({ status: 200 });
    }
  });

  const expired = authority.issue('Acme Old', { authority: true, toMs: Date.now() - day });
  const impostor = makeRoot('Acme Root');
  const short = authority.issue('Acme Short', { authority: true, pathLength: 0 });
  const below = short.issue('Acme Below', { authority: true });
  const limited = authority.issue('Acme Limited', {
    authority: true,
    extensions: [{ id: '2.5.29.30', value: Buffer.from('300a a0083006820461636d65'.replace(' ', ''), 'hex') }],
  });
  const servers = authority.issue('Acme Servers', { authority: true, purposes: [serverAuth] });
  const noSigner = authority.issue('Acme Quiet', { authority: true, usage: KeyUsageFlags.digitalSignature });
  it.each<[string, () => Shown, string]>([
    ['of another CA', () => other.issue('web'), noOne],
    ['that is self-signed', () => selfSigned('web'), noOne],
    ['of a CA with the same name', () => impostor.issue('web'), noOne],
    ['that has the name of another CA', () => impostor, noOne],
    ['that has expired', () => authority.issue('web', { toMs: clock.now() - 1000 }), 'has expired or is not yet valid'],
    [
      'that is not valid yet',
      () => authority.issue('web', { fromMs: Date.now() + day }),
      'has expired or is not yet valid',
    ],
    ['for servers', () => authority.issue('web', { purposes: [serverAuth] }), 'is not for client authentication'],
    ['with a weak key', () => authority.issue('web', { kind: 'RSA-1024' }), 'has a key that is too weak'],
    ['with a weak hash', () => authority.issue('web', { hash: 'sha1' }), 'signed with a hash that can be forged'],
    ['without its intermediate', () => between.issue('web'), noOne],
    ['without one of two intermediates', () => withChain(deeper.issue('web'), deeper), noOne],
    [
      'of an expired intermediate',
      () => withChain(expired.issue('web'), expired),
      'an authority whose certificate has expired',
    ],
    [
      'of an intermediate for servers',
      () => withChain(servers.issue('web'), servers),
      'an authority whose certificate is not for',
    ],
    ['of an intermediate that may not sign certificates', () => withChain(noSigner.issue('web'), noSigner), noOne],
    ['issued by a client', () => withChain(web.issue('web'), web), noOne],
    ['of a chain that is too long', () => withChain(below.issue('web'), below, short), 'allows only a shorter chain'],
    [
      'with constrained names',
      () => withChain(limited.issue('web'), limited),
      'constrains names, which is not supported',
    ],
    [
      'with an unknown critical extension',
      () => authority.issue('web', { extensions: [{ id: '1.2.3.4', value: utf8('x'), critical: true }] }),
      'has the critical extension 1.2.3.4',
    ],
    [
      'with a repeated extension',
      () => authority.issue('web', { extensions: [{ id: '2.5.29.14', value: Buffer.from('040101', 'hex') }] }),
      'it has the extension 2.5.29.14 twice',
    ],
    ['with NUL in its name', () => authority.issue('web\0.evil'), 'it has control characters in its names'],
    ['with NUL in a DNS name', () => authority.issue('web', { dns: ['web\0.evil'] }), 'it has control characters'],
    ['with another name', () => authority.issue('other'), unmet],
    [
      'with two names, of which the last is wrong',
      () => authority.issue('x', { commonNames: ['web', 'other'] }),
      unmet,
    ],
    ['without a name', () => authority.issue('x', { commonNames: [], units: ['a'] }), unmet],
  ])('accepts no certificate %s', async (_what, certificate, text) => {
    const { status, body } = await login(certificate(), 'web');
    expect(status).toBe(400);
    expect(body.errors[0]).toContain(text);
  });

  it('uses the clock of the database', async () => {
    const certificate = authority.issue('web', { fromMs: clock.now() + 3600_000 });
    expect((await login(certificate, 'web')).status).toBe(400);
    clock.advance(3601_000);
    expect((await login(certificate, 'web')).status).toBe(200);
  });

  it('gives up when many CAs have the same name', async () => {
    const many = Array.from({ length: 61 }, () => makeRoot('Same'));
    await role('many', { certificate: many.map(({ pem }) => pem).join('') }).expect(204);
    const { status, body } = await login(makeRoot('Same').issue('web'), 'many');
    expect([status, body.errors[0]]).toEqual([400, expect.stringContaining('too many certificates of the same name')]);
    await secrets.root.delete('auth/cert/certs/many').expect(204);
  });

  it('trusts an intermediate, and a certificate itself', async () => {
    await role('between', { certificate: between.pem }).expect(204);
    expect((await login(between.issue('anyone'), 'between')).status).toBe(200);
    expect((await login(web, 'between')).status).toBe(400);
    const lone = selfSigned('lone');
    await role('lone', { certificate: `${other.pem} and ${lone.pem}` }).expect(204);
    expect((await login(lone, 'lone')).body.auth.metadata.cert_name).toBe('lone');
    expect((await login(lone)).body.auth.metadata.cert_name).toBe('lone');
    expect((await login(other.issue('x'), 'lone')).status).toBe(200);
    const twin = selfSigned('lone', { keys: lone.keys });
    expect((await login(twin, 'lone')).body.errors).toEqual([noOne]);
    expect((await login(selfSigned('lone', { serial: lone.serial }), 'lone')).body.errors).toEqual([noOne]);
    clock.advance(31 * day);
    expect((await login(lone, 'lone')).body.errors[0]).toContain('has expired');
    clock.advance(-31 * day);
    for (const name of ['between', 'lone']) await secrets.root.delete(`auth/cert/certs/${name}`).expect(204);
  });

  it('accepts either chain of a cross-signed CA', async () => {
    const cross = other.issue('Acme Clients', { authority: true, keys: between.keys });
    await role('cross', { certificate: other.pem }).expect(204);
    const leaf = between.issue('web');
    expect((await login(withChain(leaf, between, cross), 'cross')).status).toBe(200);
    expect((await login(withChain(leaf, between, cross), 'web')).status).toBe(200);
    expect((await login(withChain(leaf, between), 'cross')).body.errors).toEqual([noOne]);
    await secrets.root.delete('auth/cert/certs/cross').expect(204);
  });

  const wanted: Wanted = {
    units: ['ops', 'night'],
    dns: ['a.acme.example'],
    emails: ['a@acme.example'],
    uris: ['spiffe://acme/a'],
    extensions: [
      { id: '1.2.3.4', value: utf8('team a') },
      { id: '1.2.3.5', value: Buffer.from('020105', 'hex') },
    ],
  };
  it.each<[object, boolean]>([
    [{ allowed_names: 'x,*.acme.example' }, true],
    [{ allowed_names: 'who' }, true],
    [{ allowed_names: 'a@*' }, true],
    [{ allowed_names: 'spiffe:*' }, false],
    [{ allowed_common_names: '*.acme.example' }, false],
    [{ allowed_dns_sans: 'a.*' }, true],
    [{ allowed_dns_sans: 'A.acme.example' }, false],
    [{ allowed_dns_sans: 'who' }, false],
    [{ allowed_email_sans: '*@acme.example' }, true],
    [{ allowed_email_sans: '*@acme' }, false],
    [{ allowed_uri_sans: 'spiffe://acme/*' }, true],
    [{ allowed_uri_sans: 'https://acme/*' }, false],
    [{ allowed_organizational_units: 'night' }, true],
    [{ allowed_organizational_units: 'day' }, false],
    [{ required_extensions: '1.2.3.4:team*' }, true],
    [{ required_extensions: '1.2.3.4:team*,1.2.3.6:*' }, false],
    [{ required_extensions: '1.2.3.4:*b' }, false],
    [{ required_extensions: '1.2.3.5:5' }, false],
    [{ required_extensions: 'hex:1.2.3.5:0201*' }, true],
    [{ required_extensions: 'hex:1.2.3.4:0C06*' }, true],
    [{ required_extensions: 'hex:1.2.3.5:0202*' }, false],
    [{ allowed_names: 'who', allowed_dns_sans: 'b.*' }, false],
  ])('compares names and extensions: %j', async (fields, fits) => {
    await role('bound', fields).expect(204);
    const { status, body } = await login(authority.issue('who', wanted), 'bound');
    expect([status, body.errors?.[0]]).toEqual(fits ? [200, undefined] : [400, unmet]);
    await secrets.root.delete('auth/cert/certs/bound').expect(204);
  });

  it('treats a star in a name of a certificate literally', async () => {
    await role('exact', { allowed_dns_sans: 'a.acme.example' }).expect(204);
    expect((await login(authority.issue('who', { dns: ['*.acme.example'] }), 'exact')).body.errors).toEqual([unmet]);
    await secrets.root.delete('auth/cert/certs/exact').expect(204);
  });

  it('adds extensions to the metadata, and to the alias metadata if configured', async () => {
    await role('told', { allowed_metadata_extensions: '1.2.3.4,1.2.3.5,1.2.3.6', display_name: 'machine' }).expect(204);
    await secrets.root.write('auth/cert/config', { enable_identity_alias_metadata: true }).expect(204);
    const { body } = await login(authority.issue('teller', wanted), 'told');
    expect(body.auth.metadata).toMatchObject({ '1-2-3-4': 'team a', '1-2-3-5': '', common_name: 'teller' });
    expect(body.auth.metadata['1-2-3-6']).toBeUndefined();
    const entity = await secrets.root.read(`identity/entity/id/${body.auth.entity_id}`).expect(200);
    expect(entity.body.data.aliases[0].metadata).toEqual(body.auth.metadata);
    const self = await secrets.as(body.auth.client_token).read('auth/token/lookup-self').expect(200);
    expect(self.body.data.display_name).toBe('machine');
    await secrets.root.write('auth/cert/config', { enable_identity_alias_metadata: false }).expect(204);
    await secrets.root.delete('auth/cert/certs/told').expect(204);
  });

  it('keeps to the addresses of a role', async () => {
    await role('near', { token_bound_cidrs: '10.0.0.0/8' }).expect(204);
    expect((await login(web, 'near')).status).toBe(403);
    await secrets.root.delete('auth/cert/certs/near').expect(204);
  });

  it('knows no roles of another namespace or mount', async () => {
    await secrets.root.write('sys/namespaces/team').expect(200);
    const team = secrets.as(secrets.rootToken, { 'X-Service-Namespace': 'team' });
    await team.write('sys/auth/cert', { type: 'cert' }).expect(204);
    expect((await login(web, 'web', { headers: { 'x-service-namespace': 'team' } })).body.errors).toEqual([noOne]);
    await team.write('auth/cert/certs/web', { certificate: other.pem }).expect(204);
    expect((await login(web, 'web', { headers: { 'x-service-namespace': 'team' } })).body.errors).toEqual([noOne]);
    const otherLogin = await login(other.issue('web'), 'web', { headers: { 'x-service-namespace': 'team' } });
    expect(otherLogin.status).toBe(200);
    const ours = await login(web, 'web');
    expect(otherLogin.body.auth.entity_id).not.toBe(ours.body.auth.entity_id);
  });

  describe('renewal', () => {
    const renew = (token: string, certificate: Shown | undefined) =>
      tls.send('auth/token/renew-self', certificate, { token });

    it('needs the same certificate again', async () => {
      const { body } = await login(web, 'web');
      const token: string = body.auth.client_token;
      expect((await renew(token, web)).status).toBe(200);
      expect((await renew(token, undefined)).body.errors[0]).toContain('no client certificate found');
      const again = authority.issue('web', { keys: web.keys });
      expect((await renew(token, again)).body.errors[0]).toContain('client identity during renewal not matching');
      expect((await renew(token, other.issue('web'))).status).toBe(400);
      await secrets.as(token).write('auth/token/renew-self').expect(400);
      await secrets.root.write('auth/token/renew', { token }).expect(400);
      await secrets.root.write('auth/token/renew-accessor', { accessor: body.auth.accessor }).expect(400);
      await secrets.root.write('auth/cert/config', { disable_binding: true }).expect(204);
      expect((await renew(token, undefined)).status).toBe(200);
      await secrets.root.write('auth/cert/config', { disable_binding: false }).expect(204);
    });

    it('uses the current role', async () => {
      await role('lasting', { token_policies: 'a,b', token_ttl: '10m' }).expect(204);
      const { body } = await login(web, 'lasting');
      const token: string = body.auth.client_token;
      await role('lasting', { token_policies: 'b,a', token_ttl: '5m' }).expect(204);
      expect((await renew(token, web)).body.auth.lease_duration).toBe(300);
      await role('lasting', { token_policies: 'a' }).expect(204);
      expect((await renew(token, web)).body.errors[0]).toContain('policies have changed, not renewing');
      await role('lasting', { token_policies: 'a,b', allowed_common_names: 'other' }).expect(204);
      expect((await renew(token, web)).body.errors[0]).toContain(unmet);
      await role('lasting', { allowed_common_names: '' }).expect(204);
      expect((await renew(token, web)).status).toBe(200);
      await role('lasting', { certificate: other.pem }).expect(204);
      expect((await renew(token, web)).body.errors[0]).toContain(noOne);
      await secrets.root.delete('auth/cert/certs/lasting').expect(204);
      expect((await renew(token, web)).body.errors[0]).toContain('role lasting does not exist during renewal');
    });

    it('ends with the certificate', async () => {
      const soon = authority.issue('web', { toMs: clock.now() + 60_000 });
      const { body } = await login(soon, 'web');
      clock.advance(61_000);
      expect((await renew(body.auth.client_token, soon)).body.errors[0]).toContain('has expired');
    });
  });
});

describe('login with a certificate from a proxy', () => {
  const secrets = startSecrets({
    env: { SECRETS_TRUSTED_PROXIES: '127.0.0.1', SECRETS_CLIENT_CERTIFICATE_HEADER: 'X-Client-Cert' },
  });
  const tls = new TlsListener();
  const authority = makeRoot('Acme Root');
  const web = authority.issue('web');
  beforeAll(async () => {
    await tls.start(secrets.service.app);
    await secrets.root.write('sys/auth/cert', { type: 'cert' }).expect(204);
    await secrets.root.write('auth/cert/certs/web', { certificate: authority.pem }).expect(204);
  });
  afterAll(() => tls.stop());

  it('uses the header, never the certificate of the proxy itself', async () => {
    const escaped = encodeURIComponent(web.pem);
    const { body } = await secrets.as(undefined, { 'X-Client-Cert': escaped }).write('auth/cert/login').expect(200);
    expect(body.auth.metadata.common_name).toBe('web');
    const proxy = authority.issue('proxy');
    const forwarded = await tls.send('auth/cert/login', proxy, { headers: { 'x-client-cert': escaped } });
    expect(forwarded.body.auth.metadata.common_name).toBe('web');
    expect((await tls.send('auth/cert/login', proxy)).body.errors).toEqual(['no client certificate found']);
    const between = authority.issue('Acme Clients', { authority: true });
    const binary = ({ der }: Issued) => `:${der.toString('base64')}:`;
    const headers = { 'X-Client-Cert': binary(between.issue('deep')), 'X-Client-Cert-Chain': binary(between) };
    const deep = await secrets.as(undefined, headers).write('auth/cert/login').expect(200);
    expect(deep.body.auth.metadata.common_name).toBe('deep');
  });

  it('refuses values that are not certificates, and values sent twice', async () => {
    const { body } = await secrets.as(undefined, { 'X-Client-Cert': 'x' }).write('auth/cert/login').expect(400);
    expect(body.errors).toEqual(['x-client-cert is not a certificate (PEM, URL-encoded)']);
    const escaped = encodeURIComponent(web.pem);
    const twice = await tls.send('auth/cert/login', undefined, { headers: { 'x-client-cert': [escaped, escaped] } });
    expect([twice.status, twice.body.errors]).toEqual([400, ['x-client-cert was sent more than once']]);
    await secrets.as(secrets.rootToken, { 'X-Client-Cert': 'x' }).read('auth/cert/certs/web').expect(200);
  });
});
