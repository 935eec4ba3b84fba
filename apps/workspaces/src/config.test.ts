import { describe, expect, it } from '@jest/globals';
import { BadConfig, describeConfig, readConfig } from './config';

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
  it('needs a database and has a default for all else', () => {
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
      'a proxy that is no address',
      { WORKSPACES_TRUSTED_PROXIES: '10.0.0.0/8, somewhere' },
      'WORKSPACES_TRUSTED_PROXIES:',
    ],
    ['a public address that is none', { WORKSPACES_PUBLIC_URL: 'nowhere' }, 'WORKSPACES_PUBLIC_URL:'],
    ['a certificate without its key', { WORKSPACES_TLS_CERT_FILE: __filename }, 'WORKSPACES_TLS_CERT_FILE and'],
    ['a file that is not there', { WORKSPACES_DATABASE_URL_FILE: '/no/such/file' }, 'WORKSPACES_DATABASE_URL'],
  ])('refuses %s by name', (_what, environment, problem) => {
    const problems = problemsOf({ ...URL, ...environment });
    expect(problems.some((text) => text.startsWith(problem))).toBe(true);
  });

  it('describes every setting', () => {
    expect(describeConfig()).toContain('WORKSPACES_PORT [8300]');
    expect(describeConfig()).toContain('WORKSPACES_SEAL_KEY_FILE');
  });
});
