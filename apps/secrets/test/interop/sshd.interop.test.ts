import { type ChildProcess, execFile, execFileSync, spawn, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import { tmpdir, userInfo } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { freePort } from '@keystead/testing';
import { startSecrets } from '../start-secrets';

// The ssh engine with the programs of OpenSSH, if a server is installed: certificates of users and hosts, and one-time
// passwords by PAM, for which the test must run as root.

const server = '/usr/sbin/sshd';
const installed = existsSync(server) && spawnSync('ssh', ['-V']).status === 0;
const connected = installed ? it : it.skip;
const user = userInfo().username;
const canPam =
  installed && process.getuid?.() === 0 && existsSync('/etc/pam.d') && spawnSync('sshpass', ['-V']).status === 0;
const pam = 'keystead-test-sshd';

describe('OpenSSH', () => {
  const secrets = startSecrets();
  const folder = mkdtempSync(path.join(tmpdir(), 'keystead-sshd-'));
  const servers: ChildProcess[] = [];
  let port = 0;
  const file = (name: string, content?: string): string => {
    const at = path.join(folder, name);
    if (content !== undefined) writeFileSync(at, content, { mode: 0o600 });
    return at;
  };
  const must = async (at: string, body: object = {}) => (await secrets.root.write(at, body).expect(200)).body.data;

  /** Starts a server with these lines of configuration; returns its port. */
  async function startServer(lines: readonly string[], program = server): Promise<number> {
    const at = await freePort();
    const config = file(
      `sshd-${at}`,
      [`Port ${at}`, 'ListenAddress 127.0.0.1', 'StrictModes no', 'PidFile none', ...lines, ''].join('\n'),
    );
    const child = spawn(program, ['-D', '-e', '-f', config], { stdio: ['ignore', 'ignore', 'pipe'] });
    servers.push(child);
    await new Promise<void>((resolve, reject) => {
      let said = '';
      child.stderr!.on('data', (text) => {
        said += text;
        if (/Server listening/.test(said)) resolve();
      });
      child.once('exit', () => reject(new Error(said)));
    });
    return at;
  }

  const options = (more: readonly string[] = []) =>
    [
      'BatchMode=yes',
      'IdentitiesOnly=yes',
      'StrictHostKeyChecking=yes',
      `UserKnownHostsFile=${file('known')}`,
      'GlobalKnownHostsFile=/dev/null',
      'ConnectTimeout=10',
      ...more,
    ].flatMap((one) => ['-o', one]);
  /** Runs a program and returns its output; undefined if it fails. The service in this process keeps running. */
  const said = (program: string, args: readonly string[]) =>
    new Promise<string | undefined>((resolve) => {
      execFile(program, args, { encoding: 'utf8' }, (error, text) => resolve(error ? undefined : text.trim()));
    });
  /** Logs in with a certificate and returns the command's output; undefined if the server refuses. */
  const login = (certificate: string, command = 'echo in'): Promise<string | undefined> => {
    const args = ['-F', 'none', ...options([`CertificateFile=${file('cert.pub', certificate)}`]), '-i', file('key')];
    return said('ssh', [...args, '-p', `${port}`, `${user}@127.0.0.1`, command]);
  };
  const sign = async (role: string, more: object = {}): Promise<string> => {
    const public_key = readFileSync(file('key.pub'), 'utf8');
    return (await must(`ssh/sign/${role}`, { public_key, valid_principals: user, ...more })).signed_key;
  };

  beforeAll(async () => {
    if (!installed) return;
    if (process.getuid?.() === 0) mkdirSync('/run/sshd', { recursive: true });
    await secrets.root.write('sys/mounts/ssh', { type: 'ssh' }).expect(204);
    await must('ssh/config/ca', { key_type: 'ed25519' });
    const shared = { key_type: 'ca', allowed_extensions: '*', ttl: '10m' };
    await secrets.root
      .write('ssh/roles/user', { ...shared, allow_user_certificates: true, allowed_users: '*' })
      .expect(204);
    await secrets.root
      .write('ssh/roles/host', {
        ...shared,
        allow_host_certificates: true,
        allowed_domains: '127.0.0.1',
        allow_bare_domains: true,
      })
      .expect(204);
    for (const name of ['key', 'host']) {
      execFileSync('ssh-keygen', ['-q', '-t', 'ed25519', '-N', '', '-f', file(name)]);
    }
    const asked = {
      cert_type: 'host',
      valid_principals: '127.0.0.1',
      public_key: readFileSync(file('host.pub'), 'utf8'),
    };
    file('host-cert.pub', (await must('ssh/sign/host', asked)).signed_key);
    const authority = (await secrets.anonymous.read('ssh/public_key').expect(200)).text;
    file('known', `@cert-authority 127.0.0.1,[127.0.0.1]* ${authority}`);
    file('trusted', authority);
    port = await startServer([
      `HostKey ${file('host')}`,
      `HostCertificate ${file('host-cert.pub')}`,
      `TrustedUserCAKeys ${file('trusted')}`,
      'AuthorizedKeysFile none',
      'PasswordAuthentication no',
      'PermitRootLogin prohibit-password',
    ]);
  }, 60_000);
  afterAll(() => {
    for (const child of servers) child.kill('SIGKILL');
    rmSync(folder, { recursive: true, force: true });
  });

  connected('lets a user with a certificate log in to a host with a certificate', async () => {
    expect(await login(await sign('user'))).toBe('in');
  });

  connected.each([
    ['rsa', ['-b', '2048'], { key_type: 'rsa', key_bits: 2048 }],
    ['ecdsa', ['-b', '521'], { key_type: 'ec', key_bits: 384 }],
  ])('accepts keys of type %s, and authorities of other types', async (type, size, authority) => {
    rmSync(file('key'));
    execFileSync('ssh-keygen', ['-q', '-t', type, ...size, '-N', '', '-f', file('key')]);
    await must('ssh/config/ca', authority);
    // Signed by the new authority, which the host does not trust yet; afterwards it trusts both.
    const fresh = await sign('user');
    expect(await login(fresh)).toBeUndefined();
    file('trusted', (await secrets.anonymous.read('ssh/public_keys').expect(200)).text);
    expect(await login(fresh)).toBe('in');
  });

  connected(
    'refuses other users, expired certificates and certificates for other addresses, and forces commands',
    async () => {
      expect(await login(await sign('user', { valid_principals: 'another-user' }))).toBeUndefined();
      const from = (address: string) => sign('user', { critical_options: { 'source-address': address } });
      expect(await login(await from('10.0.0.0/8'))).toBeUndefined();
      expect(await login(await from('127.0.0.0/8'))).toBe('in');
      expect(await login(await sign('user', { critical_options: { 'force-command': 'echo forced' } }))).toBe('forced');
      const short = await sign('user', { ttl: 1 });
      await new Promise((resolve) => setTimeout(resolve, 2500));
      expect(await login(short)).toBeUndefined();
    },
  );

  connected('shows the fields of a certificate, by ssh-keygen', async () => {
    const certificate = await sign('user', { valid_principals: 'zed,adam', extensions: { 'permit-pty': '' } });
    const text = execFileSync('ssh-keygen', ['-L', '-f', file('shown.pub', certificate)], { encoding: 'utf8' });
    expect(text).toMatch(/user certificate/);
    expect(text).toMatch(/Principals:\s+adam\s+zed\s+Critical Options: \(none\)\s+Extensions:\s+permit-pty/);
  });

  connected('reads issued keys', async () => {
    for (const key_type of ['rsa', 'ec', 'ed25519']) {
      const issued = await must('ssh/issue/user', {
        key_type,
        key_bits: key_type === 'rsa' ? 2048 : 0,
        valid_principals: user,
      });
      for (const name of ['key', 'key.pub']) rmSync(file(name), { force: true });
      file('key', issued.private_key);
      // Without the public key, ssh does not know which certificate belongs to a key in PEM.
      file('key.pub', execFileSync('ssh-keygen', ['-y', '-f', file('key')], { encoding: 'utf8' }));
      expect(await login(issued.signed_key)).toBe('in');
    }
  });

  (canPam ? it : it.skip)(
    'logs a user in with a one-time password, once',
    async () => {
      const { port: service } = secrets.server.address() as AddressInfo;
      const helper = path.resolve(__dirname, '../../../../docs/deploy/ssh/keystead-ssh-otp');
      const conf = file('otp.conf', `VERIFY=http://127.0.0.1:${service}/v1/ssh/verify\nADDRESSES=127.0.0.1\n`);
      const wrapper = file('helper', `#!/bin/sh\nKEYSTEAD_SSH_OTP_CONF=${conf} exec ${helper}\n`);
      execFileSync('chmod', ['700', wrapper]);
      const rules = `/etc/pam.d/${pam}`;
      // PAM rules are found by the name of the program.
      symlinkSync(server, file(pam));
      writeFileSync(
        rules,
        `auth requisite pam_exec.so quiet expose_authtok ${wrapper}\nauth required pam_permit.so\naccount required pam_permit.so\nsession required pam_permit.so\n`,
      );
      try {
        const at = await startServer(
          [
            `HostKey ${file('host')}`,
            `HostCertificate ${file('host-cert.pub')}`,
            'UsePAM yes',
            'KbdInteractiveAuthentication yes',
            'PasswordAuthentication no',
            'PermitRootLogin yes',
          ],
          file(pam),
        );
        const role = { key_type: 'otp', default_user: user, allowed_users: 'jane', cidr_list: '127.0.0.0/8' };
        await secrets.root.write('ssh/roles/otp', role).expect(204);
        const withPassword = async (password: string): Promise<boolean> => {
          const own = options(['NumberOfPasswordPrompts=1', 'PubkeyAuthentication=no']).slice(2);
          const args = ['-p', password, 'ssh', '-F', 'none', ...own, '-p', `${at}`, `${user}@127.0.0.1`, 'echo in'];
          return (await said('sshpass', args)) === 'in';
        };
        const password = async (more: object = {}) => (await must('ssh/creds/otp', { ip: '127.0.0.1', ...more })).key;
        const right = await password();
        expect(await withPassword(right)).toBe(true);
        expect(await withPassword(right)).toBe(false);
        expect(await withPassword(await password({ username: 'jane' }))).toBe(false);
        expect(await withPassword(await password({ ip: '127.0.0.2' }))).toBe(false);
        expect(await withPassword('"}')).toBe(false);
      } finally {
        rmSync(rules);
      }
    },
    60_000,
  );
});
