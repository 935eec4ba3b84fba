import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { afterAll, describe, expect, it } from '@jest/globals';
import { noPython } from '@keystead/testing';
import { startSecrets } from '../start-secrets';

const run = promisify(execFile);
const withPython = noPython() ? it.skip : it;
const box = mkdtempSync(path.join(tmpdir(), 'clients-'));
afterAll(() => rmSync(box, { recursive: true, force: true }));

// Existing clients from their package registries, unchanged, against the service.
describe('existing clients', () => {
  const secrets = startSecrets();
  const address = () => `http://127.0.0.1:${(secrets.server.address() as AddressInfo).port}`;

  withPython(
    'hvac runs a whole session',
    async () => {
      const home = path.join(box, 'python');
      await run('python3', ['-m', 'venv', home]);
      const python = path.join(home, 'bin', 'python');
      await run(python, ['-m', 'pip', 'install', '--quiet', '--disable-pip-version-check', 'hvac==2.4.0']);
      const { stdout } = await run(python, [path.join(__dirname, 'hvac-session.py'), address(), secrets.rootToken]);
      expect(stdout).toContain('hvac: done');
    },
    900_000,
  );

  withPython(
    'hvac and pyotp manage identities and log in with second factors',
    async () => {
      const home = path.join(box, 'python-identity');
      await run('python3', ['-m', 'venv', home]);
      const python = path.join(home, 'bin', 'python');
      await run(python, [
        '-m',
        'pip',
        'install',
        '--quiet',
        '--disable-pip-version-check',
        'hvac==2.4.0',
        'pyotp==2.9.0',
        'PyJWT[crypto]==2.10.1',
      ]);
      const session = path.join(__dirname, 'hvac-identity-session.py');
      const { stdout } = await run(python, [session, address(), secrets.rootToken]);
      expect(stdout).toContain('hvac identity: done');
    },
    900_000,
  );

  withPython(
    'hvac logs in with tokens that PyJWT signs',
    async () => {
      const home = path.join(box, 'python-jwt');
      await run('python3', ['-m', 'venv', home]);
      const python = path.join(home, 'bin', 'python');
      const install = ['-m', 'pip', 'install', '--quiet', '--disable-pip-version-check'];
      await run(python, [...install, 'hvac==2.4.0', 'pyjwt[crypto]==2.10.1']);
      const { stdout } = await run(python, [path.join(__dirname, 'hvac-jwt-session.py'), address(), secrets.rootToken]);
      expect(stdout).toContain('hvac jwt: done');
    },
    900_000,
  );

  it('node-vault runs a whole session', async () => {
    const home = path.join(box, 'node');
    await run('npm', ['install', '--silent', '--no-audit', '--no-fund', '--prefix', home, 'node-vault@0.12.0']);
    const session = path.join(__dirname, 'node-vault-session.cjs');
    const modules = path.join(home, 'node_modules');
    const { stdout } = await run(process.execPath, [session, modules, address(), secrets.rootToken]);
    expect(stdout).toContain('node-vault: done');
  }, 600_000);
});
