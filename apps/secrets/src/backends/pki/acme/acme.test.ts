import { createHash, createHmac, createPrivateKey, generateKeyPairSync, sign, X509Certificate } from 'node:crypto';
import { describe, expect, it } from '@jest/globals';
import { type AcmeClient, jwkOf, newKey, signed } from '../../../../test/acme-client';
import { startAcme } from '../../../../test/acme-world';

const world = startAcme();
const { secrets, dns, openssl, files, visits, client, showByTls, prove, csrFor, obtain } = world;

const typeOf = ({ body }: { readonly body: { readonly type?: string } }) => body?.type?.split(':').at(-1);
const derOf = (pem: string) => new X509Certificate(pem).raw.toString('base64url');
const challengeOf = async (acme: AcmeClient, url: string, wanted: string) =>
  (await acme.post(url)).body.challenges.find(({ type }: { type: string }) => type === wanted);

describe('ACME', () => {
  it('is off by default, and answers nothing until it is enabled (E7.1)', async () => {
    await secrets.root.write('sys/mounts/closed', { type: 'pki' }).expect(204);
    await secrets.anonymous.read('closed/acme/directory').expect(404, { errors: [] });
    for (const [field, why] of [
      ['allowed_roles', /^allowed_roles must take a non-zero length value/],
      ['allowed_issuers', /^allowed_issuers must take a non-zero length value/],
    ] as const) {
      const { body } = await secrets.root.write('closed/config/acme', { [field]: '' }).expect(400);
      expect(body.errors[0]).toMatch(why);
    }
    const { body } = await secrets.root.write('closed/config/acme', { enabled: true }).expect(400);
    expect(body.errors[0]).toContain("local cluster 'path'");
  });

  it.each(['acme', 'roles/web/acme', 'issuer/default/acme', 'issuer/default/roles/web/acme'])(
    'issues by http-01 in the directory %s, and OpenSSL verifies the chain (E7.2)',
    async (prefix) => {
      const acme = await client(prefix);
      const { order, done, pem } = await obtain(acme, 'a.example.com', 'b.example.com');
      expect(order.status).toBe(201);
      expect(order.body.status).toBe('pending');
      expect(done.body.status).toBe('valid');
      const { body } = await secrets.anonymous.read('pki/cert/ca').expect(200);
      expect(openssl.run('verify', '-CAfile', openssl.file(body.data.certificate), openssl.file(pem))).toMatch(/OK/);
      const text = openssl.certificate(pem);
      expect(text).toContain('DNS:a.example.com, DNS:b.example.com');
      expect(text).toMatch(/Extended Key Usage: \n\s+TLS Web Server Authentication\n/);
      const serial = new X509Certificate(pem).serialNumber.toLowerCase().replace(/..(?=.)/g, '$&:');
      expect((await secrets.root.list('pki/certs').expect(200)).body.data.keys).toContain(serial);
      const { orders } = (await acme.post(acme.directory.newOrder.replace('new-order', 'orders'))).body;
      expect(orders).toEqual([order.headers.get('location')]);
    },
  );

  it('issues for a wildcard by dns-01, and by no other challenge (E7.2)', async () => {
    const acme = await client('roles/web/acme');
    const order = await acme.order('*.example.com');
    const { body } = await acme.post(order.body.authorizations[0]);
    expect(body).toMatchObject({
      identifier: { type: 'dns', value: 'example.com' },
      wildcard: true,
      status: 'pending',
    });
    const types = body.challenges.map(({ type }: { type: string }) => type);
    expect(types).toEqual(['dns-01']);
    const [challenge] = body.challenges;
    const digest = createHash('sha256').update(acme.answerTo(challenge.token)).digest('base64url');
    dns.texts.set('_acme-challenge.example.com', ['of another', digest]);
    await acme.post(challenge.url, {});
    await acme.until(order.body.authorizations[0], 'valid');
    const done = await acme.post(order.body.finalize, { csr: csrFor(['*.example.com']) });
    expect(done.body.status).toBe('valid');
  });

  it.each([
    ['c.example.com', 'DNS:c.example.com'],
    ['127.0.0.1', 'IP:127.0.0.1'],
  ])('issues for %s by tls-alpn-01 (E7.2)', async (name, alternative) => {
    const acme = await client();
    const order = await acme.order(name);
    const challenge = await challengeOf(acme, order.body.authorizations[0], 'tls-alpn-01');
    const shows = await showByTls(alternative, acme.answerTo(challenge.token));
    await acme.post(challenge.url, {});
    await acme.until(order.body.authorizations[0], 'valid');
    shows.close();
    expect((await acme.post(order.body.finalize, { csr: csrFor([name]) })).body.status).toBe('valid');
  });

  it('refuses a certificate of tls-alpn-01 for another key, and shows the error during retries (E7.2)', async () => {
    const acme = await client();
    const order = await acme.order('d.example.com');
    const challenge = await challengeOf(acme, order.body.authorizations[0], 'tls-alpn-01');
    const shows = await showByTls('DNS:d.example.com', `${challenge.token}.x`);
    await acme.post(challenge.url, {});
    const seen = await acme.untilError(challenge.url);
    shows.close();
    expect(seen.body).toMatchObject({
      status: 'processing',
      error: { type: 'urn:ietf:params:acme:error:unauthorized' },
    });
    expect((await acme.post(order.body.finalize, { csr: csrFor(['d.example.com']) })).status).toBe(403);
  });

  it.each(['http-01', 'dns-01'])(
    'refuses a wrong response by %s, and shows the error during retries (E7.2)',
    async (type) => {
      const acme = await client();
      const name = 'e.example.com';
      const order = await acme.order(name);
      const challenge = await challengeOf(acme, order.body.authorizations[0], type);
      const answer = `${challenge.token}.x`;
      files.set(`/.well-known/acme-challenge/${challenge.token}`, answer);
      dns.texts.set(`_acme-challenge.${name}`, [createHash('sha256').update(answer).digest('base64url')]);
      await acme.post(challenge.url, {});
      const seen = await acme.untilError(challenge.url);
      expect(seen.body).toMatchObject({
        status: 'processing',
        error: { type: 'urn:ietf:params:acme:error:unauthorized' },
      });
    },
  );

  it('issues one certificate when an order is finalized twice at once (E7.3)', async () => {
    const acme = await client();
    const order = await acme.order('once.example.com');
    await prove(acme, order.body);
    const before = (await secrets.root.list('pki/certs').expect(200)).body.data.keys.length;
    const csr = csrFor(['once.example.com']);
    const answers = await Promise.all([1, 2, 3, 4].map(() => acme.post(order.body.finalize, { csr })));
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(1);
    expect(answers.filter((one) => typeOf(one) === 'orderNotReady')).toHaveLength(3);
    expect((await secrets.root.list('pki/certs').expect(200)).body.data.keys).toHaveLength(before + 1);
  });

  it('finds the account of a key again, changes and deactivates it (E7.4)', async () => {
    const acme = await client('acme', { contact: ['mailto:a@example.com'] });
    const kid = acme.kid!;
    acme.kid = undefined;
    const again = await acme.post(acme.directory.newAccount, { onlyReturnExisting: true });
    expect([again.status, again.headers.get('location')]).toEqual([200, kid]);
    acme.kid = kid;
    const changed = await acme.post(kid, { contact: ['mailto:b@example.com'] });
    expect(changed.body).toMatchObject({ status: 'valid', contact: ['mailto:b@example.com'] });
    expect((await acme.post(kid, { status: 'deactivated' })).body.status).toBe('deactivated');
    expect(typeOf(await acme.order('a.example.com'))).toBe('unauthorized');
    acme.kid = undefined;
    expect(typeOf(await acme.post(acme.directory.newAccount, {}))).toBe('unauthorized');
    const other = await client();
    other.kid = undefined;
    const unknown = await other.post(other.directory.newAccount, { onlyReturnExisting: true }, { key: newKey() });
    expect(typeOf(unknown)).toBe('accountDoesNotExist');
  });

  it('rolls over an account key with the signatures of both keys (E7.4)', async () => {
    const acme = await client();
    const other = await client();
    const url = acme.directory.keyChange;
    const next = newKey();
    const said = { account: acme.kid, oldKey: jwkOf(acme.key) };
    const inner = (key = next, payload: object = said, header: object = {}) =>
      signed({ alg: 'ES256', jwk: jwkOf(key), url, ...header }, payload, key);
    expect(typeOf(await acme.post(url, inner(next, { ...said, account: other.kid })))).toBe('malformed');
    expect(typeOf(await acme.post(url, inner(next, { ...said, oldKey: jwkOf(other.key) })))).toBe('malformed');
    expect(typeOf(await acme.post(url, inner(next, said, { url: acme.directory.newOrder })))).toBe('malformed');
    expect(typeOf(await acme.post(url, { ...inner(), signature: inner(acme.key).signature }))).toBe('malformed');
    const taken = await acme.post(url, inner(other.key));
    expect([taken.status, taken.headers.get('location')]).toEqual([409, other.kid]);
    // An account cannot change to a key that another account already has.
    expect(typeOf(await other.post(url, inner(next, said)))).toBe('malformed');
    expect((await acme.post(url, inner())).status).toBe(200);
    expect(typeOf(await acme.order('a.example.com'))).toBe('malformed');
    acme.key = next;
    expect((await acme.order('a.example.com')).status).toBe(201);
  });

  it('binds accounts with an EAB key that is valid once, for one directory and one account key (E7.5)', async () => {
    await secrets.root.write('pki/config/acme', { eab_policy: 'new-account-required' }).expect(200);
    try {
      const { data: eab } = (await secrets.root.write('pki/roles/web/acme/new-eab').expect(200)).body;
      expect(eab.key).toMatch(/^vault-eab-0-[\w-]{43}$/);
      expect((await secrets.root.list('pki/eab').expect(200)).body.data.key_info[eab.id]).toMatchObject({
        key_type: 'hs',
        acme_directory: 'roles/web/acme/directory',
      });
      const acme = await world.unregistered('roles/web/acme');
      const url = acme.directory.newAccount;
      const withBinding = (externalAccountBinding: unknown) => acme.post(url, { externalAccountBinding });
      expect(typeOf(await acme.post(url, {}))).toBe('externalAccountRequired');
      expect(typeOf(await withBinding(acme.binding({ ...eab, key: 'AAAA' }, url)))).toBe('unauthorized');
      expect(typeOf(await withBinding(acme.binding(eab, acme.directory.newOrder)))).toBe('malformed');
      const stranger = await world.unregistered('roles/web/acme');
      expect(typeOf(await withBinding(stranger.binding(eab, url)))).toBe('malformed');
      const elsewhere = await world.unregistered('acme');
      const there = elsewhere.directory.newAccount;
      const moved = await elsewhere.post(there, { externalAccountBinding: elsewhere.binding(eab, there) });
      expect(typeOf(moved)).toBe('unauthorized');
      const both = await Promise.all([
        withBinding(acme.binding(eab, url)),
        stranger.post(url, { externalAccountBinding: stranger.binding(eab, url) }),
      ]);
      expect(both.map(({ status }) => status).sort()).toEqual([201, 401]);
      await secrets.root.list('pki/eab').expect(404);
    } finally {
      await secrets.root.write('pki/config/acme', { eab_policy: 'not-required' }).expect(200);
    }
  });

  it('requires agreement to terms of service if there are any', async () => {
    await secrets.root.write('pki/config/acme', { terms_of_service: 'https://example.com/terms' }).expect(200);
    const acme = await world.unregistered('acme');
    expect(acme.directory.meta.termsOfService).toBe('https://example.com/terms');
    const refused = await acme.post(acme.directory.newAccount, {});
    expect([typeOf(refused), refused.headers.get('link')]).toEqual([
      'userActionRequired',
      expect.stringContaining('rel="terms-of-service"'),
    ]);
    expect((await acme.post(acme.directory.newAccount, { termsOfServiceAgreed: true })).status).toBe(201);
    await secrets.root.write('pki/config/acme', { terms_of_service: '' }).expect(200);
  });

  it('revokes for the account, for accounts authorized for the names, and for the key of the certificate, and for no one else (E7.6)', async () => {
    const acme = await client();
    const other = await client();
    const url = acme.directory.revokeCert;
    const { pem: first } = await obtain(acme, 'r1.example.com');
    expect(typeOf(await other.post(url, { certificate: derOf(first) }))).toBe('unauthorized');
    expect(typeOf(await acme.post(url, { certificate: derOf(first), reason: 7 }))).toBe('badRevocationReason');
    expect((await acme.post(url, { certificate: derOf(first), reason: 1 })).status).toBe(200);
    expect(typeOf(await acme.post(url, { certificate: derOf(first) }))).toBe('alreadyRevoked');
    const { pem: second } = await obtain(acme, 'r2.example.com');
    await prove(other, (await other.order('r2.example.com')).body);
    expect((await other.post(url, { certificate: derOf(second) })).status).toBe(200);
    const order = await acme.order('r3.example.com');
    await prove(acme, order.body);
    const { key, csr } = openssl.request({ subject: '/', extensions: 'subjectAltName=DNS:r3.example.com' });
    const sent = Buffer.from(csr.replace(/-----[^-]+-----|\s/g, ''), 'base64').toString('base64url');
    const done = await acme.post(order.body.finalize, { csr: sent });
    const { text: third } = await acme.post(done.body.certificate);

    const kid = acme.kid;
    acme.kid = undefined;
    expect(typeOf(await acme.post(url, { certificate: derOf(third) }, { key: newKey() }))).toBe('unauthorized');
    expect((await acme.post(url, { certificate: derOf(third) }, { key: createPrivateKey(key) })).status).toBe(200);
    acme.kid = kid;
    const revoked = (await secrets.root.list('pki/certs/revoked').expect(200)).body.data.keys;
    expect(revoked).toHaveLength(3);
  });

  it('says when to renew (ARI), and accepts a replacement once (E7.11)', async () => {
    const acme = await client();
    const { pem } = await obtain(acme, 'renew.example.com');
    const x509 = new X509Certificate(pem);
    const text = openssl.certificate(pem);
    const keyId = /Authority Key Identifier: \n\s+(?:keyid:)?([0-9A-F:]+)/.exec(text)![1]!.replaceAll(':', '');
    const serial = x509.serialNumber;
    const id = [keyId, serial].map((hex) => Buffer.from(hex, 'hex').toString('base64url')).join('.');
    const answer = await fetch(`${acme.directory.renewalInfo}/${id}`);
    expect(answer.headers.get('retry-after')).toBe('21600');
    const { suggestedWindow: window } = (await answer.json()) as { suggestedWindow: { start: string; end: string } };
    const [start, end, last] = [window.start, window.end, x509.validTo].map((one) => Date.parse(one));
    expect(start! < end! && end! < last! && start! > Date.now()).toBe(true);
    expect((await fetch(`${acme.directory.renewalInfo}/AAAA.AAAA`)).status).toBe(400);
    const order = (replaces: string, name = 'renew.example.com') =>
      acme.post(acme.directory.newOrder, { identifiers: [{ type: 'dns', value: name }], replaces });
    expect(typeOf(await order(id, 'other.example.com'))).toBe('malformed');
    const other = await client();
    const foreign = { identifiers: [{ type: 'dns', value: 'renew.example.com' }], replaces: id };
    expect(typeOf(await other.post(other.directory.newOrder, foreign))).toBe('unauthorized');
    const next = await order(id);
    expect(next.body.replaces).toBe(id);
    await prove(acme, next.body);
    await acme.post(next.body.finalize, { csr: csrFor(['renew.example.com']) });
    expect([typeOf(await order(id))]).toEqual(['alreadyReplaced']);
  });
});

describe('a stranger', () => {
  it('uses no nonce twice, at once or later, and none that was made up (E7.3)', async () => {
    const acme = await client();
    const url = acme.kid!;
    const nonce = await acme.nonce();
    const message = signed({ alg: 'ES256', nonce, url, kid: acme.kid }, undefined, acme.key);
    const answers = await Promise.all([1, 2, 3, 4, 5].map(() => acme.send(url, message)));
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(1);
    expect(answers.filter((one) => typeOf(one) === 'badNonce')).toHaveLength(4);
    expect(answers.every(({ headers }) => headers.get('replay-nonce'))).toBe(true);
    for (const wrong of ['', 'AAAA', Buffer.alloc(36, 7).toString('base64url'), 7, `${nonce.slice(0, -1)}A`]) {
      expect(typeOf(await acme.post(url, undefined, { header: { nonce: wrong } }))).toBe('badNonce');
    }
  });

  it('accepts only messages of the right media type', async () => {
    const acme = await client();
    const send = async (media: string) => {
      const nonce = await acme.nonce();
      const message = signed({ alg: 'ES256', nonce, url: acme.kid, kid: acme.kid }, undefined, acme.key);
      const init = { method: 'POST', headers: { 'content-type': media }, body: JSON.stringify(message) };
      return (await fetch(acme.kid!, init)).status;
    };
    expect(await send('application/json')).toBe(415);
    expect(await send('Application/JOSE+json; charset=utf-8')).toBe(200);
  });

  it('cannot sign as another, by another algorithm, for another address or with other keys (E7.7)', async () => {
    const acme = await client();
    const victim = await client();
    const url = victim.kid!;
    const publicPem = Buffer.from(JSON.stringify(jwkOf(victim.key)));
    const byMac = (content: string) => createHmac('sha256', publicPem).update(content).digest();
    const rsa = generateKeyPairSync('rsa', { modulusLength: 1024 }).privateKey;
    const rows: readonly [string, Parameters<AcmeClient['post']>[2], string][] = [
      ['the key of another account', { header: { kid: victim.kid } }, 'malformed'],
      [
        'a MAC with the public key',
        { header: { kid: victim.kid, alg: 'HS256' }, signature: byMac },
        'badSignatureAlgorithm',
      ],
      ['no signature', { header: { alg: 'none' }, signature: () => Buffer.alloc(0) }, 'badSignatureAlgorithm'],
      ['an algorithm for other keys', { header: { alg: 'RS256' } }, 'malformed'],
      ['another URL', { header: { url: acme.directory.newOrder } }, 'unauthorized'],
      ['both kid and jwk', { header: { jwk: jwkOf(acme.key) } }, 'malformed'],
      ['jwk where kid is needed', { header: { kid: undefined, jwk: jwkOf(acme.key) } }, 'malformed'],
      [
        'an account of another directory',
        { header: { kid: url.replace('/acme/', '/roles/web/acme/') } },
        'accountDoesNotExist',
      ],
      ['no account', { header: { kid: url.slice(0, -4) } }, 'accountDoesNotExist'],
      ['an extension', { header: { crit: ['exp'], exp: 1 } }, 'malformed'],
      ['a signature in DER', { signature: (content) => sign('sha256', Buffer.from(content), acme.key) }, 'malformed'],
    ];
    const got: string[] = [];
    for (const [what, changed] of rows) got.push(`${what}: ${typeOf(await acme.post(url, undefined, changed))}`);
    expect(got).toEqual(rows.map(([what, , type]) => `${what}: ${type}`));
    expect(typeOf(await acme.post(url))).toBe('unauthorized');
    expect(typeOf(await acme.post(acme.kid!, undefined, { header: { url: acme.directory.newOrder } }))).toBe(
      'unauthorized',
    );
    // An account of another directory is unknown in this one.
    const web = await client('roles/web/acme');
    const as = web.kid!.replace('/roles/web/acme/', '/acme/');
    expect(typeOf(await web.post(as, undefined, { header: { kid: as } }))).toBe('accountDoesNotExist');
    const fresh = await world.unregistered('acme');
    const weak = await fresh.post(fresh.directory.newAccount, {}, { header: { jwk: jwkOf(rsa), alg: 'RS256' } });
    const open = await fresh.post(
      fresh.directory.newAccount,
      {},
      { header: { jwk: fresh.key.export({ format: 'jwk' }) } },
    );
    expect([typeOf(weak), typeOf(open)]).toEqual(['badPublicKey', 'badPublicKey']);
    for (const message of [[], 'x', {}, { payload: '', protected: 'e30', signature: '', header: {} }]) {
      expect(typeOf(await acme.send(url, message))).toBe('malformed');
    }
  });

  it('sees and changes nothing of the orders of another account (E7.8)', async () => {
    const acme = await client();
    const other = await client();
    const { order, done } = await obtain(acme, 'mine.example.com');
    const open = await acme.order('open.example.com');
    const challenge = await challengeOf(acme, open.body.authorizations[0], 'http-01');
    const csr = csrFor(['mine.example.com']);
    for (const [url, payload] of [
      [order.headers.get('location')],
      [done.body.certificate],
      [open.body.finalize, { csr }],
      [open.body.authorizations[0]],
      [open.body.authorizations[0], { status: 'deactivated' }],
      [challenge.url, {}],
      [acme.kid],
      [acme.kid, { status: 'deactivated' }],
    ] as [string, object?][]) {
      expect([url, typeOf(await other.post(url, payload))]).toEqual([url, 'unauthorized']);
    }
    expect((await acme.post(open.body.authorizations[0])).body.status).toBe('pending');
  });

  it('gets no name that the role does not allow, and no other name than was ordered (E7.9)', async () => {
    const acme = await client('roles/web/acme');
    for (const name of [
      'example.org',
      'example.com',
      '10.0.0.1x',
      'a..example.com',
      'a.example.com.',
      'xn--.',
      'a b.example.com',
      '',
    ]) {
      expect([name, typeOf(await acme.order(name))]).toEqual([name, 'rejectedIdentifier']);
    }
    const several = await acme.order('a.example.org', 'b.example.org', 'c.example.com');
    expect(several.body.subproblems).toHaveLength(2);
    expect(typeOf(await acme.order('a.example.com', 'A.example.com'))).toBe('malformed');
    const order = await acme.order('a.example.com', 'b.example.com');
    const { finalize } = order.body;
    expect(typeOf(await acme.post(finalize, { csr: csrFor(['a.example.com', 'b.example.com']) }))).toBe(
      'orderNotReady',
    );
    await prove(acme, order.body);
    const both = ['a.example.com', 'b.example.com'];
    const bad: readonly [string, string][] = [
      ['fewer', csrFor(['a.example.com'])],
      ['more', csrFor([...both, 'c.example.com'])],
      ['a common name', csrFor(both, '/CN=c.example.com')],
      ['a mail address', csrFor([], '/', 'subjectAltName=DNS:a.example.com,DNS:b.example.com,email:x@example.com')],
      ['an authority', csrFor(both, '/', 'basicConstraints=critical,CA:TRUE')],
      ['a small key', csrFor(both, '/', '', ['rsa', '-pkeyopt', 'rsa_keygen_bits:1024'])],
      ['nothing', 'AAAA'],
    ];
    for (const [what, csr] of bad) expect([what, typeOf(await acme.post(finalize, { csr }))]).toEqual([what, 'badCSR']);
    expect((await acme.post(finalize, { csr: csrFor(both, '/CN=B.example.com/O=Other') })).body.status).toBe('valid');
    const { text } = await acme.post((await acme.post(order.headers.get('location')!)).body.certificate);
    expect(openssl.certificate(text)).toMatch(/Subject: CN=b\.example\.com\n/);
  });

  it('reaches no network by a challenge unless the operator allows it (E7.10)', async () => {
    const acme = await client();
    const { httpPort, tlsPort } = world.ports;
    dns.addresses.set('inside.example.com', '10.1.2.3');
    dns.addresses.set('cloud.example.com', '169.254.169.254');
    const targets = [
      ['inside.example.com', 'http-01', 'private'],
      ['cloud.example.com', 'tls-alpn-01', 'private'],
      ['there.example.com', 'http-01', 'may not lead to this address', `http://there.example.com:${httpPort + 1}/x`],
      ['file.example.com', 'http-01', 'may not lead to this address', 'file:///etc/passwd'],
      ['name.example.com', 'http-01', 'may not lead to this address', `http://a:b@there.example.com:${httpPort}/x`],
      ['meta.example.com', 'http-01', 'private', `http://10.0.0.1:${httpPort}/x`],
      ['loop.example.com', 'http-01', 'redirects', '/loop'],
      ['long.example.com', 'http-01', 'too large', '/long'],
    ] as const;
    files.set('/loop', (res) => res.writeHead(302, { location: '/loop' }).end());
    files.set('/long', (res) => res.end('x'.repeat(10_000)));
    for (const [name, type, text, location] of targets) {
      const order = await acme.order(name);
      const challenge = await challengeOf(acme, order.body.authorizations[0], type);
      if (location) {
        files.set(`/.well-known/acme-challenge/${challenge.token}`, (res) => res.writeHead(302, { location }).end());
      }
      await acme.post(challenge.url, {});
      const seen = await acme.untilError(challenge.url);
      expect([name, seen.body.error.detail]).toEqual([name, expect.stringContaining(text)]);
    }
    expect(visits.filter((one) => one.endsWith('/x'))).toEqual([]);
    expect(tlsPort).toBeGreaterThan(0);
  });

  it('can have unfinished orders for a thousand names, and no more until they are finished (E7.12)', async () => {
    const acme = await client();
    const names = (order: number) => Array.from({ length: 100 }, (_, at) => `n${order}-${at}.example.com`);
    const made: string[] = [];
    for (let i = 0; i < 10; i++) made.push(typeOf(await acme.order(...names(i))) ?? 'made');
    expect(made).toEqual(Array(10).fill('made'));
    expect(typeOf(await acme.order('one-more.example.com'))).toBe('rateLimited');
    const other = await client();
    const order = await other.order(...names(0).slice(0, 2));
    expect(order.status).toBe(201);
    const hasty = await client();
    const atOnce = await Promise.all(Array.from({ length: 14 }, (_, i) => hasty.order(...names(i))));
    expect(atOnce.filter(({ status }) => status === 201)).toHaveLength(10);
    expect(atOnce.filter((one) => typeOf(one) === 'rateLimited')).toHaveLength(4);
  });
});
