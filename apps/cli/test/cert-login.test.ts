import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { testCertificate } from '@keystead/testing';
import { root } from '../../secrets/test/stand-ins/authority';
import { startSecrets } from '../../secrets/test/start-secrets';
import { TlsListener } from '../../secrets/test/tls-listener';
import { keystead } from './run-keystead';

describe('login -method=cert', () => {
  const secrets = startSecrets();
  const tls = new TlsListener();
  const home = mkdtempSync(join(tmpdir(), 'keystead-cert-'));
  const authority = root('Acme Root');
  const between = authority.issue('Acme Clients', { authority: true });
  const web = between.issue('web');
  const file = (name: string, text: string) => {
    writeFileSync(join(home, name), text);
    return join(home, name);
  };
  const env = () => ({
    HOME: home,
    SERVICE_ADDR: `https://127.0.0.1:${tls.port}`,
    SERVICE_CACERT: join(home, 'ca.pem'),
  });
  beforeAll(async () => {
    await tls.start(secrets.service.app);
    file('ca.pem', testCertificate.cert);
    await secrets.root.write('sys/auth/cert', { type: 'cert' }).expect(204);
    await secrets.root.write('auth/cert/certs/web', { certificate: authority.pem }).expect(204);
  });
  afterAll(async () => {
    await tls.stop();
    rmSync(home, { recursive: true, force: true });
  });

  it('presents the certificate of a file, with its intermediates', async () => {
    const shown = [
      `-client-cert=${file('web.pem', web.pem + between.pem)}`,
      `-client-key=${file('web.key', web.keyPem)}`,
    ];
    const { code, said } = await keystead(['login', '-method=cert', ...shown, 'name=web'], env());
    expect({ code, said }).toMatchObject({ code: 0, said: expect.stringContaining('token stored in') });
    const kept = readFileSync(join(home, '.keystead/token'), 'utf8').trim();
    const { body } = await secrets.as(kept).read('auth/token/lookup-self').expect(200);
    expect(body.data).toMatchObject({ display_name: 'web', path: 'auth/cert/login' });
    expect(await keystead(['token', 'renew', ...shown], env())).toMatchObject({ code: 0 });
    const bare = await keystead(['token', 'renew'], env());
    expect(bare).toMatchObject({ code: 2, said: expect.stringContaining('no client certificate found') });
    const both = file('both.pem', web.pem + between.pem + web.keyPem);
    const printed = await keystead(['login', '-method=cert', '--print-only', 'web'], {
      ...env(),
      VAULT_CLIENT_CERT: both,
    });
    expect(printed).toMatchObject({ code: 0, printed: expect.stringMatching(/^[bs]\./) });
  });

  it('reports missing arguments, and the reason of a refusal', async () => {
    const without = await keystead(['login', '-method=cert'], env());
    expect(without.said).toContain('login --method cert needs --client-cert');
    const stranger = root('Other Root').issue('web');
    const shown = ['-client-cert', file('other.pem', stranger.pem), '-client-key', file('other.key', stranger.keyPem)];
    const refused = await keystead(['login', '-method=cert', ...shown], env());
    expect(refused).toMatchObject({ code: 2, said: expect.stringContaining('invalid certificate') });
  });
});
