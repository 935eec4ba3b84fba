import { spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { readSshCertificate } from '../../secrets/test/ssh-certificate';
import { startSecrets } from '../../secrets/test/start-secrets';
import { keystead } from './run-keystead';

const canMake = spawnSync('ssh-keygen', ['-?']).error === undefined;
const here = canMake ? it : it.skip;

describe('keystead ssh', () => {
  const secrets = startSecrets();
  const folder = mkdtempSync(join(tmpdir(), 'keystead-ssh-test-'));
  const file = (name: string) => join(folder, name);
  afterAll(() => rmSync(folder, { recursive: true }));
  beforeAll(async () => {
    await secrets.root.write('sys/mounts/team', { type: 'ssh' }).expect(204);
    await secrets.root.write('team/config/ca', { key_type: 'ed25519' }).expect(200);
    const role = {
      key_type: 'ca',
      allow_user_certificates: true,
      allowed_users: 'jane,deploy',
      default_user: 'deploy',
    };
    await secrets.root.write('team/roles/deploy', role).expect(204);
    // Replaces ssh: records its arguments.
    const lines = [
      '#!/bin/sh',
      `printf '%s\\n' "$@" > ${file('args')}`,
      `for one in "$@"; do case $one in CertificateFile=*) cp "\${one#*=}" ${file('certificate')};; esac; done`,
      `cp "$2" ${file('used-key')}`,
      'exit 7',
    ];
    writeFileSync(file('ssh'), lines.join('\n'), { mode: 0o755 });
  });
  const run = (...args: string[]) =>
    keystead(['ssh', ...args], {
      HOME: folder,
      TMPDIR: folder,
      PATH: `${folder}:${process.env.PATH}`,
      SERVICE_ADDR: `http://127.0.0.1:${(secrets.server.address() as AddressInfo).port}`,
      SERVICE_TOKEN: secrets.rootToken,
    });
  const certificate = () => readSshCertificate(readFileSync(file('certificate'), 'utf8'));

  here('signs a temporary key, runs ssh with it and its certificate, and returns the exit code', async () => {
    const before = readdirSync(tmpdir()).filter((name) => name.startsWith('keystead-ssh-'));
    const { code } = await run(
      '-role=deploy',
      '-mount=team',
      '-ttl=5m',
      '-option=LogLevel=ERROR',
      '-port=2222',
      'jane@host',
      'uptime',
      'now',
    );
    expect(code).toBe(7);
    expect(certificate()).toMatchObject({ principals: ['jane'], kind: 'user' });
    const args = readFileSync(file('args'), 'utf8').trim().split('\n');
    expect(args.slice(-8)).toEqual(['-o', 'LogLevel=ERROR', '-p', '2222', '--', 'jane@host', 'uptime', 'now']);
    expect(readFileSync(file('used-key'), 'utf8')).toContain('OPENSSH PRIVATE KEY');
    expect(readdirSync(tmpdir()).filter((name) => name.startsWith('keystead-ssh-'))).toEqual(before);
  });

  here('uses the default user of the role, and signs an existing key', async () => {
    spawnSync('ssh-keygen', ['-q', '-t', 'ed25519', '-N', '', '-f', file('own')]);
    await run('-role=deploy', '-mount=team', `-key=${file('own')}`, 'host');
    expect(certificate().principals).toEqual(['deploy']);
    expect(readFileSync(file('used-key'), 'utf8')).toBe(readFileSync(file('own'), 'utf8'));
  });

  here('reports why the service refuses, and which file cannot be read', async () => {
    const refused = await run('-role=deploy', '-mount=team', 'root@host');
    expect([refused.code, refused.said]).toEqual([2, expect.stringContaining('root is not a valid value')]);
    const absent = await run('-role=deploy', '-mount=team', `-key=${file('absent')}`, 'host');
    expect([absent.code, absent.said]).toEqual([1, expect.stringContaining('absent.pub cannot be read')]);
  });
});
