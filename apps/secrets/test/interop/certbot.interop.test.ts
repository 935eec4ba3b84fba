import { chmodSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { noPython, type Python, pythonWith, urlOf } from '@keystead/testing';
import { startAcme } from '../acme-world';

const withPython = noPython() ? describe.skip : describe;

withPython('the ACME client certbot', () => {
  const { secrets, dns, openssl, ports, base } = startAcme({ withHost: false });
  const names = createServer((req, res) => {
    const [, name = '', text = ''] = req.url!.split('/');
    const at = `_acme-challenge.${name}`;
    dns.texts.set(at, [...(dns.texts.get(at) ?? []), text]);
    res.end();
  });
  let python: Python;
  let hook = '';
  beforeAll(async () => {
    python = await pythonWith(['certbot==5.8.0']);
    await new Promise<void>((resolve) => names.listen(0, '127.0.0.1', resolve));
    hook = path.join(python.folder, 'hook');
    writeFileSync(hook, `#!/bin/sh\ncurl -sf "${urlOf(names)}/$CERTBOT_DOMAIN/$CERTBOT_VALIDATION"\n`);
    chmodSync(hook, 0o755);
  }, 900_000);
  afterAll(() => {
    python?.remove();
    return new Promise((resolve) => names.close(resolve));
  });
  const certbot = (folder: string, directory: string, ...args: readonly string[]) => {
    const at = path.join(python.folder, folder);
    const folders = ['--config-dir', at, '--work-dir', at, '--logs-dir', at];
    const server = ['--server', `${base()}/${directory}/directory`, '--non-interactive'];
    return python.run('certbot', [...args, ...folders, ...server]);
  };
  const registered = ['--agree-tos', '--register-unsafely-without-email'];
  const byHttp = () => ['--standalone', '--http-01-port', String(ports.httpPort), '--http-01-address', '127.0.0.1'];
  const chainOf = (folder: string, name: string) =>
    readFileSync(path.join(python.folder, folder, 'live', name, 'fullchain.pem'), 'utf8');
  const verify = async (pem: string) => {
    const { body } = await secrets.anonymous.read('pki/cert/ca').expect(200);
    expect(openssl.run('verify', '-CAfile', openssl.file(body.data.certificate), openssl.file(pem))).toMatch(/OK/);
  };

  it('gets, renews and revokes a certificate over http-01, and deactivates its account', async () => {
    await certbot('a', 'acme', 'certonly', ...byHttp(), ...registered, '-d', 'a.example.com,b.example.com');
    const first = chainOf('a', 'a.example.com');
    await verify(first);
    await certbot('a', 'acme', 'renew', '--force-renewal', '--no-random-sleep-on-renew');
    const second = chainOf('a', 'a.example.com');
    expect(second).not.toBe(first);
    await verify(second);
    await certbot('a', 'acme', 'revoke', '--cert-name', 'a.example.com', '--no-delete-after-revoke');
    expect((await secrets.root.list('pki/certs/revoked').expect(200)).body.data.keys).toHaveLength(1);
    const { stdout } = await certbot('a', 'acme', 'unregister');
    expect(stdout).toContain('deactivated');
  }, 180_000);

  it('gets a wildcard certificate over dns-01 in the directory of a role, with an account bound by a key', async () => {
    await secrets.root.write('pki/config/acme', { eab_policy: 'always-required' }).expect(200);
    const { data: eab } = (await secrets.root.write('pki/roles/web/acme/new-eab').expect(200)).body;
    const byName = ['--manual', '--preferred-challenges', 'dns', '--manual-auth-hook', hook];
    const bound = ['--eab-kid', eab.id, '--eab-hmac-key', eab.key];
    const wanted = ['-d', '*.example.com', '-d', 'c.example.com'];
    await certbot('b', 'roles/web/acme', 'certonly', ...byName, ...registered, ...bound, ...wanted);
    const pem = chainOf('b', 'example.com');
    await verify(pem);
    expect(openssl.certificate(pem)).toContain('DNS:*.example.com, DNS:c.example.com');
    const refused = certbot('c', 'roles/web/acme', 'certonly', ...byName, ...registered, ...wanted);
    await expect(refused).rejects.toThrow(/external account/i);
  }, 180_000);
});
