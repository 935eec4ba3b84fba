import { describe, expect, it } from '@jest/globals';
import { listenersClosedToRuns } from './closed-to-runs';
import { readLocalConfig } from './config';
import { workerEnvironment } from './worker-process';

const secrets = '127.0.0.1:8200';
const workspaces = '127.0.0.1:8300';
const secret = 'x'.repeat(32);

describe('the listeners of the services that are closed to runs', () => {
  it.each<[string, NodeJS.ProcessEnv, string[]]>([
    ['none, if they are the public addresses', {}, []],
    [
      'the listener of a service with another public address',
      { WORKSPACES_PUBLIC_URL: 'https://w.example' },
      [workspaces],
    ],
    ['none, if the public address has the port of the listener', { SECRETS_PUBLIC_URL: 'http://s.example:8200' }, []],
    ['none, if runs use the listener', { SECRETS_PUBLIC_URL: 'https://s.example' }, []],
    [
      'the listener of the secrets service, if runs also use another address',
      { SECRETS_PUBLIC_URL: 'https://s.example', WORKSPACES_SECRETS_PUBLIC_URL: 'https://s.example' },
      [secrets],
    ],
    ['a public listener that trusts addresses', { SECRETS_TRUSTED_PROXIES: '127.0.0.1' }, [secrets]],
    ['a public listener that trusts other addresses', { WORKSPACES_TRUSTED_PROXIES: '10.0.0.0/8' }, [workspaces]],
    [
      'none, if proxies have a secret',
      { SECRETS_TRUSTED_PROXIES: '127.0.0.1', SECRETS_TRUSTED_PROXY_SECRET: secret },
      [],
    ],
    [
      'none, if proxies have a secret in a file',
      { WORKSPACES_TRUSTED_PROXIES: '127.0.0.1', WORKSPACES_TRUSTED_PROXY_SECRET_FILE: '/run/proxy' },
      [],
    ],
    [
      'the metrics',
      { SECRETS_METRICS_PORT: '9100', WORKSPACES_METRICS_PORT: '9101', WORKSPACES_METRICS_HOST: '::1' },
      ['127.0.0.1:9100', '[::1]:9101'],
    ],
    [
      'all addresses, if a service listens at all addresses',
      { SECRETS_HOST: '0.0.0.0', SECRETS_PORT: '9200', SECRETS_TRUSTED_PROXIES: '127.0.0.1' },
      ['0.0.0.0:9200'],
    ],
  ])('are %s', (_what, env, expected) => {
    const config = readLocalConfig(env);
    expect(listenersClosedToRuns(config, env)).toEqual(expected);
    const { WORKSPACES_WORKER_CLOSED } = workerEnvironment(config, 'postgresql://u@127.0.0.1:5433/w', {
      ...env,
      WORKSPACES_WORKER_CLOSED: '127.0.0.1:22',
    });
    expect(WORKSPACES_WORKER_CLOSED).toBe(['127.0.0.1:5433', ...expected, '127.0.0.1:22'].join());
  });
});
