import { describe, expect, it } from '@jest/globals';
import { BadConfig } from '@keystead/settings';
import { describeConfig, readConfig } from './config';

const URL = { WORKSPACES_DATABASE_URL: 'postgresql://localhost/workspaces' };
const problemsOf = (environment: Record<string, string>): readonly string[] => {
  try {
    readConfig(environment);
  } catch (error) {
    if (error instanceof BadConfig) return error.problems;
    throw error;
  }
  return [];
};

describe('configuration', () => {
  it('needs a database, and has a default for everything else', () => {
    expect(readConfig({ ...URL, PATH: '/bin' })).toMatchObject({
      listen: { host: '127.0.0.1', port: 8300 },
      publicUrl: 'http://127.0.0.1:8300',
      edition: 'self-hosted',
      aliases: true,
      reasons: true,
      defaultFeatureSet: 'business',
    });
    expect(problemsOf({})).toEqual(['WORKSPACES_DATABASE_URL is not set']);
  });

  it.each([
    ['an unknown variable', { WORKSPACES_COLOUR: 'red' }, 'WORKSPACES_COLOUR is not a known setting'],
    ['a port out of range', { WORKSPACES_PORT: '99999' }, 'WORKSPACES_PORT:'],
    ['an unknown edition', { WORKSPACES_EDITION: 'deluxe' }, 'WORKSPACES_EDITION:'],
    ['a switch that is neither on nor off', { WORKSPACES_CLIENT_ALIASES: 'maybe' }, 'WORKSPACES_CLIENT_ALIASES:'],
    [
      'a proxy that is not an address',
      { WORKSPACES_TRUSTED_PROXIES: '10.0.0.0/8, somewhere' },
      'WORKSPACES_TRUSTED_PROXIES:',
    ],
    [
      'a proxy secret that is too short',
      { WORKSPACES_TRUSTED_PROXIES: '10.0.0.0/8', WORKSPACES_TRUSTED_PROXY_SECRET: 'short' },
      'WORKSPACES_TRUSTED_PROXY_SECRET: must have',
    ],
    ['an invalid public address', { WORKSPACES_PUBLIC_URL: 'nowhere' }, 'WORKSPACES_PUBLIC_URL:'],
    ['a certificate without its key', { WORKSPACES_TLS_CERT_FILE: __filename }, 'WORKSPACES_TLS_CERT_FILE and'],
    ['a blob store that is not an address', { WORKSPACES_BLOB_STORE: 'https://x' }, 'WORKSPACES_BLOB_STORE is not'],
    [
      'an option that no blob store has',
      { WORKSPACES_BLOB_STORE: 's3://b?colour=red' },
      'WORKSPACES_BLOB_STORE has the unknown parameter',
    ],
    ['a blob store key without its secret', { WORKSPACES_BLOB_STORE_ACCESS_KEY_ID: 'x' }, 'WORKSPACES_BLOB_STORE_'],
    ['a missing file', { WORKSPACES_DATABASE_URL_FILE: '/no/such/file' }, 'WORKSPACES_DATABASE_URL'],
  ])('refuses %s by name', (_what, environment, problem) => {
    const problems = problemsOf({ ...URL, ...environment });
    expect(problems.some((text) => text.startsWith(problem))).toBe(true);
  });

  it('reads where an object store is', () => {
    const store = 's3://states/a/b?endpoint=https://store.example.com&region=eu';
    expect(readConfig({ ...URL, WORKSPACES_BLOB_STORE: store }).objects).toEqual({
      bucket: 'states',
      prefix: 'a/b/',
      region: 'eu',
      endpoint: 'https://store.example.com',
      pathStyle: true,
      credentials: undefined,
    });
    expect(readConfig({ ...URL, WORKSPACES_BLOB_STORE: 's3://states' }).objects).toMatchObject({
      prefix: '',
      pathStyle: false,
    });
    expect(readConfig(URL).objects).toBeUndefined();
  });

  it('describes every setting', () => {
    expect(describeConfig()).toContain('WORKSPACES_PORT [8300]');
    expect(describeConfig()).toContain('WORKSPACES_SEAL_KEY_FILE');
  });
});
