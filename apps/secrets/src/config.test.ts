import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, describe, expect, it } from '@jest/globals';
import { BadConfig } from '@keystead/settings';
import { describeConfig, readConfig } from './config';

const least = { SECRETS_DATABASE_URL: 'postgresql://x/secrets', SECRETS_SEAL_KEY: 'ab'.repeat(32) };
const problems = (environment: NodeJS.ProcessEnv): readonly string[] => {
  try {
    readConfig(environment);
    return [];
  } catch (error) {
    if (error instanceof BadConfig) return error.problems;
    throw error;
  }
};

describe('configuration', () => {
  const folder = mkdtempSync(path.join(tmpdir(), 'config-'));
  afterAll(() => rmSync(folder, { recursive: true }));
  const file = (name: string, text: string) => {
    const at = path.join(folder, name);
    writeFileSync(at, text);
    return at;
  };

  it('needs a database and a seal key, and has a default for everything else', () => {
    expect(readConfig(least)).toMatchObject({
      listen: { host: '127.0.0.1', port: 8200 },
      seal: { type: 'auto' },
      familyHeaders: true,
      defaultMounts: ['auth/cloudone', 'scheduler', 'cloudtwo'],
      ttls: { defaultLeaseTtlSeconds: 2764800, maxLeaseTtlSeconds: 2764800 },
      audit: { stdout: false, table: false },
    });
    expect(problems({})).toContain('SECRETS_DATABASE_URL is not set');
    expect(problems({ SECRETS_DATABASE_URL: least.SECRETS_DATABASE_URL })).toEqual([
      'SECRETS_SEAL_KEY or SECRETS_SEAL_KEY_FILE must be set, or SECRETS_SEAL=shamir',
    ]);
    expect(problems({ SECRETS_DATABASE_URL: least.SECRETS_DATABASE_URL, SECRETS_SEAL: 'shamir' })).toEqual([]);
  });

  it.each([
    ['SECRETS_POTR', '1', 'SECRETS_POTR is not a known setting'],
    ['SECRETS_PORT', 'http', /^SECRETS_PORT: /],
    ['SECRETS_PORT', '70000', /^SECRETS_PORT: /],
    ['SECRETS_DATABASE_URL', 'mysql://x', 'SECRETS_DATABASE_URL: is not a postgresql:// address'],
    ['SECRETS_MAX_LEASE_TTL', 'soon', 'SECRETS_MAX_LEASE_TTL: is not a duration such as 30s or 768h'],
    ['SECRETS_MAX_LEASE_TTL', '1h', 'SECRETS_DEFAULT_LEASE_TTL is longer than SECRETS_MAX_LEASE_TTL'],
    [
      'SECRETS_TRUSTED_PROXIES',
      'ten',
      'SECRETS_TRUSTED_PROXIES: trusted proxy "ten" is not an IP address or CIDR block',
    ],
    [
      'SECRETS_TRUSTED_PROXY_SECRET',
      'x'.repeat(32),
      'SECRETS_TRUSTED_PROXY_SECRET needs SECRETS_TRUSTED_PROXIES: only these proxies send it',
    ],
    ['SECRETS_TRUSTED_PROXY_SECRET', 'short', 'SECRETS_TRUSTED_PROXY_SECRET: must have at least 32 characters'],
    ['SECRETS_TRUSTED_PROXY_SECRET', ' , ', 'SECRETS_TRUSTED_PROXY_SECRET: must have at least 32 characters'],
    ['SECRETS_PUBLIC_URL', 'nowhere', /^SECRETS_PUBLIC_URL: /],
    ['SECRETS_TLS_CERT_FILE', '/nowhere', 'SECRETS_TLS_CERT_FILE and SECRETS_TLS_KEY_FILE go together'],
    [
      'SECRETS_DATABASE_URL_FILE',
      '/nowhere',
      'SECRETS_DATABASE_URL and SECRETS_DATABASE_URL_FILE are both set; keep one',
    ],
  ])('%s=%s is refused by name', (name, value, problem) => {
    const found = problems({ ...least, [name]: value });
    expect(found).toEqual([typeof problem === 'string' ? problem : expect.stringMatching(problem)]);
  });

  it('reads secrets from files', () => {
    const { SECRETS_SEAL_KEY } = least;
    const at = file('url', 'postgresql://from-file/secrets\n');
    expect(readConfig({ SECRETS_SEAL_KEY, SECRETS_DATABASE_URL_FILE: at }).databaseUrl).toBe(
      'postgresql://from-file/secrets',
    );
    expect(problems({ SECRETS_SEAL_KEY, SECRETS_DATABASE_URL_FILE: '/nowhere/url' })).toContain(
      'SECRETS_DATABASE_URL_FILE: cannot read /nowhere/url',
    );
  });

  it('reads a certificate and its key', () => {
    const given = { ...least, SECRETS_TLS_CERT_FILE: file('cert', 'CERT'), SECRETS_TLS_KEY_FILE: file('key', 'KEY') };
    expect(readConfig(given).listen.tls).toEqual({ cert: 'CERT', key: 'KEY', clientCertificates: true });
    const off = readConfig({ ...given, SECRETS_TLS_CLIENT_CERTIFICATES: 'off' });
    expect(off.listen.tls?.clientCertificates).toBe(false);
  });

  it('ignores the rest of the environment', () => {
    expect(problems({ ...least, PATH: '/bin', SCHEDULER_HINT: 'x', WORKSPACES_PORT: '1' })).toEqual([]);
  });

  it('describes every setting', () => {
    const text = describeConfig();
    expect(text).toContain('SECRETS_PORT [8200]');
    expect(text.split('\n').filter((line) => line.trim() === '')).toEqual([]);
  });
});
