import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';

// The compose files as Docker Compose reads them, where its program is (KEYSTEAD_COMPOSE); it needs no engine for that.

const program = process.env.KEYSTEAD_COMPOSE ?? '/usr/libexec/docker/cli-plugins/docker-compose';
const there = existsSync(program);
const whereThere = there ? describe : describe.skip;
const root = join(__dirname, '..');

interface Service {
  image: string;
  pull_policy?: string;
  build?: { target: string };
  env_file?: unknown;
  environment?: Record<string, string>;
  volumes?: { type: string; source: string; target: string }[];
}

whereThere(`docker compose${there ? '' : ` (skipped: ${program} is not installed)`}`, () => {
  const config = (files: string[], env: Record<string, string> = {}): Record<string, Service> => {
    const profiles = ['worker', 'agent', 'nodes'].flatMap((name) => ['--profile', name]);
    const args = [...files.flatMap((file) => ['--file', file]), ...profiles, 'config', '--format', 'json'];
    const options = {
      cwd: root,
      encoding: 'utf8',
      stdio: 'pipe',
      env: { PATH: process.env.PATH ?? '', ...env },
    } as const;
    return JSON.parse(execFileSync(program, args, options)).services;
  };
  const sourceOf = (services: Record<string, Service>, name: string, target: string) =>
    services[name]?.volumes?.find((volume) => volume.target === target)?.source;

  it('pulls our images from no registry by default, and from another one if configured', () => {
    const ours = (services: Record<string, Service>) =>
      Object.values(services).filter(({ image }) => !/^(postgres|haproxy):/.test(image));
    const plain = ours(config(['docker-compose.yml']));
    expect(plain.length).toBeGreaterThan(8);
    for (const { image, pull_policy: policy, build } of plain) {
      expect(image).toMatch(/^localhost\/keystead\/\w+:local$/);
      expect(policy).toBe(build ? 'build' : 'never');
    }
    const set = { KEYSTEAD_IMAGES: 'r.example.com/k', KEYSTEAD_VERSION: '1', KEYSTEAD_PULL_POLICY: 'missing' };
    for (const { image, pull_policy: policy } of ours(config(['docker-compose.yml'], set))) {
      expect(image).toMatch(/^r\.example\.com\/k\/\w+:1$/);
      expect(policy).toBe('missing');
    }
  });

  it('gives a worker the tool of the machine, or settings for versions and keys', () => {
    const plain = config(['docker-compose.yml']);
    expect(sourceOf(plain, 'worker', '/usr/local/bin/terraform')).toBe('/usr/local/bin/terraform');
    const set = {
      WORKSPACES_TOOL: '/dev/null',
      WORKSPACES_WORKER_VERSIONS: '1.11.4',
      WORKSPACES_RELEASE_KEYS: '/keys.asc',
    };
    const services = config(['docker-compose.yml'], set);
    for (const name of ['worker', 'agent']) {
      expect(sourceOf(services, name, '/usr/local/bin/terraform')).toBe('/dev/null');
      expect(sourceOf(services, name, '/run/release-keys.asc')).toBe('/keys.asc');
      expect(services[name]?.environment).toMatchObject({
        WORKSPACES_WORKER_VERSIONS: '1.11.4',
        WORKSPACES_WORKER_RELEASE_KEYS_FILE: '/run/release-keys.asc',
      });
    }
  });

  it('reads all keys from one folder in production, and explains what to do if none is named', () => {
    const files = ['docker-compose.yml', 'docker-compose.production.yml'];
    const services = config(files, { KEYSTEAD_COMPOSE_SECRETS: '/srv/keys' });
    for (const [name, folder] of [
      ['postgres', 'postgres'],
      ['secrets', 'secrets'],
      ['secrets-2', 'secrets'],
      ['workspaces', 'workspaces'],
      ['worker', 'worker'],
    ] as const)
      expect(sourceOf(services, name, '/run/keystead')).toBe(`/srv/keys/${folder}`);
    expect(() => config(files)).toThrow(/run docs\/deploy\/make-secrets\.sh/);
  });
});
