import { describe, expect, it } from '@jest/globals';
import { readWorkerConfig } from './config';

describe('the places that a worker closes to runs, besides its database,', () => {
  it.each<[string, NodeJS.ProcessEnv, string[]]>([
    ['nothing, if the service is public at that address', {}, []],
    ['the service, if it is behind a proxy', { WORKSPACES_PUBLIC_URL: 'https://w.example' }, ['127.0.0.1:8300']],
    ['a service that trusts addresses', { WORKSPACES_TRUSTED_PROXIES: '10.0.0.0/8' }, ['127.0.0.1:8300']],
    [
      'no service whose proxy has a secret',
      { WORKSPACES_TRUSTED_PROXIES: '10.0.0.0/8', WORKSPACES_TRUSTED_PROXY_SECRET: 'x'.repeat(32) },
      [],
    ],
    ['the metrics', { WORKSPACES_METRICS_PORT: '9101', WORKSPACES_METRICS_HOST: '::1' }, ['[::1]:9101']],
    [
      'additional configured addresses',
      { WORKSPACES_PUBLIC_URL: 'https://w.example', WORKSPACES_WORKER_CLOSED: '127.0.0.1:22' },
      ['127.0.0.1:8300', '127.0.0.1:22'],
    ],
  ])('include %s', (_what, env, expected) => {
    expect(readWorkerConfig({ WORKSPACES_DATABASE_URL: 'postgresql://u@localhost/w', ...env }).closed).toEqual(
      expected,
    );
  });
});
