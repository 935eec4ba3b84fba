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

it('a container of the secrets service audits every request unless it is told otherwise', () => {
  expect(readFileSync(join(root, 'apps/secrets/Dockerfile'), 'utf8')).toMatch(/^ENV .*SECRETS_AUDIT_STDOUT=on/m);
  expect(compose).toContain('SECRETS_AUDIT_STDOUT: ${SECRETS_AUDIT_STDOUT:-on}');
});
