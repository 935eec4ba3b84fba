import { describe, expect, it } from '@jest/globals';
import { manualClock } from '@keystead/testing';
import request from 'supertest';
import { authenticator, scan } from '../../../test/authenticator';
import { otherNode } from '../../../test/second-node';
import { startSecrets } from '../../../test/start-secrets';

const generated = { generate: true, issuer: 'Acme & Söhne', account_name: 'jane:1@example.com' };
const used = 'code already used; wait until the next time period';
let made = 0;

describe('the engine totp', () => {
  const clock = manualClock(Date.UTC(2027, 5, 1));
  const secrets = startSecrets({ clock });
  const mount = async () => {
    const at = `totp${++made}`;
    await secrets.root.write(`sys/mounts/${at}`, { type: 'totp' }).expect(204);
    return {
      key: (name: string, body: object) => secrets.root.write(`${at}/keys/${name}`, body),
      read: async (path: string) => (await secrets.root.read(`${at}/${path}`).expect(200)).body.data,
      send: (name: string, code: unknown) => secrets.root.write(`${at}/code/${name}`, { code }),
      judge: async (name: string, code: string) =>
        (await secrets.root.write(`${at}/code/${name}`, { code }).expect(200)).body.data.valid,
      at,
    };
  };

  it.each(['SHA1', 'SHA256', 'SHA512'].flatMap((algorithm) => [6, 8].map((digits) => ({ algorithm, digits }))))(
    'creates a key for an app by URL and QR code, and checks its codes: %j (E10.1, E10.2)',
    async (scheme) => {
      const { key, read, judge } = await mount();
      const { url, barcode } = (await key('jane', { ...generated, ...scheme, period: 60 }).expect(200)).body.data;
      expect(scan(barcode)).toEqual({ text: url, width: 200, height: 200 });
      expect(new URL(url).searchParams.get('issuer')).toBe('Acme & Söhne');
      const app = authenticator(url);
      expect(app.scheme).toMatchObject({ ...scheme, periodSeconds: 60 });
      expect(app.scheme.key).toHaveLength(20);
      expect((await read('code/jane')).code).toBe(app.code(clock.now()));
      for (const [offset, valid] of [
        [-2, false],
        [2, false],
        [-1, true],
        [0, true],
        [1, true],
      ] as const) {
        expect([offset, await judge('jane', app.code(clock.now(), offset))]).toEqual([offset, valid]);
      }
      const { issuer, account_name } = generated;
      expect(await read('keys/jane')).toEqual({ ...scheme, issuer, account_name, period: 60 });
    },
  );

  it('generates the codes of a key given as base32 or as a URL (E10.1)', async () => {
    const { key, read } = await mount();
    await key('a', { key: 'jbswy3dpehpk3pxp', digits: 8, period: '2m' }).expect(204);
    const url = 'otpauth://totp/Acme%20Co:jane?secret=JBSWY3DPEHPK3PXP&digits=8&period=120';
    await key('b@c', { url, period: 7 }).expect(204);
    expect(await read('keys/b@c')).toMatchObject({ issuer: 'Acme Co', account_name: 'jane', period: 120, digits: 8 });
    const { code, expire_time, generated: at, period } = await read('code/a');
    expect((await read('code/b@c')).code).toBe(code);
    expect({ at, period, rest: expire_time % 120, left: expire_time > at && expire_time <= at + 120 }).toEqual({
      at: Math.floor(clock.now() / 1000),
      period: '2m0s',
      rest: 0,
      left: true,
    });
  });

  it('shows a generated key at most once (E10.3)', async () => {
    const { key, read } = await mount();
    await key('hidden', { ...generated, exported: false }).expect(204);
    const { url, ...more } = (await key('plain', { ...generated, qr_size: 0 }).expect(200)).body.data;
    expect(more).toEqual({});
    const secret = new URL(url).searchParams.get('secret')!;
    expect(JSON.stringify(await read('keys/plain'))).not.toContain(secret);
  });

  it('accepts a code once, also when the key is written again or the clock is set back (E10.4)', async () => {
    const { key, send, judge } = await mount();
    const given = { key: 'JBSWY3DPEHPK3PXP', period: 30 };
    await key('k', given).expect(204);
    const app = authenticator('otpauth://totp/k?secret=JBSWY3DPEHPK3PXP&algorithm=SHA1&digits=6&period=30');
    const code = app.code(clock.now());
    expect(await judge('k', code)).toBe(true);
    await key('k', given).expect(204);
    expect((await send('k', code).expect(400)).body.errors).toEqual([used]);
    clock.advance(180_000);
    expect(await judge('k', app.code(clock.now()))).toBe(true);
    clock.advance(-180_000);
    expect((await send('k', code).expect(400)).body.errors).toEqual([used]);
  });

  it('refuses all codes after five wrong ones in a row, until it is unlocked (E10.5)', async () => {
    const { key, judge, at } = await mount();
    const { url } = (await key('K', generated).expect(200)).body.data;
    const app = authenticator(url);
    for (const offset of [10, 11, 12, 13, 14]) expect(await judge('K', app.code(clock.now(), offset))).toBe(false);
    expect(await judge('K', app.code(clock.now()))).toBe(false);
    const mounts = (await secrets.root.read('sys/mounts').expect(200)).body.data;
    await secrets.root.write(`sys/locked-users/${mounts[`${at}/`].accessor}/unlock/K`).expect(204);
    expect(await judge('K', app.code(clock.now()))).toBe(true);
  });

  it.each([
    [{ generate: true, issuer: 'a' }, 'the account_name value is required for generated keys'],
    [{ generate: true, account_name: 'a' }, 'the issuer value is required for generated keys'],
    [{ ...generated, key: 'AA' }, 'a key should not be passed if generate is true'],
    [{ ...generated, url: 'x' }, 'a url should not be passed if generate is true'],
    [{ ...generated, issuer: 'a\nb' }, 'the issuer value cannot contain control characters'],
    [{ ...generated, key_size: 1025 }, 'the key_size value must not be greater than 1024'],
    [
      { ...generated, issuer: 'x'.repeat(2000) },
      'the url is too long for a QR code: choose a smaller key_size or shorter names, or set qr_size to 0',
    ],
    [{ ...generated, qr_size: 2000 }, 'the qr_size value must be 0 or between 64 and 1024'],
    [{}, 'the key value is required'],
    [{ key: 'JBSWY3DP EHPK3PXP' }, 'invalid key value: illegal base32 data at input byte 8'],
    [{ url: 'otpauth://hotp/a?secret=JBSWY3DPEHPK3PXP' }, 'the url value must begin with otpauth://totp/'],
    [{ url: 'otpauth://totp/%ff?secret=JBSWY3DPEHPK3PXP' }, 'an error occurred while parsing url string'],
    [
      { url: 'otpauth://totp/a?secret=JBSWY3DPEHPK3PXP&period=-1' },
      'an error occurred while parsing period value in url',
    ],
  ])('refuses %j and stores nothing (E10.6)', async (body, text) => {
    const { key, at } = await mount();
    expect((await key('k', body).expect(400)).body.errors).toEqual([text]);
    await secrets.root.read(`${at}/keys/k`).expect(404);
    await secrets.root.list(`${at}/keys`).expect(404);
  });

  it('refuses strings that cannot be codes, and codes of absent keys (E10.6)', async () => {
    const { key, send, at } = await mount();
    await key('k', { key: 'JBSWY3DPEHPK3PXP' }).expect(204);
    const length = 'invalid number of digits for the code';
    for (const [code, text] of [
      ['', 'the code value is required'],
      [null, 'the code value is required'],
      ['12345', length],
      [' 12345', length],
      ['1234567', length],
      ['１２３４５６', length],
    ]) {
      expect((await send('k', code).expect(400)).body.errors).toEqual([text]);
    }
    expect((await send('absent', '123456').expect(400)).body.errors).toEqual(['unknown key: absent']);
    expect((await secrets.root.read(`${at}/code/absent`).expect(400)).body.errors).toEqual(['unknown key: absent']);
  });

  it('forgets a key and its codes', async () => {
    const { key, read, judge, at } = await mount();
    await key('k', { key: 'JBSWY3DPEHPK3PXP' }).expect(204);
    expect(await judge('k', (await read('code/k')).code)).toBe(true);
    await secrets.root.delete(`${at}/keys/k`).expect(204);
    await secrets.root.read(`${at}/keys/k`).expect(404);
    await key('k', { key: 'JBSWY3DPEHPK3PXP' }).expect(204);
    expect(await judge('k', (await read('code/k')).code)).toBe(true);
  });
});

describe('a code on two nodes at once', () => {
  const secrets = startSecrets();
  const node = otherNode(secrets);

  it('is accepted once, on one of the nodes (E10.4)', async () => {
    await secrets.root.write('sys/mounts/totp', { type: 'totp' }).expect(204);
    await secrets.root.write('totp/keys/k', { key: 'JBSWY3DPEHPK3PXP', period: 3600 }).expect(204);
    const { code } = (await secrets.root.read('totp/code/k').expect(200)).body.data;
    const answers = await Promise.all(
      Array.from({ length: 20 }, (_, i) =>
        request(i % 2 === 0 ? secrets.server : node.server)
          .post('/v1/totp/code/k')
          .set('X-Service-Token', secrets.rootToken)
          .send({ code }),
      ),
    );
    const told = answers.map(({ body }) => body.data?.valid ?? body.errors[0]);
    expect(told.filter((text) => text === true)).toHaveLength(1);
    expect(new Set(told)).toEqual(new Set([true, used]));
  });
});
