import { readFileSync } from 'node:fs';
import { beforeAll, describe, expect, it } from '@jest/globals';
import request from 'supertest';
import { startOpenSsl } from '../../../test/openssl';
import { startSecrets } from '../../../test/start-secrets';
import { backgroundCalls } from '../../service/background-calls';

describe('revocation', () => {
  const time = { offsetMs: 0 };
  const clock = { now: () => Date.now() + time.offsetMs };
  const secrets = startSecrets({ clock });
  const { run, file, request: newRequest } = startOpenSsl();
  const write = (path: string, body: object = {}) => secrets.root.write(path, body);
  const must = async (path: string, body: object = {}) => (await write(path, body).expect(200)).body.data;
  const refused = async (path: string, body: object = {}) => (await write(path, body).expect(400)).body.errors[0];
  interface Leaf {
    certificate: string;
    serial_number: string;
    private_key: string;
  }
  interface Mounted {
    readonly root: { certificate: string; issuer_id: string };
    issue(body?: object): Promise<Leaf>;
    /** CRL number and serial numbers, in CRL order. */
    list(kind?: 'crl' | 'crl/delta'): Promise<{ number: number; serials: string[]; text: string; pem: string }>;
  }

  const mount = async (at: string, key_type = 'ec', role: object = {}): Promise<Mounted> => {
    await secrets.root.write(`sys/mounts/${at}`, { type: 'pki', config: { max_lease_ttl: '87600h' } }).expect(204);
    const root = await must(`${at}/root/generate/internal`, { common_name: `Root of ${at}`, ttl: '87600h', key_type });
    await must(`${at}/roles/a`, { allow_any_name: true, key_type: 'ec', ...role });
    return {
      root,
      issue: (body = {}) => must(`${at}/issue/a`, { common_name: 'a.test', ...body }),
      async list(kind = 'crl') {
        const { text: pem } = await secrets.anonymous.read(`${at}/${kind}/pem`).expect(200);
        const crl = file(pem);
        const text = run('crl', '-in', crl, '-noout', '-text', '-CAfile', file(root.certificate));
        const number = Number(run('crl', '-in', crl, '-noout', '-crlnumber').replace('crlNumber=', ''));
        const serials = [...text.matchAll(/Serial Number: ([0-9A-F]+)/g)].map(([, hex]) => hex!.toLowerCase());
        return { number, serials, text, pem };
      },
    };
  };
  const hex = ({ serial_number: serial }: Leaf): string => serial.replaceAll(':', '');

  it.each(['ec', 'rsa', 'ed25519'])(
    'a revoked certificate is at once in the CRL of an issuer with a key of %s (E6.1)',
    async (keyType) => {
      const { root, issue, list } = await mount(`at-once-${keyType}`, keyType);
      const first = await list();
      expect(first).toMatchObject({ number: 1, serials: [] });
      expect(run('crl', '-in', file(first.pem), '-noout', '-CAfile', file(root.certificate), '-verify')).toBe('');
      const [kept, gone] = [await issue(), await issue()];
      const revoked = await must(`at-once-${keyType}/revoke`, { serial_number: gone.serial_number });
      expect(revoked).toMatchObject({ state: 'revoked' });
      const after = await list();
      expect(after).toMatchObject({ number: 2, serials: [hex(gone)] });
      const check = (leaf: Leaf) =>
        run(
          'verify',
          '-crl_check',
          '-CAfile',
          file(root.certificate),
          '-CRLfile',
          file(after.pem),
          file(leaf.certificate),
        );
      expect(check(kept)).toMatch(/OK/);
      expect(() => check(gone)).toThrow(/certificate revoked/);
      expect(await must(`at-once-${keyType}/revoke`, { serial_number: gone.serial_number.toUpperCase() })).toEqual(
        revoked,
      );
      expect((await list()).number).toBe(2);
      const { body } = await secrets.anonymous.read(`at-once-${keyType}/cert/${gone.serial_number}`).expect(200);
      expect(body.data.revocation_time).toBe(revoked.revocation_time);
      const listed = await secrets.root.list(`at-once-${keyType}/certs/revoked`).expect(200);
      expect(listed.body.data.keys).toEqual([gone.serial_number]);
    },
  );

  it('simultaneous revocations are all in the CRL when they are answered, and no CRL number is used twice (E6.2)', async () => {
    const { issue, list } = await mount('together');
    const leaves = await Promise.all(Array.from({ length: 20 }, () => issue()));
    const numbered = new Map<number, string>();
    await Promise.all(
      leaves.map(async (leaf) => {
        await must('together/revoke', { serial_number: leaf.serial_number });
        const seen = await list();
        expect(seen.serials).toContain(hex(leaf));
        expect(numbered.get(seen.number) ?? seen.pem).toBe(seen.pem);
        numbered.set(seen.number, seen.pem);
      }),
    );
    const { number, serials } = await list();
    expect(serials.sort()).toEqual(leaves.map(hex).sort());
    expect(number).toBeLessThanOrEqual(21);
  });

  it('a certificate is revoked by its text, also if it was not stored, and by the holder of its key (E6.3)', async () => {
    const { issue, list } = await mount('itself', 'ec', { no_store: true });
    const leaf = await issue();
    expect(await refused('itself/revoke', { serial_number: leaf.serial_number })).toBe(
      `certificate with serial ${leaf.serial_number} not found.`,
    );
    await must('itself/revoke', { certificate: leaf.certificate });
    expect((await list()).serials).toEqual([hex(leaf)]);

    const [mine, other] = [await issue(), await issue()];
    const user = await secrets.withPolicy('path "itself/revoke-with-key" { capabilities = ["update"] }');
    const attempt = (body: object) => user.write('itself/revoke-with-key', body);
    const wrong = await attempt({ certificate: mine.certificate, private_key: other.private_key }).expect(400);
    expect(wrong.body.errors[0]).toBe("provided private key does not match certificate's public key");
    expect((await attempt({ certificate: mine.certificate }).expect(400)).body.errors[0]).toMatch(
      /Must have private key/,
    );
    await attempt({ certificate: mine.certificate, private_key: mine.private_key }).expect(200);
    expect((await list()).serials).toContain(hex(mine));

    const { issue: elsewhere } = await mount('elsewhere');
    const { certificate } = await elsewhere();
    expect(await refused('itself/revoke', { certificate })).toMatch(/^unable to verify signature/);
    expect(await refused('itself/revoke', {})).toBe('The serial number or certificate to revoke must be provided.');
    expect(await refused('itself/revoke', { certificate, serial_number: '1' })).toMatch(/not both/);
    expect(await refused('itself/revoke', { serial_number: 'aa:bb' })).toBe('certificate with serial aa:bb not found.');
  });

  it('an issuer is not in its own CRL, but in the CRL of the CA that issued it once it is revoked (E6.4)', async () => {
    const { root, list } = await mount('above');
    const self = await secrets.root.read('above/issuer/default/json').expect(200);
    expect(self.body.data.issuer_id).toBe(root.issuer_id);
    const serial = run('x509', '-in', file(root.certificate), '-noout', '-serial').trim().replace('serial=', '');
    expect(await refused('above/revoke', { serial_number: serial })).toMatch(/to its own CRL is not allowed/);
    const { csr } = await must('above/intermediate/generate/internal', { common_name: 'Below', key_type: 'ec' });
    const signed = await must('above/root/sign-intermediate', { csr, ttl: '1000h' });
    const { imported_issuers } = await must('above/intermediate/set-signed', { certificate: signed.certificate });
    const [id] = imported_issuers;
    await must(`above/issuer/${id}/issue/a`, { common_name: 'a.test' });
    expect(await must(`above/issuer/${id}/revoke`)).toMatchObject({
      revoked: true,
      usage: 'crl-signing,ocsp-signing,read-only',
    });
    expect((await list()).serials).toEqual([signed.serial_number.replaceAll(':', '')]);
    expect(await refused(`above/issuer/${id}/issue/a`, { common_name: 'a.test' })).toMatch(/issuing-certificates/);
    const { body } = await secrets.root.patch(`above/issuer/${id}`, { usage: 'issuing-certificates' }).expect(400);
    expect(body.errors[0]).toMatch(/^This issuer was revoked/);
    const shown = async (number: string) =>
      (await secrets.anonymous.read(`above/cert/${number}`).expect(200)).body.data;
    expect(await shown(signed.serial_number)).toMatchObject({ issuer_id: root.issuer_id });
    expect((await shown(serial)).revocation_time).toBe(0);
    await must('above/issuer/default/revoke');
    expect(await shown(serial)).toMatchObject({
      revocation_time: expect.any(Number),
      revocation_time_rfc3339: expect.stringMatching(/^20/),
    });
  });

  it('the end of a lease revokes its certificate (E6.3)', async () => {
    const { list } = await mount('leased', 'ec', { generate_lease: true });
    const { body } = await write('leased/issue/a', { common_name: 'a.test', ttl: '1h' }).expect(200);
    expect(body).toMatchObject({ renewable: false, lease_id: expect.stringMatching(/^leased\/issue\/a\//) });
    await secrets.root.write('sys/leases/revoke', { lease_id: body.lease_id, sync: true }).expect(204);
    expect((await list()).serials).toEqual([hex(body.data)]);
  });

  it('imported certificates of its issuers are stored, listed and in OCSP, also revoked ones (E5.10)', async () => {
    const { root, issue } = await mount('before');
    const [kept, gone, later] = [await issue(), await issue(), await issue()];
    const text = (await secrets.root.read('before/issuer/default').expect(200)).body.data.certificate;
    const key = run('genpkey', '-algorithm', 'EC', '-pkeyopt', 'ec_paramgen_curve:P-256');
    const foreign = run('req', '-x509', '-new', '-key', file(key), '-subj', '/CN=x', '-days', '9');
    const { list } = await mount('after');
    const seconds = Math.floor(Date.now() / 1000) - 3600;
    const bring = (certificates: object[]) => write('after/certs/import', { certificates });
    const items = [{ certificate: kept.certificate }, { certificate: gone.certificate, revocation_time: seconds }];
    expect((await bring(items).expect(400)).body.errors[0]).toMatch(/was not signed by an issuer of this mount/);
    await must('after/issuers/import/cert', { pem_bundle: text });
    for (const [item, why] of [
      [{ certificate: foreign }, /not signed by an issuer of this mount/],
      [{ certificate: root.certificate }, /is an issuer of this mount/],
      [{ certificate: 'x' }, /must have one certificate in PEM/],
      [{ certificate: kept.certificate, revocation_time: seconds + 9000 }, /in the future/],
      [{ certificate: kept.certificate, revocation_time: 'soon' }, /not a time in seconds/],
    ] as const) {
      expect((await bring([item]).expect(400)).body.errors[0]).toMatch(why);
    }
    // Another certificate with the same issuer and serial number.
    await secrets.root.write('sys/mounts/twice', { type: 'pki', config: { max_lease_ttl: '87600h' } }).expect(204);
    const own = await must('twice/root/generate/exported', { common_name: 'Twice', key_type: 'ec', ttl: '8760h' });
    const sign = () => {
      const args = ['-set_serial', '0x1234', '-CA', file(own.certificate), '-CAkey', file(own.private_key)];
      return run('x509', '-req', '-in', file(csr), '-days', '9', ...args);
    };
    const { csr } = newRequest({ subject: '/CN=a.test' });
    const twins = [sign(), sign()].map((certificate) => ({ certificate }));
    const { errors } = (await write('twice/certs/import', { certificates: twins }).expect(400)).body;
    expect(errors[0]).toMatch(/has the serial number of another certificate/);
    expect((await bring(items).expect(200)).body.data).toEqual({ imported: 2, existing: 0 });
    expect((await bring(items).expect(200)).body.data).toEqual({ imported: 0, existing: 2 });
    const { body } = await secrets.root.list('after/certs').expect(200);
    expect(body.data.keys).toEqual(expect.arrayContaining([kept.serial_number, gone.serial_number]));
    const shown = await secrets.anonymous.read(`after/cert/${gone.serial_number}`).expect(200);
    expect(shown.body.data).toMatchObject({ certificate: gone.certificate, revocation_time: seconds });
    expect((await secrets.root.list('after/certs/revoked').expect(200)).body.data.keys).toEqual([gone.serial_number]);
    expect((await list()).serials).toEqual([]);
    // The CRL of the mount with the issuer's key includes them immediately.
    expect((await write('before/certs/import', { certificates: items }).expect(200)).body.data.imported).toBe(1);
    const more = [{ certificate: later.certificate, revocation_time: seconds }];
    expect((await write('before/certs/import', { certificates: more }).expect(200)).body.data.imported).toBe(1);
    const crl = (await secrets.anonymous.read('before/crl/pem').expect(200)).text;
    for (const leaf of [gone, later]) {
      expect(run('crl', '-in', file(crl), '-noout', '-text').toLowerCase()).toContain(hex(leaf));
    }
  });

  it('with auto_rebuild CRLs are built on schedule, with delta CRLs between them (E6.5)', async () => {
    const { issue, list, root } = await mount('clocked');
    const tick = async (ms: number) => {
      time.offsetMs += ms;
      const { mounts, entries, committer, decisions, namespaces, leases } = secrets.service.kernel;
      const mounted = mounts.at(namespaces.root.uuid, 'clocked/')!;
      await backgroundCalls({ entries, committer, decisions }, clock, () => leases)(mounted, mounted.backend.tick!);
    };
    expect(await refused('clocked/config/crl', { enable_delta: true })).toMatch(/^Delta CRLs cannot be enabled/);
    const settings = {
      auto_rebuild: true,
      enable_delta: true,
      delta_rebuild_interval: '10m',
      expiry: '10h',
      auto_rebuild_grace_period: '1h',
    };
    expect(await must('clocked/config/crl', settings)).toMatchObject({ ...settings, disable: false });
    await must('clocked/crl/rotate');
    const base = await list();
    const nothing = await list('crl/delta');
    expect(nothing).toMatchObject({ number: base.number, serials: [] });
    const one = await issue({ ttl: '100h' });
    await must('clocked/revoke', { serial_number: one.serial_number });
    expect((await list()).number).toBe(base.number);
    await tick(9 * 60_000);
    expect((await list('crl/delta')).text).toBe(nothing.text);
    await tick(2 * 60_000);
    const delta = await list('crl/delta');
    expect(delta).toMatchObject({ number: base.number + 1, serials: [hex(one)] });
    expect(delta.text).toMatch(new RegExp(`Delta CRL Indicator: critical\\s+${base.number}\\n`));
    const crls = file(`${base.pem}\n${delta.pem}`);
    const check = () =>
      run(
        'verify',
        '-crl_check',
        '-use_deltas',
        '-no_check_time',
        '-CAfile',
        file(root.certificate),
        '-CRLfile',
        crls,
        file(one.certificate),
      );
    expect(check).toThrow(/certificate revoked/);
    const two = await issue({ ttl: '100h' });
    await must('clocked/revoke', { serial_number: two.serial_number });
    const { body } = await secrets.root.read('clocked/crl/rotate-delta').expect(200);
    expect(body.data).toEqual({ success: true });
    expect((await list('crl/delta')).serials.sort()).toEqual([hex(one), hex(two)].sort());
    await tick(9 * 3600_000);
    const next = await list();
    expect(next.number).toBe(base.number + 3);
    expect(next.serials.sort()).toEqual([hex(one), hex(two)].sort());
    expect(await list('crl/delta')).toMatchObject({ number: next.number, serials: [] });
    time.offsetMs = 0;
  });

  it('disabled CRLs are empty; enabled again, they have all revoked certificates', async () => {
    const { issue, list } = await mount('off');
    const leaf = await issue();
    await must('off/revoke', { serial_number: leaf.serial_number });
    await must('off/config/crl', { disable: true });
    expect(await list()).toMatchObject({ number: 3, serials: [] });
    await must('off/config/crl', { disable: false });
    expect(await list()).toMatchObject({ number: 4, serials: [hex(leaf)] });
    for (const [body, text] of [
      [{ expiry: 'soon' }, /^given expiry could not be decoded/],
      [{ auto_rebuild: true, auto_rebuild_grace_period: '100h' }, /must be strictly shorter than CRL expiry/],
      [{ ocsp_expiry: '-1h' }, /^ocsp_expiry must be greater than or equal to 0/],
    ] as const) {
      expect(await refused('off/config/crl', body)).toMatch(text);
    }
    expect((await secrets.root.read('off/config/crl').expect(200)).body.data).toMatchObject({
      expiry: '72h',
      auto_rebuild: false,
    });
  });

  it('an expired certificate is revoked only if the settings allow it (E6.7)', async () => {
    const { issue, list } = await mount('expired');
    const leaf = await issue({ ttl: '1s' });
    time.offsetMs = 60_000;
    const { body } = await write('expired/revoke', { serial_number: leaf.serial_number }).expect(200);
    expect(body.data).toBeNull();
    expect(body.warnings[0]).toMatch(/already expired; refusing to add to CRL/);
    expect((await list()).serials).toEqual([]);
    await must('expired/config/crl', { allow_expired_cert_revocation: true });
    await must('expired/revoke', { serial_number: leaf.serial_number });
    expect((await list()).serials).toEqual([hex(leaf)]);
    time.offsetMs = 0;
  });

  describe('the OCSP responder', () => {
    let mounted: Mounted;
    beforeAll(async () => {
      mounted = await mount('ocsp');
    });
    const asked = (certificate: string, issuer: string, ...more: string[]): Buffer => {
      const at = file('');
      run('ocsp', '-issuer', file(issuer), '-cert', file(certificate), '-reqout', at, ...more);
      return readFileSync(at);
    };
    const post = (der: Buffer, at = 'ocsp') =>
      request(secrets.server)
        .post(`/v1/${at}/ocsp`)
        .set('Content-Type', 'application/ocsp-request')
        .responseType('blob')
        .send(der)
        .expect(200)
        .expect('Content-Type', 'application/ocsp-response');
    const get = (base64: string) =>
      request(secrets.server).get(`/v1/ocsp/ocsp/${base64}`).responseType('blob').redirects(0);
    /** The OpenSSL output for a verified response. */
    const verified = (answer: Buffer, leaf: string, ...more: string[]) =>
      run(
        'ocsp',
        '-issuer',
        file(mounted.root.certificate),
        '-cert',
        file(leaf),
        '-respin',
        file(answer),
        '-CAfile',
        file(mounted.root.certificate),
        ...more,
      );

    it.each([[[]], [['-sha256']], [['-no_nonce']]])(
      'answers good, and after a revocation revoked, to a request with %j (E6.6)',
      async (options) => {
        const leaf = await mounted.issue();
        const issuer = file(mounted.root.certificate);
        const ask = async () => {
          const at = file('');
          const hash = options.filter((one) => one === '-sha256');
          const nonce = options.filter((one) => one === '-no_nonce');
          run('ocsp', ...hash, '-issuer', issuer, '-cert', file(leaf.certificate), '-reqout', at, ...nonce);
          const { body } = await post(readFileSync(at));
          // OpenSSL compares the nonce with that of the request.
          return run('ocsp', '-issuer', issuer, '-reqin', at, '-respin', file(body), '-CAfile', issuer, '-resp_text');
        };
        const good = await ask();
        expect(good).toMatch(/Cert Status: good\n/);
        expect(good.includes('OCSP Nonce')).toBe(!options.some((one) => one === '-no_nonce'));
        // A response with a nonce fits one request only.
        for (let n = 0; n < 2; n++) expect(await ask()).toMatch(/Cert Status: good\n/);
        await must('ocsp/revoke', { serial_number: leaf.serial_number });
        expect(await ask()).toMatch(/Cert Status: revoked\n/);
      },
    );

    it('reports that a revoked root is revoked', async () => {
      const second = { common_name: 'Second', key_type: 'ec' };
      const { certificate, issuer_id } = await must('ocsp/root/generate/internal', second);
      const ask = async () => {
        const { body } = await post(asked(certificate, certificate, '-no_nonce'));
        return run('ocsp', '-respin', file(body), '-noverify', '-resp_text');
      };
      expect(await ask()).toMatch(/Cert Status: good\n/);
      await must(`ocsp/issuer/${issuer_id}/revoke`);
      expect(await ask()).toMatch(/Cert Status: revoked\n/);
    });

    it('accepts no compressed request, like every other endpoint', () =>
      request(secrets.server)
        .post('/v1/ocsp/ocsp')
        .set({ 'Content-Type': 'application/ocsp-request', 'Content-Encoding': 'gzip' })
        .send(Buffer.from('00', 'hex'))
        .expect(415));

    it('answers GET requests, and never answers good again for a revoked certificate (E6.6)', async () => {
      const leaf = await mounted.issue();
      const der = asked(leaf.certificate, mounted.root.certificate, '-no_nonce');
      const ask = async () => (await get(encodeURIComponent(der.toString('base64')))).body as Buffer;
      expect(verified(await ask(), leaf.certificate)).toMatch(/: good\n/);
      // The same answer, not signed again.
      expect(await ask()).toEqual(await ask());
      await must('ocsp/revoke', { serial_number: leaf.serial_number });
      for (let n = 0; n < 3; n++) expect(verified(await ask(), leaf.certificate)).toMatch(/: revoked\n/);
    });

    it('answers in the form of the question, also after others asked in another form', async () => {
      const leaf = await mounted.issue();
      const usual = asked(leaf.certificate, mounted.root.certificate, '-no_nonce').toString('hex');
      // SHA-1 with an empty text as parameter, not NULL.
      const odd = usual.replace('2b0e03021a0500', '2b0e03021a0c00');
      for (const hex of [odd, usual, odd]) {
        const { body } = await post(Buffer.from(hex, 'hex'));
        expect(body.toString('hex')).toContain(/30..0605(2b0e03021a0.00)/.exec(hex)![1]);
      }
    });

    it.each<[string, (base64: string) => string]>([
      ['without escapes', (base64) => base64],
      ['escaped', encodeURIComponent],
      ['with all slashes escaped', (base64) => base64.replaceAll('/', '%2f')],
      ['with one slash of two escaped', (base64) => base64.replaceAll('//', '/%2F')],
      ['without padding', (base64) => base64.replaceAll('=', '')],
      ['as base64url', (base64) => base64.replaceAll('+', '-').replaceAll('/', '_')],
    ])('answers a request in the address %s, however many slashes follow each other', async (_, write) => {
      const at = file('');
      // Its serial number has slashes and pluses in base64.
      const asked = ['-issuer', file(mounted.root.certificate), '-serial', '0x7ffffffffffffffffbefbefbefbefb'];
      run('ocsp', ...asked, '-reqout', at, '-no_nonce');
      const base64 = readFileSync(at).toString('base64');
      expect(base64).toMatch(/\/\/\/.*\+|\+.*\/\/\//);
      const { body, headers } = await get(write(base64)).expect(200);
      expect(headers['content-type']).toBe('application/ocsp-response');
      const read = run('ocsp', ...asked, '-respin', file(body), '-CAfile', file(mounted.root.certificate));
      expect(read).toMatch(/: unknown\n/);
    });

    it('answers at no other path if a request has two slashes in a row', async () => {
      for (const at of [
        'ocsp//ocsp/MA==',
        'ocsp/ocsp/../roles//x',
        'ocsp/ocsp/M//.',
        'ocsp/roles//x',
        'cubbyhole/ocsp//MA==',
      ]) {
        await request(secrets.server).get(`/v1/${at}`).redirects(0).expect(307);
      }
    });

    it('answers unknown for serial numbers that were never issued, and nothing for other CAs (E6.6)', async () => {
      const { body } = await post(
        (() => {
          const at = file('');
          run('ocsp', '-issuer', file(mounted.root.certificate), '-serial', '0x1234', '-reqout', at, '-no_nonce');
          return readFileSync(at);
        })(),
      );
      expect(
        run(
          'ocsp',
          '-issuer',
          file(mounted.root.certificate),
          '-serial',
          '0x1234',
          '-respin',
          file(body),
          '-CAfile',
          file(mounted.root.certificate),
        ),
      ).toMatch(/0x1234: unknown\n/);
      const other = await mount('other-ocsp');
      const theirs = await other.issue();
      const unauthorized = Buffer.from('30030a0106', 'hex');
      const foreign = asked(theirs.certificate, other.root.certificate);
      expect((await post(foreign)).body).toEqual(unauthorized);
      expect((await post(Buffer.from('junk'))).body).toEqual(Buffer.from('30030a0101', 'hex'));
      await must('other-ocsp/config/crl', { ocsp_disable: true });
      expect((await post(foreign, 'other-ocsp')).body).toEqual(unauthorized);
      await must('other-ocsp/config/crl', { ocsp_disable: false });
      await secrets.root.patch('other-ocsp/issuer/default', { usage: 'crl-signing' }).expect(200);
      expect((await post(foreign, 'other-ocsp')).body).toEqual(unauthorized);
    });
  });
});
