import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { describeConfig as describeSecrets } from '../../../apps/secrets/src/config';
import { describeConfig as describeWorkspaces } from '../../../apps/workspaces/src/config';

// The chart names settings, ports and paths of the services; this compares them without Helm.

const root = join(__dirname, '../../..');
const chart = (file: string) => readFileSync(join(__dirname, 'keystead', file), 'utf8');
const services = ['secrets', 'workspaces'] as const;
const settings = { secrets: describeSecrets(), workspaces: describeWorkspaces() };

describe('the Helm chart', () => {
  it.each(services)('gives %s settings that it has', (service) => {
    const names = [...chart('templates/_parts.tpl').matchAll(/\.prefix \}\}(_[A-Z_]+)/g)].map(
      ([, name]) => service.toUpperCase() + String(name),
    );
    expect(names.length).toBeGreaterThan(8);
    expect(names.filter((name) => !new RegExp(`\\b${name}\\b`).test(settings[service]))).toEqual([]);
  });

  it('asks for health where the services answer it', () => {
    const health = readFileSync(join(root, 'packages/server/src/health.ts'), 'utf8');
    const paths = [...chart('templates/services.yaml').matchAll(/path: (\/\w+)/g)].map(([, path]) => String(path));
    expect(paths.filter((path) => !health.includes(`'${path}'`))).toEqual([]);
    expect(new Set(paths)).toEqual(new Set(['/livez', '/readyz']));
  });

  it.each(services)('listens where %s does, runs its image as it is made, and migrates with its command', (service) => {
    const dockerfile = readFileSync(join(root, 'apps', service, 'Dockerfile'), 'utf8');
    const port = new RegExp(`${service.toUpperCase()}_PORT \\[(\\d+)\\]`).exec(settings[service])?.[1];
    expect(chart('values.yaml')).toContain(`  port: ${port}\n`);
    expect(dockerfile).toMatch(/^USER 10001:10001$/m);
    expect(chart('templates/_parts.tpl')).toContain('runAsUser: 10001');
    expect(readFileSync(join(root, 'apps', service, 'src/main.ts'), 'utf8')).toContain("'migrate'");
  });

  it('has a schema that knows every value, and values of every template', () => {
    const schema = JSON.parse(chart('values.schema.json')) as { properties: Record<string, unknown> };
    const top = [...chart('values.yaml').matchAll(/^(\w+):/gm)].map(([, name]) => String(name));
    expect(top.filter((name) => !(name in schema.properties))).toEqual([]);
    const text = chart('templates/_parts.tpl') + chart('templates/services.yaml') + chart('templates/account.yaml');
    const used = [...text.matchAll(/\.Values\.(\w+)/g)].map(([, name]) => String(name));
    expect(used.filter((name) => !top.includes(name))).toEqual([]);
  });

  it('is of the version of the services', () => {
    const { version } = JSON.parse(readFileSync(join(root, 'apps/secrets/package.json'), 'utf8')) as {
      version: string;
    };
    expect(chart('Chart.yaml')).toContain(`version: ${version}\nappVersion: ${version}\n`);
  });
});
