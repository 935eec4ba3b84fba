import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { manualClock } from '@keystead/testing';
import { OCSPResponseStatus } from '@peculiar/asn1-ocsp';
import { AsnConvert, OctetString } from '@peculiar/asn1-schema';
import { AccessDescription, AuthorityInfoAccessSyntax, GeneralName } from '@peculiar/asn1-x509';
import { extension, type Issued, root as makeRoot, serverAuth } from '../../../test/stand-ins/authority';
import {
  answerOf,
  listOf,
  listPem,
  RevocationStandIn,
  type WantedAnswer,
  type WantedList,
} from '../../../test/stand-ins/revocation';
import { startSecrets } from '../../../test/start-secrets';
import { type Shown, TlsListener } from '../../../test/tls-listener';
import { backgroundCalls } from '../../service/background-calls';

const unmet = 'no chain matching all constraints could be found for this login certificate';
const day = 86_400_000;

describe('revoked certificates', () => {
  const clock = manualClock(Date.now());
  const secrets = startSecrets({ clock });
  const tls = new TlsListener();
  const host = new RevocationStandIn();
  const other = new RevocationStandIn();
  const authority = makeRoot('Acme Root');
  const between = authority.issue('Acme Clients', { authority: true });
  const web = authority.issue('web');
  const deep = between.issue('deep');
  const withChain = (leaf: Issued, ...sent: Issued[]): Shown => ({
    pem: [leaf, ...sent].map(({ pem }) => pem).join(''),
    keyPem: leaf.keyPem,
  });
  const login = async (certificate: Shown, name = 'web') => {
    const { status, body } = await tls.send('auth/cert/login', certificate, { body: { name } });
    return [status, body.errors?.[0] ?? body.warnings?.[0] ?? ''];
  };
  beforeAll(async () => {
    await Promise.all([tls.start(secrets.service.app), host.start(), other.start()]);
    await secrets.root.write('sys/auth/cert', { type: 'cert' }).expect(204);
    await secrets.root.write('auth/cert/certs/web', { certificate: authority.pem }).expect(204);
  });
  afterAll(() => Promise.all([tls.stop(), host.stop(), other.stop()]));

  describe('by a CRL', () => {
    const put = (fields: object, name = 'acme') => secrets.root.write(`auth/cert/crls/${name}`, fields);
    const crl = (serials: bigint[], options?: WantedList) => listPem(listOf(authority, serials, options));
    const forget = (name = 'acme') => secrets.root.delete(`auth/cert/crls/${name}`).expect(204);

    it('are refused, and accepted again when the CRL is deleted', async () => {
      expect(await login(web)).toEqual([200, '']);
      await put({ crl: crl([1n, web.serial]) }, 'Acme').expect(204);
      expect(await login(web)).toEqual([400, unmet]);
      expect(await login(authority.issue('web'))).toEqual([200, '']);
      const { body } = await secrets.root.read('auth/cert/crls/acme').expect(200);
      expect(body.data).toEqual({ serials: { 1: {}, [web.serial.toString()]: {} } });
      expect((await secrets.root.list('auth/cert/crls').expect(200)).body.data.keys).toEqual(['acme']);
      await put({ crl: listOf(authority, []).toString('base64') }).expect(204);
      expect((await secrets.root.read('auth/cert/crls/acme').expect(200)).body.data).toEqual({});
      expect(await login(web)).toEqual([200, '']);
      await forget();
      await secrets.root.delete('auth/cert/crls/acme').expect(400, /no such CRL acme/);
      await secrets.root.read('auth/cert/crls/acme').expect(400, /no such CRL acme/);
    });

    it('make the certificates that they issued invalid', async () => {
      await put({ crl: crl([between.serial]) }).expect(204);
      expect(await login(withChain(deep, between))).toEqual([400, unmet]);
      const again = authority.issue('Acme Clients', { authority: true, keys: between.keys });
      expect(await login(withChain(deep, between, again))).toEqual([200, '']);
      await forget();
    });

    it('must be from the issuer of the CRL', async () => {
      const stranger = makeRoot('Other Root');
      const twin = makeRoot('Acme Root');
      await put({ crl: listPem(listOf(stranger, [web.serial])) }).expect(204);
      expect(await login(web)).toEqual([200, '']);
      await put({ crl: listPem(listOf(twin, [web.serial])) }).expect(204);
      expect(await login(web)).toEqual([200, '']);
      await put({ crl: listPem(listOf(twin, [web.serial], { bare: true })) }).expect(204);
      expect(await login(web)).toEqual([400, unmet]);
      await put({ crl: listPem(listOf(makeRoot('ACME  root'), [web.serial], { bare: true })) }).expect(204);
      expect(await login(web)).toEqual([400, unmet]);
      await forget();
    });

    it('end renewals', async () => {
      const { body } = await tls.send('auth/cert/login', web, { body: { name: 'web' } });
      await put({ crl: crl([web.serial]) }).expect(204);
      const renewal = await tls.send('auth/token/renew-self', web, { token: body.auth.client_token });
      expect(renewal.body.errors[0]).toContain(unmet);
      await forget();
    });

    it('may be many', async () => {
      const many = Array.from({ length: 400 }, (_, n) => BigInt(n) * 2n ** 90n + 7n);
      await put({ crl: crl([...many, web.serial]) }).expect(204);
      expect(await login(web)).toEqual([400, unmet]);
      const { body } = await secrets.root.read('auth/cert/crls/acme').expect(200);
      expect(Object.keys(body.data.serials)).toHaveLength(401);
      await forget();
    });

    it.each<[string, () => object, string]>([
      ['nothing', () => ({}), "one of 'crl' or 'url' must be provided"],
      ['bytes that are not a CRL', () => ({ crl: 'x y z' }), 'failed to parse CRL'],
      ['a certificate', () => ({ crl: authority.der.toString('base64') }), 'it is not a CRL'],
      [
        'an incomplete CRL',
        () => ({ crl: listOf(authority, [1n]).subarray(0, 90).toString('base64') }),
        'failed to parse CRL',
      ],
      [
        'a CRL followed by other bytes',
        () => ({ crl: Buffer.concat([listOf(authority, []), Buffer.from([5, 0])]).toString('base64') }),
        'failed to parse CRL',
      ],
      [
        'a delta CRL',
        () => ({ crl: crl([], { extensions: [extension('2.5.29.27', new OctetString(Buffer.from([1])), true)] }) }),
        'its critical extension 2.5.29.27 is not supported',
      ],
      [
        'a partial CRL',
        () => ({ crl: crl([], { extensions: [extension('2.5.29.28', new OctetString(Buffer.from([1])))] }) }),
        'its extension 2.5.29.28 is not supported',
      ],
      [
        'an indirect CRL',
        () => ({
          crl: crl([1n], { entryExtensions: [extension('2.5.29.29', new OctetString(Buffer.from([1])), true)] }),
        }),
        'only CRLs of a single CA',
      ],
      ['no address', () => ({ url: 'ftp://a' }), 'invalid CRL url'],
      ['an address with a password', () => ({ url: 'https://a:b@c/' }), 'invalid CRL url'],
    ])('refuses %s', async (_what, fields, text) => {
      const { body } = await put(fields(), 'bad').expect(400);
      expect(body.errors[0]).toContain(text);
      await secrets.root.read('auth/cert/crls/bad').expect(400);
    });

    it('handles reason codes in CRL entries', async () => {
      await put({
        crl: crl([web.serial], { entryExtensions: [extension('2.5.29.21', new OctetString(Buffer.from([1])))] }),
      });
      expect(await login(web)).toEqual([400, unmet]);
      await forget();
    });

    describe('from a URL', () => {
      const tick = async () => {
        const { mounts, entries, committer, decisions, namespaces, leases } = secrets.service.kernel;
        const mount = mounts.at(namespaces.root.uuid, 'auth/cert/')!;
        const inBackground = backgroundCalls({ entries, committer, decisions }, clock, () => leases);
        // The service also fetches the list by itself, and may have been faster.
        await inBackground(mount, mount.backend.tick!).catch(() => {});
      };
      beforeEach(() => {
        Object.assign(host, { status: 200, asked: 0 });
      });

      it('are in a CRL that one node fetches again when it expires', async () => {
        host.list = listOf(authority, [web.serial], { toMs: clock.now() + day });
        await put({ url: host.address }).expect(204);
        expect(await login(web)).toEqual([400, unmet]);
        const { body } = await secrets.root.read('auth/cert/crls/acme').expect(200);
        expect(body.data.cdp).toEqual({ url: host.address, valid_until: expect.stringMatching(/^20.*Z$/) });
        await tick();
        expect(host.asked).toBe(1);
        clock.advance(day + 1000);
        host.list = listOf(authority, [1n], { fromMs: clock.now() - 1000, toMs: clock.now() + 10 * day });
        await Promise.all([tick(), tick(), tick()]);
        expect(host.asked).toBe(2);
        expect(await login(web)).toEqual([200, '']);
        clock.advance(-day);
        await forget();
      });

      it('stay in effect while the URL answers nothing, nothing signed, or an older CRL', async () => {
        host.list = listOf(authority, [web.serial], { fromMs: clock.now() - 5000, toMs: clock.now() + 10_000 });
        await put({ url: host.address }).expect(204);
        const later = { toMs: clock.now() + 20 * day };
        for (const [list, status, text] of [
          [host.list, 503, 'answered 503'],
          [Buffer.from('x'), 200, 'returned no CRL'],
          [
            listOf(authority, [], { ...later, signer: makeRoot('Acme Root') }),
            200,
            'no certificate of a role in this mount',
          ],
          [listOf(web, [], later), 200, 'no certificate of a role in this mount'],
          [listOf(authority, [], { ...later, fromMs: clock.now() - day }), 200, 'returned an older CRL than before'],
          [listOf(authority, [], { toMs: clock.now() }), 200, 'returned an expired CRL'],
        ] as const) {
          Object.assign(host, { list, status });
          clock.advance(61_000);
          await tick();
          expect(await login(web)).toEqual([400, unmet]);
          const { body } = await put({ url: host.address }).expect(502);
          expect(body.errors[0]).toContain(text);
        }
        clock.advance(61_000);
        Object.assign(host, { status: 200, list: listOf(authority, [], { ...later, fromMs: clock.now() - 1000 }) });
        await tick();
        expect(await login(web)).toEqual([200, '']);
        await forget();
      });

      it('are in a CRL that stays deleted if it is deleted while it is fetched', async () => {
        host.list = listOf(authority, [], { toMs: clock.now() + 1000 });
        await put({ url: host.address }).expect(204);
        clock.advance(61_000);
        Object.assign(host, { delayMs: 300, list: listOf(authority, [], { toMs: clock.now() + day }) });
        const fetching = tick();
        await forget();
        await fetching;
        host.delayMs = 0;
        await secrets.root.read('auth/cert/crls/acme').expect(400);
      });
    });
  });

  describe('the check by OCSP', () => {
    const naming = (address: string) => ({
      extensions: [
        {
          id: '1.3.6.1.5.5.7.1.1',
          value: Buffer.from(
            AsnConvert.serialize(
              new AuthorityInfoAccessSyntax([
                new AccessDescription({
                  accessMethod: '1.3.6.1.5.5.7.48.1',
                  accessLocation: new GeneralName({ uniformResourceIdentifier: address }),
                }),
              ]),
            ),
          ),
        },
      ],
    });
    const signing = { purposes: ['1.3.6.1.5.5.7.3.9'] };
    let certificate: Issued;
    let count = 0;
    const role = (fields: object = {}) =>
      secrets.root.write('auth/cert/certs/asked', {
        certificate: authority.pem,
        ocsp_enabled: true,
        ocsp_servers_override: '',
        ocsp_ca_certificates: '',
        ocsp_fail_open: false,
        ocsp_query_all_servers: false,
        ocsp_this_update_max_age: 0,
        ocsp_max_retries: 0,
        ...fields,
      });
    const respond = (options: WantedAnswer, signer: Issued = authority) => {
      host.answer = (question) =>
        answerOf(signer, question, { toMs: clock.now() + day, fromMs: clock.now() - 1000, ...options });
    };
    beforeEach(async () => {
      certificate = authority.issue(`asked-${++count}`, naming(host.address));
      for (const one of [host, other]) Object.assign(one, { status: 200, delayMs: 0, asked: 0 });
      respond({});
      await role().expect(204);
    });

    it('caches a response for as long as the response says', async () => {
      expect(await login(certificate, 'asked')).toEqual([200, '']);
      respond({ standing: 'revoked' });
      expect(await login(certificate, 'asked')).toEqual([200, '']);
      expect(host.asked).toBe(1);
      clock.advance(day + 1000);
      respond({ standing: 'revoked' });
      expect(await login(certificate, 'asked')).toEqual([400, unmet]);
      respond({});
      expect(await login(certificate, 'asked')).toEqual([400, unmet]);
      expect(host.asked).toBe(2);
      clock.advance(-day);
    });

    it('asks again when the response has no validity, or is too old for the role', async () => {
      respond({ toMs: null });
      for (const expected of [1, 2]) {
        expect(await login(certificate, 'asked')).toEqual([200, '']);
        expect(host.asked).toBe(expected);
      }
      await role({ ocsp_this_update_max_age: '10m' }).expect(204);
      respond({});
      expect(await login(certificate, 'asked')).toEqual([200, '']);
      expect(await login(certificate, 'asked')).toEqual([200, '']);
      expect(host.asked).toBe(3);
      clock.advance(601_000);
      expect((await login(certificate, 'asked'))[0]).toBe(200);
      expect(host.asked).toBe(4);
    });

    it.each<[string, () => void, string]>([
      ['with an error', () => Object.assign(host, { status: 500 }), 'the OCSP responder answered 500'],
      ['that is nonsense', () => Object.assign(host, { answer: () => Buffer.from('x') }), 'it is not an OCSP answer'],
      ['with tryLater', () => respond({ status: OCSPResponseStatus.tryLater }), 'it says tryLater'],
      ['without a valid signature', () => respond({ signature: Buffer.alloc(64) }), 'it is not signed by the issuer'],
      ['signed by another CA', () => respond({}, makeRoot('Acme Root')), 'it is not signed by the issuer'],
      [
        'signed with a client certificate of the CA',
        () => respond({ certificates: [web] }, web),
        'it is not signed by the issuer',
      ],
      [
        'by a responder of another CA',
        () => {
          const foreign = makeRoot('Acme Root').issue('responder', signing);
          respond({ certificates: [foreign] }, foreign);
        },
        'it is not signed by the issuer',
      ],
      [
        'by an expired responder',
        () => {
          const old = authority.issue('responder', { ...signing, toMs: clock.now() - 1000 });
          respond({ certificates: [old] }, old);
        },
        'it is not signed by the issuer',
      ],
      [
        'signed with a server certificate of the CA',
        () => {
          const server = authority.issue('responder', { purposes: [serverAuth] });
          respond({ certificates: [server] }, server);
        },
        'it is not signed by the issuer',
      ],
      ['about another certificate', () => respond({ serial: 5n }), 'it is about another certificate'],
      ['to another request', () => respond({ nonce: 'other' }), 'it is for another question'],
      ['that is too old', () => respond({ nonce: 'none', toMs: clock.now() - day }), 'it is too old'],
      [
        'that is too old and has no end',
        () => respond({ nonce: 'none', fromMs: clock.now() - day, toMs: null }),
        'it is too old',
      ],
      ['from the future', () => respond({ fromMs: clock.now() + day }), 'its time is in the future'],
    ])('refuses the login after an answer %s, and accepts it if the role allows that', async (_what, change, text) => {
      change();
      const [status, body] = await login(certificate, 'asked');
      expect([status, body]).toEqual([502, expect.stringContaining(text)]);
      await role({ ocsp_fail_open: true }).expect(204);
      expect(await login(certificate, 'asked')).toEqual([200, expect.stringContaining('no OCSP responder confirmed')]);
      Object.assign(host, { status: 200 });
      respond({});
      expect(await login(certificate, 'asked')).toEqual([200, '']);
    });

    it('accepts responses signed by anyone whom the issuer or the role allows', async () => {
      const responder = authority.issue('responder', signing);
      respond({ certificates: [responder] }, responder);
      expect(await login(certificate, 'asked')).toEqual([200, '']);
      const leaf = makeRoot('Responders');
      const foreign = leaf.issue('responder', signing);
      await role({ ocsp_ca_certificates: leaf.pem, ocsp_this_update_max_age: '1h' }).expect(204);
      respond({ certificates: [foreign] }, foreign);
      expect(await login(certificate, 'asked')).toEqual([200, '']);
    });

    it('refuses an unknown certificate, and one without a responder', async () => {
      respond({ standing: 'unknown' });
      expect(await login(certificate, 'asked')).toEqual([400, 'unknown OCSP status of the certificate']);
      expect(await login(web, 'asked')).toEqual([400, 'the certificate does not name an OCSP responder']);
      await role({ ocsp_fail_open: true }).expect(204);
      expect((await login(certificate, 'asked'))[0]).toBe(200);
      expect((await login(web, 'asked'))[0]).toBe(200);
      respond({ standing: 'revoked' });
      expect(await login(certificate, 'asked')).toEqual([400, unmet]);
    });

    it('asks the responders of the role, one after the other or all', async () => {
      const both = `${host.address},${other.address}`;
      await role({ ocsp_servers_override: both }).expect(204);
      Object.assign(host, { status: 500 });
      const now = { fromMs: clock.now() - 1000, toMs: null };
      other.answer = (question) => answerOf(authority, question, now);
      expect(await login(web, 'asked')).toEqual([200, '']);
      await role({ ocsp_servers_override: both, ocsp_query_all_servers: true }).expect(204);
      expect((await login(web, 'asked'))[0]).toBe(502);
      Object.assign(host, { status: 200 });
      respond({ toMs: null });
      expect(await login(web, 'asked')).toEqual([200, '']);
      other.answer = (question) => answerOf(authority, question, { ...now, standing: 'revoked' });
      expect(await login(web, 'asked')).toEqual([400, unmet]);
      await role({ ocsp_servers_override: both, ocsp_query_all_servers: true, ocsp_fail_open: true }).expect(204);
      Object.assign(host, { status: 500 });
      expect(await login(web, 'asked')).toEqual([400, unmet]);
    });

    it('checks a certificate listed in the role if its issuer is known', async () => {
      await role({ certificate: certificate.pem }).expect(204);
      expect(await login(certificate, 'asked')).toEqual([400, 'ocsp_ca_certificates does not contain its issuer']);
      await role({ certificate: certificate.pem, ocsp_ca_certificates: authority.pem }).expect(204);
      expect(await login(certificate, 'asked')).toEqual([200, '']);
      expect((await login(authority.issue('x', naming(host.address)), 'asked'))[0]).toBe(400);
    });

    it('asks at renewals as well', async () => {
      respond({ toMs: null });
      const { body } = await tls.send('auth/cert/login', certificate, { body: { name: 'asked' } });
      const renew = () => tls.send('auth/token/renew-self', certificate, { token: body.auth.client_token });
      expect((await renew()).status).toBe(200);
      respond({ standing: 'revoked', toMs: null });
      expect((await renew()).body.errors[0]).toContain(unmet);
      Object.assign(host, { status: 500 });
      expect((await renew()).status).toBe(502);
    });

    it('retries a failing responder as often as the role says', async () => {
      Object.assign(host, { status: 503 });
      await role({ ocsp_max_retries: 2 }).expect(204);
      expect((await login(certificate, 'asked'))[0]).toBe(502);
      expect(host.asked).toBe(3);
      await role({ ocsp_max_retries: 100 }).expect(204);
      const waiting = login(certificate, 'asked');
      setTimeout(() => Object.assign(host, { status: 200 }), 150);
      expect(await waiting).toEqual([200, '']);
    });

    it('waits five seconds, and then does not wait for a while', async () => {
      host.delayMs = 20_000;
      const began = performance.now();
      expect(await login(certificate, 'asked')).toEqual([502, expect.stringContaining('no answer in time')]);
      expect(performance.now() - began).toBeLessThan(15_000);
    });

    it('caches as many responses as the mount allows', async () => {
      await secrets.root.write('auth/cert/config', { ocsp_cache_size: 1 }).expect(400, /invalid cache size/);
      await secrets.root.write('auth/cert/config', { ocsp_cache_size: 2 }).expect(204);
      const three = [1, 2, 3].map((n) => authority.issue(`three-${n}`, naming(host.address)));
      for (const one of [...three, ...three]) expect(await login(one, 'asked')).toEqual([200, '']);
      expect(host.asked).toBe(6);
      await secrets.root.write('auth/cert/config', { ocsp_cache_size: 100 }).expect(204);
    });

    it.each<[object, string]>([
      [{ ocsp_servers_override: 'ldap://a' }, 'number 1 of ocsp_servers_override'],
      [{ ocsp_servers_override: Array(11).fill('http://a').join() }, 'more than 10 addresses'],
      [{ ocsp_ca_certificates: 'x' }, 'failed to parse ocsp_ca_certificates'],
      [{ ocsp_max_retries: -1 }, 'ocsp_max_retries cannot be negative'],
    ])('refuses the role %j', async (fields, text) => {
      const { body } = await role(fields).expect(400);
      expect(body.errors[0]).toContain(text);
    });
  });
});
