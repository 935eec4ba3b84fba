import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { noPython, type Python, pythonWith, testCertificate } from '@keystead/testing';
import { root } from '../stand-ins/authority';
import { startSecrets } from '../start-secrets';
import { TlsListener } from '../tls-listener';

const withPython = noPython() ? describe.skip : describe;

withPython('the Python client hvac, with a certificate', () => {
  const secrets = startSecrets();
  const tls = new TlsListener();
  let python: Python;
  beforeAll(async () => {
    python = await pythonWith(['hvac==2.4.0']);
    await tls.start(secrets.service.app);
  }, 900_000);
  afterAll(async () => {
    await tls.stop();
    python?.remove();
  });

  it('administers roles, logs in and renews', async () => {
    const authority = root('Acme Root');
    const own = authority.issue('hvac');
    const texts = { service: testCertificate.cert, authority: authority.pem, cert: own.pem, key: own.keyPem };
    const files = Object.fromEntries(
      Object.entries(texts).map(([name, text]) => {
        const file = path.join(python.folder, `${name}.pem`);
        writeFileSync(file, text);
        return [name, file];
      }),
    );
    const given = { address: `https://127.0.0.1:${tls.port}`, token: secrets.rootToken, files };
    const session = path.join(__dirname, 'hvac-cert-session.py');
    const { stdout } = await python.run('python', [session, JSON.stringify(given)]);
    expect(stdout).toContain('hvac cert: done');
  }, 300_000);
});
