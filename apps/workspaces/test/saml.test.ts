import { createVerify, generateKeyPairSync } from 'node:crypto';
import { beforeAll, describe, expect, it, jest } from '@jest/globals';
import { testCertificate } from '@keystead/testing';
import request from 'supertest';
import { system } from '../src/kernel/audit/audit';
import * as tokens from '../src/resources/people/tokens/service';
import { otherCertificate, requestIn, type Said, type Sent, samlProvider } from './saml-stand-in';
import { withSecondNode } from './second-node';
import { resource, startWorkspaces } from './start-workspaces';

jest.setTimeout(180_000);

const ours = { 'X-Keystead-Console': '1', 'Sec-Fetch-Site': 'same-origin' };
const sso = 'https://idp.test/sso?tenant=1';

describe('people who sign in by SAML', () => {
  const workspaces = startWorkspaces();
  const nodes = withSecondNode(workspaces);
  const { admin } = workspaces;
  const cookiesOf = (answer: { headers: Record<string, string> }): string[] =>
    ((answer.headers['set-cookie'] ?? []) as unknown as string[]).map((line) => line.split(';')[0]!);
  const settings = (attributes: object) => admin.patch('admin/saml-settings', resource('saml-settings', attributes));
  const leave = async (): Promise<{ sent: Sent; cookie: string }> => {
    const answer = await request(workspaces.server).get('/ui/sign-in/saml?to=%2Fui%2Forganizations').expect(303);
    return { sent: requestIn(answer.headers.location!), cookie: cookiesOf(answer)[0]! };
  };
  const post = (xml: string, relayState: string, to: Parameters<typeof request>[0] = workspaces.server) =>
    request(to)
      .post('/users/saml/auth')
      .type('form')
      .send({ SAMLResponse: Buffer.from(xml).toString('base64'), RelayState: relayState });
  const comeBack = (location: string, cookie: string) => request(workspaces.server).get(location).set('Cookie', cookie);
  const enter = async (said: Said = {}) => {
    const { sent, cookie } = await leave();
    const answered = await post(samlProvider.answer(sent, said), sent.relayState);
    expect([answered.status, answered.text]).toEqual([303, '']);
    const back = await comeBack(answered.headers.location!, cookie);
    expect([back.status, back.text]).toEqual([303, '']);
    return cookiesOf(back)[0]!;
  };
  const session = async (cookie: string) =>
    (
      await request(workspaces.server)
        .get('/ui/session')
        .set({ ...ours, Cookie: cookie })
    ).body;
  const rows = async (text: string, ...values: unknown[]) =>
    (await workspaces.service.pool.query(text, values)).rows as Record<string, string>[];
  const teamsOf = async (userId: string) =>
    (
      await rows(
        `SELECT t.name FROM team t JOIN team_member tm ON tm.team_id = t.id JOIN membership m ON m.id = tm.membership_id
          WHERE m.user_id = $1 ORDER BY 1`,
        userId,
      )
    ).map(({ name }) => name);

  beforeAll(async () => {
    await workspaces.organization('works');
    await admin
      .post('organizations/works/teams', resource('teams', { name: 'operators', 'sso-team-id': 'ops' }))
      .expect(201);
  });

  it('can sign in once a site administrator has configured the provider', async () => {
    const { body } = await admin.get('admin/saml-settings').expect(200);
    expect(body.data).toEqual({
      id: 'saml',
      type: 'saml-settings',
      attributes: {
        enabled: false,
        debug: false,
        'idp-cert': null,
        'old-idp-cert': null,
        'slo-endpoint-url': null,
        'sso-endpoint-url': null,
        'attr-username': 'Username',
        'attr-groups': 'MemberOf',
        'attr-site-admin': 'SiteAdmin',
        'site-admin-role': 'site-admins',
        'sso-api-token-session-timeout': 1_209_600,
        'acs-consumer-url': 'https://workspaces.test/users/saml/auth',
        'metadata-url': 'https://workspaces.test/users/saml/metadata',
        'team-management-enabled': false,
        certificate: null,
        'authn-requests-signed': false,
        'want-assertions-signed': false,
        'signature-signing-method': 'SHA256',
        'signature-digest-method': 'SHA256',
        'provider-type': 'unknown',
      },
    });
    await request(workspaces.server).get('/ui/sign-in/saml').expect(404);
    for (const wrong of [
      { enabled: true },
      { enabled: true, 'idp-cert': samlProvider.certificate },
      { 'idp-cert': 'nonsense' },
      { 'idp-cert': `${samlProvider.certificate}${testCertificate.key}` },
      { 'sso-endpoint-url': 'http://idp.test/sso' },
      { 'sso-endpoint-url': 'javascript:alert(1)' },
      { 'authn-requests-signed': true },
      { 'sso-api-token-session-timeout': 0 },
      { 'signature-signing-method': 'MD5' },
      { 'provider-type': 'harbour' },
    ]) {
      await settings(wrong).expect(422);
    }
    // Existing clients write an empty text if there is nothing.
    const slo = 'https://idp.test/slo';
    const given = { 'idp-cert': samlProvider.certificate, 'slo-endpoint-url': slo, 'provider-type': 'okta' };
    expect((await settings(given).expect(200)).body.data.attributes).toMatchObject(given);
    const blank = { 'idp-cert': '', 'slo-endpoint-url': '', certificate: '', 'private-key': '' };
    const cleared = await settings(blank).expect(200);
    expect(cleared.body.data.attributes).toMatchObject({
      'idp-cert': null,
      'slo-endpoint-url': null,
      certificate: null,
    });
    await admin.post('admin/saml-settings/actions/revoke-old-certificate').expect(200);
    const saml = async () => (await admin.get('organizations/works').expect(200)).body.data.attributes['saml-enabled'];
    expect(await saml()).toBe(false);
    const on = { enabled: true, 'idp-cert': samlProvider.certificate, 'sso-endpoint-url': sso, debug: true };
    await settings({ ...on, 'team-management-enabled': true }).expect(200);
    expect(await saml()).toBe(true);
    const config = await request(workspaces.server).get('/ui/config').set(ours).expect(200);
    expect(config.body['sign-in'][0]).toEqual({ method: 'saml', id: 'saml', name: 'SAML' });
    expect((await admin.get('admin/sign-in-providers').expect(200)).body.data).toEqual([]);
    const person = await workspaces.person('person');
    await person.get('admin/saml-settings').expect(404);
  });

  it('can read the metadata of this service', async () => {
    const { text } = await request(workspaces.server)
      .get('/users/saml/metadata')
      .expect(200)
      .expect('Content-Type', /samlmetadata/);
    expect(text).toContain('entityID="https://workspaces.test/users/saml/metadata"');
    expect(text).toContain('Location="https://workspaces.test/users/saml/auth"');
    for (const [accept, type] of [
      ['text/xml', 'text/xml; charset=utf-8'],
      ['TEXT/XML; q=0.9, */*', 'text/xml; charset=utf-8'],
      ['text/xml, application/samlmetadata+xml', 'application/samlmetadata+xml; charset=utf-8'],
      ['text/html, application/xml;q=0.9', 'application/samlmetadata+xml; charset=utf-8'],
    ] as const) {
      const answer = await request(workspaces.server).get('/users/saml/metadata').set('Accept', accept).expect(200);
      expect([accept, answer.headers['content-type'], answer.headers.vary]).toEqual([accept, type, 'Accept']);
      expect(answer.text).toBe(text);
    }
    const { sent } = await leave();
    expect(sent).toMatchObject({
      issuer: 'https://workspaces.test/users/saml/metadata',
      consumer: 'https://workspaces.test/users/saml/auth',
      destination: sso,
    });
    expect(sent.url.searchParams.get('tenant')).toBe('1');
    expect(sent.url.searchParams.has('Signature')).toBe(false);
    expect(sent.xml).not.toContain('ForceAuthn');
  });

  it('have a separate account, known by their name at the provider', async () => {
    const attributes = { Username: ['ada'], MemberOf: ['ops', 'other'] };
    const shown = await session(await enter({ attributes }));
    expect(shown).toMatchObject({ name: 'ada', 'sign-in-provider': { id: 'saml', name: 'SAML' } });
    expect(await teamsOf(shown['user-id'])).toEqual(['operators']);
    // In one value, as some providers send them, or in none.
    const later = await session(await enter({ attributes: { MemberOf: ['reads, ops'] } }));
    expect(later['user-id']).toBe(shown['user-id']);
    expect(await teamsOf(shown['user-id'])).toEqual(['operators']);
    await enter();
    expect(await teamsOf(shown['user-id'])).toEqual([]);
    const dan = await workspaces.person('dan');
    expect((await session(await enter({ nameId: 'dan@example.com' })))['user-id']).not.toBe(dan.id);
  });

  it('administer the site by a role or an attribute, and own an organization by its role', async () => {
    const root = async (attributes: Record<string, string[]>) =>
      (await session(await enter({ nameId: 'eve', attributes })))['is-site-admin'];
    expect(await root({ MemberOf: ['site-admins'] })).toBe(true);
    expect(await root({ MemberOf: [] })).toBe(false);
    expect(await root({ SiteAdmin: ['true'] })).toBe(true);
    await settings({ 'team-management-enabled': false }).expect(200);
    const kept = await session(await enter({ nameId: 'fay', attributes: { MemberOf: ['ops', 'site-admins'] } }));
    expect([kept['is-site-admin'], await teamsOf(kept['user-id'])]).toEqual([true, []]);
    await settings({ 'team-management-enabled': true }).expect(200);
    await admin
      .patch('organizations/works', resource('organizations', { 'owners-team-saml-role-id': 'bosses' }))
      .expect(200);
    const boss = await session(await enter({ nameId: 'gus', attributes: { MemberOf: ['bosses'] } }));
    expect(await teamsOf(boss['user-id'])).toEqual(['owners']);
    expect(await root({})).toBe(false);
    await enter({ nameId: 'fay' });
  });

  it('can sign in with a signed response as well as with a signed assertion, unless assertions must be signed', async () => {
    const whole = async () => {
      const { sent } = await leave();
      const xml = samlProvider.sign(samlProvider.response(sent, samlProvider.assertion(sent)), 'Response');
      return post(xml, sent.relayState);
    };
    await (await whole()).status;
    expect((await whole()).status).toBe(303);
    await settings({ 'want-assertions-signed': true }).expect(200);
    expect((await whole()).status).toBe(403);
    await enter();
    await settings({ 'want-assertions-signed': false }).expect(200);
  });

  describe('are refused', () => {
    const refused = async (make: (sent: Sent) => string, why: string | RegExp) => {
      const { sent, cookie } = await leave();
      const answer = await post(make(sent), sent.relayState);
      expect(answer.status).toBe(403);
      expect(answer.headers['content-type']).toMatch(/text\/html/);
      expect(answer.text).toMatch(why);
      const back = await comeBack(`/ui/sign-in/callback?state=${sent.relayState}`, cookie);
      expect(back.status).toBe(403);
      expect(cookiesOf(back)).toEqual([]);
    };
    const evil = { nameId: 'evil@example.com', attributes: { SiteAdmin: ['true'] } };
    /** A signed assertion, and one that the attacker wrote. */
    const both = (sent: Sent) => {
      const good = samlProvider.answer(sent);
      const signed = /<saml:Assertion.*<\/saml:Assertion>/s.exec(good)![0];
      const signature = /<Signature.*<\/Signature>/s.exec(signed)![0];
      return { signed, signature, bare: signed.replace(signature, ''), forged: samlProvider.assertion(sent, evil) };
    };
    const around = (sent: Sent, content: string) => samlProvider.response(sent, content);
    const into = (xml: string, what: string) => xml.replace('</saml:Assertion>', `${what}</saml:Assertion>`);

    it.each<[string, (sent: Sent) => string, string | RegExp]>([
      ['unsigned', (sent) => around(sent, samlProvider.assertion(sent)), /Invalid signature/],
      [
        'signed by another key',
        (sent) => {
          const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
          const pem = privateKey.export({ type: 'pkcs8', format: 'pem' }) as string;
          return samlProvider.sign(around(sent, samlProvider.assertion(sent)), 'Assertion', pem);
        },
        /Invalid signature/,
      ],
      [
        'signed with SHA-1',
        (sent) => samlProvider.sign(around(sent, samlProvider.assertion(sent)), 'Assertion', testCertificate.key, true),
        /insecure/,
      ],
      ['changed after it was signed', (sent) => samlProvider.answer(sent).replace('ada@', 'eve@'), /nvalid signature/],
      // The known attacks that wrap a signed element, by the numbers that testers give them.
      [
        'wrapped (1)',
        (sent) => {
          const good = samlProvider.sign(around(sent, samlProvider.assertion(sent)), 'Response');
          const signature = /<Signature.*<\/Signature>/s.exec(good)![0];
          const copy = good.replace(signature, '');
          return around(sent, samlProvider.assertion(sent, evil)).replace(
            '</saml:Issuer>',
            `</saml:Issuer>${signature.replace('</Signature>', `<Object>${copy}</Object></Signature>`)}`,
          );
        },
        /more than one/,
      ],
      [
        'wrapped (2)',
        (sent) => {
          const good = samlProvider.sign(around(sent, samlProvider.assertion(sent)), 'Response');
          const signature = /<Signature.*<\/Signature>/s.exec(good)![0];
          return around(sent, samlProvider.assertion(sent, evil)).replace(
            '</saml:Issuer>',
            `</saml:Issuer>${good.replace(signature, '')}${signature}`,
          );
        },
        /more than one/,
      ],
      ['wrapped (3)', (sent) => around(sent, both(sent).forged + both(sent).signed), /more than one/],
      ['wrapped (4)', (sent) => around(sent, into(both(sent).forged, both(sent).signed)), /more than one/],
      [
        'wrapped (5)',
        (sent) => {
          const { forged, signature, bare } = both(sent);
          return around(sent, into(forged, signature) + bare);
        },
        /more than one/,
      ],
      [
        'wrapped (6)',
        (sent) => {
          const { forged, signature, bare } = both(sent);
          return around(sent, into(forged, signature.replace('</Signature>', `<Object>${bare}</Object></Signature>`)));
        },
        /more than one/,
      ],
      [
        'wrapped (7)',
        (sent) => around(sent, `<samlp:Extensions>${both(sent).signed}</samlp:Extensions>${both(sent).forged}`),
        /more than one/,
      ],
      [
        'wrapped (8)',
        (sent) => {
          const { forged, signature, bare } = both(sent);
          const moved = signature.replace('</Signature>', `<Object>${bare}</Object></Signature>`);
          return around(sent, forged.replace('</saml:Issuer>', `</saml:Issuer>${moved}`));
        },
        /more than one/,
      ],
      [
        'hidden in another namespace',
        (sent) => around(sent, `${both(sent).signed}<x:Assertion xmlns:x="urn:x"/>`),
        /more than one/,
      ],
      [
        'for a name with a comment in it',
        (sent) => samlProvider.answer(sent, { nameIdXml: 'ada@example.com<!---->.evil.test' }),
        /a comment/,
      ],
      [
        'for a name with an instruction in it',
        (sent) => samlProvider.answer(sent).replace('ada@example.com', 'ada@example.com<?x?>.evil.test'),
        /an instruction/,
      ],
      [
        'for a name with elements in it',
        (sent) => samlProvider.answer(sent, { nameIdXml: 'ada@example.com<saml:b>.evil.test</saml:b>' }),
        /does not name a user/,
      ],
      [
        'without a person',
        (sent) => samlProvider.answer(sent, { nameIdXml: '' }),
        /does not name a user|name exactly one user/,
      ],
      [
        'with entities',
        (sent) =>
          `<!DOCTYPE r [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;">]>${samlProvider.answer(sent)}`,
        /document type/,
      ],
      [
        'with a document type behind an instruction',
        (sent) => `<?xml version="1.0"?><!DOCTYPE r SYSTEM "file:///etc/passwd">${samlProvider.answer(sent)}`,
        /document type/,
      ],
      ['nested too deeply', (sent) => around(sent, '<a>'.repeat(20_000) + '</a>'.repeat(20_000)), /not valid/],
      ['not XML', () => 'nonsense', /not valid/],
      ['nothing', () => '', /not valid/],
      [
        'encrypted',
        (sent) => around(sent, '<saml:EncryptedAssertion xmlns:saml="urn:oasis:names:tc:SAML:2.0:assertion"/>'),
        /encrypted/,
      ],
      ['for another audience', (sent) => samlProvider.answer(sent, { audience: 'https://other.test' }), /audience/i],
      [
        'for another destination',
        (sent) => samlProvider.answer(sent, { destination: 'https://x.test' }),
        /destination/,
      ],
      ['for another recipient', (sent) => samlProvider.answer(sent, { recipient: 'https://x.test' }), /recipient/],
      ['too old', (sent) => samlProvider.answer(sent, { notOnOrAfterMs: Date.now() - 61_000 }), /too old/],
      ['not valid yet', (sent) => samlProvider.answer(sent, { notBeforeMs: Date.now() + 90_000 }), /not valid yet/],
      ['for another request', (sent) => samlProvider.answer(sent, { inResponseTo: '_other' }), /another request/],
      [
        'confirmed for another recipient',
        (sent) => samlProvider.answer(sent, { confirmedFor: '_other' }),
        /another request/,
      ],
      [
        'a refusal of the provider',
        (sent) => samlProvider.answer(sent, { status: 'urn:oasis:names:tc:SAML:2.0:status:Requester' }),
        /the provider says Requester/,
      ],
      [
        'with a transient name',
        (sent) => samlProvider.answer(sent, { format: 'urn:oasis:names:tc:SAML:2.0:nameid-format:transient' }),
        /persistent/,
      ],
    ])('when the answer is %s', async (_what, make, why) => {
      await refused(make, why);
    });

    it('if they did not start here, or use the same answer again, on any node', async () => {
      const { sent, cookie } = await leave();
      const xml = samlProvider.answer(sent);
      for (const state of ['', 'x', 'a'.repeat(43)]) expect((await post(xml, state)).status).toBe(403);
      const both = await Promise.all([workspaces.server, ...nodes].map((node) => post(xml, sent.relayState, node)));
      expect(both.map(({ status }) => status).sort()).toEqual([303, ...both.slice(1).map(() => 403)]);
      const { sent: another } = await leave();
      expect((await post(xml, another.relayState)).text).toContain('another request');
      const location = both.find(({ status }) => status === 303)!.headers.location!;
      // Another browser consumes nothing.
      const stranger = await leave();
      expect((await comeBack(location, stranger.cookie)).status).toBe(403);
      expect((await comeBack(location, cookie)).status).toBe(303);
      expect((await comeBack(location, cookie)).status).toBe(403);
      expect((await post(xml, sent.relayState)).status).toBe(403);
    });

    it('without reasons, unless debugging is on', async () => {
      await settings({ debug: false }).expect(200);
      const { sent } = await leave();
      const { text } = await post(samlProvider.answer(sent, { audience: 'x' }), sent.relayState);
      expect(text).toContain('is not valid. Ask its administrator.');
      expect(text).not.toMatch(/audience/i);
      await settings({ debug: true }).expect(200);
    });

    it('when a form is larger than any answer', async () => {
      const { sent } = await leave();
      expect((await post('x'.repeat(600 * 1024), sent.relayState)).status).toBe(413);
    });
  });

  it('are identified by the old certificate of the provider until it is revoked', async () => {
    await settings({ 'idp-cert': otherCertificate }).expect(200);
    const { body } = await admin.get('admin/saml-settings').expect(200);
    expect(body.data.attributes).toMatchObject({
      'idp-cert': otherCertificate,
      'old-idp-cert': samlProvider.certificate,
    });
    await enter();
    await admin.post('admin/saml-settings/actions/revoke-old-certificate').expect(200);
    const { sent } = await leave();
    expect((await post(samlProvider.answer(sent), sent.relayState)).status).toBe(403);
    await settings({ 'idp-cert': samlProvider.certificate }).expect(200);
    await admin.post('admin/saml-settings/actions/revoke-old-certificate').expect(200);
    await enter();
  });

  it('are requested with a signature if the provider wants one, by a key that is never shown', async () => {
    const signs = {
      certificate: samlProvider.certificate,
      'private-key': testCertificate.key,
      'authn-requests-signed': true,
    };
    const { body } = await settings(signs).expect(200);
    expect(JSON.stringify(body)).not.toContain('PRIVATE KEY');
    const { sent } = await leave();
    expect(sent.url.searchParams.get('SigAlg')).toContain('rsa-sha256');
    const signed = /SAMLRequest=.*SigAlg=[^&]*/.exec(sent.url.search)![0];
    const verifier = createVerify('RSA-SHA256').update(signed);
    expect(verifier.verify(testCertificate.cert, sent.url.searchParams.get('Signature')!, 'base64')).toBe(true);
    expect((await request(workspaces.server).get('/users/saml/metadata')).text).toContain('<md:KeyDescriptor');
    const kept = await rows('SELECT row_to_json(s)::text AS text FROM saml_setting s');
    const audit = await rows(
      "SELECT row_to_json(a)::text AS text FROM audit_event a WHERE action = 'saml-settings.update'",
    );
    expect(JSON.stringify([kept, audit])).not.toMatch(/PRIVATE KEY|42454749/);
    expect(audit.length).toBeGreaterThan(3);
    await settings({ 'private-key': null }).expect(422);
    await settings({ 'private-key': null, 'authn-requests-signed': false }).expect(200);
  });

  it('keep nothing readable of a sign-in in the database', async () => {
    const { sent } = await leave();
    await post(samlProvider.answer(sent, { nameId: 'secret-name@example.com' }), sent.relayState).expect(303);
    const kept = JSON.stringify(await rows('SELECT row_to_json(p)::text AS text FROM pending_sign_in p'));
    expect(kept).not.toContain(sent.relayState);
    expect(kept).not.toContain(Buffer.from('secret-name').toString('hex'));
  });

  it('have API tokens that work while they sign in from time to time', async () => {
    await settings({ 'sso-api-token-session-timeout': 60 }).expect(200);
    const { 'user-id': userId } = await session(await enter({ nameId: 'hal' }));
    const { db, env } = workspaces.service;
    const { secret } = await tokens.create(db, env.keyring, system, { kind: 'user', userId }, {}, env.now());
    const hal = workspaces.as(secret!);
    await hal.get('account/details').expect(200);
    await rows("UPDATE user_account SET sso_until = now() - interval '1 second' WHERE id = $1", userId);
    await hal.get('account/details').expect(401);
    await enter({ nameId: 'hal' });
    await hal.get('account/details').expect(200);
    await rows("UPDATE user_account SET sso_until = now() - interval '1 second' WHERE id = $1", userId);
    await settings({ 'sso-api-token-session-timeout': 3600 }).expect(200);
    await hal.get('account/details').expect(200);
  });

  it('confirm their identity again at their provider', async () => {
    const cookie = await enter({ nameId: 'ivy' });
    const prove = async (authnInstantMs: number) => {
      const asked = await request(workspaces.server)
        .post('/ui/sign-in/saml')
        .set({ ...ours, Cookie: cookie })
        .expect(200);
      const sent = requestIn(asked.body.location);
      expect(sent.xml).toContain('ForceAuthn="true"');
      const answered = await post(samlProvider.answer(sent, { nameId: 'ivy', authnInstantMs }), sent.relayState);
      return { answered, browser: cookiesOf(asked)[0]! };
    };
    const old = await prove(Date.now() - 3_600_000);
    expect(old.answered.text).toContain('did not require you to sign in again');
    const fresh = await prove(Date.now());
    const back = await comeBack(fresh.answered.headers.location!, `${fresh.browser}; ${cookie}`);
    expect([back.status, back.text]).toEqual([303, '']);
  });

  it('lose access when SAML is switched off', async () => {
    const cookie = await enter();
    expect((await session(cookie))['user-id']).toBeDefined();
    await settings({ enabled: false }).expect(200);
    expect((await session(cookie))['user-id']).toBeUndefined();
    expect((await admin.get('organizations/works').expect(200)).body.data.attributes['saml-enabled']).toBe(false);
    expect(await rows('SELECT 1 FROM user_account WHERE sso_until IS NOT NULL')).toEqual([]);
  });
});

describe('certificates that are not checked', () => {
  const workspaces = startWorkspaces({ env: { WORKSPACES_CHECK_SAML_CERTIFICATES: 'off' } });

  it('are stored and shown, but do not allow any sign-in', async () => {
    const attributes = { enabled: true, 'idp-cert': 'testCert', 'sso-endpoint-url': sso, 'slo-endpoint-url': sso };
    const { body } = await workspaces.admin
      .patch('admin/saml-settings', resource('saml-settings', attributes))
      .expect(200);
    expect(body.data.attributes['idp-cert']).toBe('testCert');
    const left = await request(workspaces.server).get('/ui/sign-in/saml').expect(303);
    const sent = requestIn(left.headers.location!);
    const answered = await request(workspaces.server)
      .post('/users/saml/auth')
      .type('form')
      .send({ SAMLResponse: Buffer.from(samlProvider.answer(sent)).toString('base64'), RelayState: sent.relayState });
    expect(answered.status).toBe(403);
  });
});
