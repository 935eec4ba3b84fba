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

  it('keeps the names of other Services out of the environment, where unknown settings are refused', () => {
    // A Service called secrets-db would make SECRETS_DB_PORT.
    expect(chart('templates/_parts.tpl')).toMatch(/define "keystead.pod" }}\n(?:.*\n)*enableServiceLinks: false\n/);
  });

  it('spreads the pods of one version over nodes, regardless of where pods that an upgrade ends run', () => {
    const [, spread = ''] = /topologySpreadConstraints:\n((?: {8,}.*\n)+?) {6}containers:/.exec(
      chart('templates/services.yaml'),
    )!;
    expect(spread).toContain('topologyKey: kubernetes.io/hostname');
    expect(spread).toContain('matchLabelKeys: [pod-template-hash]');
  });

  it('shows Prometheus the pods, the ports and the jobs of the dashboards', () => {
    const scrape = readFileSync(join(__dirname, '../observability/kubernetes.yml'), 'utf8');
    const jobs = new RegExp(`^${/regex: (\S+);metrics/.exec(scrape)?.[1]}$`);
    const template = chart('templates/services.yaml');
    expect(chart('templates/_parts.tpl')).toContain('app.kubernetes.io/name: keystead-{{ .name }}\n');
    expect(template).toContain('{ name: metrics, containerPort: {{ $service.metricsPort }} }');
    for (const service of services) {
      expect(`keystead-${service}`).toMatch(jobs);
      // The Job that migrates shows no metrics.
      expect(`keystead-${service}-migrate`).not.toMatch(jobs);
      const dashboard = readFileSync(join(__dirname, `../observability/${service}.json`), 'utf8');
      expect(new Set([...dashboard.matchAll(/job=\\"([^"\\]+)/g)].map(([, job]) => job))).toEqual(
        new Set([`keystead-${service}`]),
      );
    }
  });

  it('is installed by its page under the names that it gives', () => {
    const page = readFileSync(join(root, 'docs/kubernetes.md'), 'utf8');
    const version = /^version: (.*)$/m.exec(chart('Chart.yaml'))?.[1];
    const tags = [...page.matchAll(/keystead\/\w+:(\S+)/g)].map(([, tag]) => tag);
    expect(new Set(tags)).toEqual(new Set([version]));
    for (const service of services) {
      const port = new RegExp(`^${service}:\n(?:  .*\n)*?  port: (\\d+)$`, 'm').exec(chart('values.yaml'))?.[1];
      expect(page).toContain(`http://keystead-${service}:${port}`);
      expect(page).toContain(`kubectl create secret generic keystead-${service} `);
      expect(chart('values.yaml')).toContain(`existingSecret: keystead-${service}\n`);
    }
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
