import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from '@jest/globals';

const root = join(__dirname, '..');
const compose = readFileSync(join(root, 'docker-compose.yml'), 'utf8');

it('compose never asks a public registry for an image of ours', () => {
  const images = [...compose.matchAll(/^ *image: keystead\/.*\n(.*)$/gm)];
  expect(images.length).toBeGreaterThan(4);
  for (const [, next = ''] of images)
    expect(next.trim()).toMatch(/^(#|pull_policy: \$\{KEYSTEAD_PULL_POLICY:-(build|never)\}$)/);
  expect(compose.match(/pull_policy: /g)).toHaveLength(images.length);
});

it('takes any setting of a service from a file, which is there unless one is named', () => {
  const files = [...compose.matchAll(/env_file: .*\["\$\{(\w+):-(.+)\}"\]/g)];
  expect(files.map(([, name]) => name)).toEqual(['SECRETS_SETTINGS', 'WORKSPACES_SETTINGS', 'WORKER_SETTINGS']);
  for (const [, name = '', file = ''] of files) {
    expect(readFileSync(join(root, file), 'utf8')).toMatch(/^(#.*\n)+$/);
    expect(readFileSync(join(root, '.env.example'), 'utf8')).toContain(`# ${name}=`);
  }
});

it('stops where a folder of secrets is missing, and makes none', () => {
  const production = readFileSync(join(root, 'docker-compose.production.yml'), 'utf8');
  const sources = production.match(/source: /g) ?? [];
  expect(sources.length).toBeGreaterThan(4);
  expect(production.match(/create_host_path: false/g)).toHaveLength(sources.length);
  expect(production).not.toMatch(/:\/run\/keystead/);
});

it('a container of the secrets service audits every request unless it is told otherwise', () => {
  expect(readFileSync(join(root, 'apps/secrets/Dockerfile'), 'utf8')).toMatch(/^ENV .*SECRETS_AUDIT_STDOUT=on/m);
  expect(compose).toContain('SECRETS_AUDIT_STDOUT: ${SECRETS_AUDIT_STDOUT:-on}');
});
