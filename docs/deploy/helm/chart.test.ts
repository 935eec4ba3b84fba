import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { describeConfig as describeSecrets } from '../../../apps/secrets/src/config';
import { describeConfig as describeWorkspaces } from '../../../apps/workspaces/src/config';
import { describeAgentConfig } from '../../../apps/workspaces/src/worker/agent-config';
import { describeWorkerConfig } from '../../../apps/workspaces/src/worker/config';

// The chart names settings, ports and paths of the services; this compares them without Helm.

const root = join(__dirname, '../../..');
const chart = (file: string) => readFileSync(join(__dirname, 'keystead', file), 'utf8');
const services = ['secrets', 'workspaces'] as const;
/** The stages of the Dockerfile by name, with what each does. */
const image = (name: string) =>
  new RegExp(`^FROM \\S+ AS ${name}\n([\\s\\S]*?)(?=^FROM|(?![\\s\\S]))`, 'm').exec(
    readFileSync(join(root, 'Dockerfile'), 'utf8'),
  )!;
const settings = { secrets: describeSecrets(), workspaces: describeWorkspaces() };

describe('the Helm chart', () => {
  it.each(services)('gives %s only existing settings', (service) => {
    const names = [...chart('templates/_parts.tpl').matchAll(/\.prefix \}\}(_[A-Z_]+)/g)].map(
      ([, name]) => service.toUpperCase() + String(name),
    );
    expect(names.length).toBeGreaterThan(8);
    expect(names.filter((name) => !new RegExp(`\\b${name}\\b`).test(settings[service]))).toEqual([]);
  });

  it('has probes at the health endpoints of the services', () => {
    const health = readFileSync(join(root, 'packages/server/src/health.ts'), 'utf8');
    const paths = [...chart('templates/services.yaml').matchAll(/path: (\/\w+)/g)].map(([, path]) => String(path));
    expect(paths.filter((path) => !health.includes(`'${path}'`))).toEqual([]);
    expect(new Set(paths)).toEqual(new Set(['/livez', '/readyz']));
  });

  it.each(services)('uses the port of %s, runs its image as it is built, and migrates with its command', (service) => {
    const [, dockerfile = ''] = image(service);
    const port = new RegExp(`${service.toUpperCase()}_PORT \\[(\\d+)\\]`).exec(settings[service])?.[1];
    expect(chart('values.yaml')).toContain(`  port: ${port}\n`);
    expect(dockerfile).toMatch(/^USER 10001:10001$/m);
    expect(chart('templates/_parts.tpl')).toContain('runAsUser: 10001');
    expect(readFileSync(join(root, 'apps', service, 'src/main.ts'), 'utf8')).toContain("'migrate'");
  });

  it('keeps the variables of other Services out of the environment, because unknown settings are refused', () => {
    // Kubernetes would set SECRETS_DB_PORT for a Service called secrets-db.
    expect(chart('templates/_parts.tpl')).toMatch(/define "keystead.anyPod" }}\n(?:.*\n)*?enableServiceLinks: false\n/);
    for (const file of ['templates/_parts.tpl', 'templates/workers.yaml'])
      expect(chart(file)).toContain('include "keystead.anyPod"');
  });

  it('spreads the pods of one version over nodes, regardless of the pods that an upgrade ends', () => {
    const [, spread = ''] = /define "keystead.spread" }}\n([\s\S]*?)\n{{\/\*/.exec(chart('templates/_parts.tpl'))!;
    expect(spread).toContain('topologyKey: kubernetes.io/hostname');
    expect(spread).toContain('matchLabelKeys: [pod-template-hash]');
  });

  it('gives Prometheus the pods, the ports and the job names of the dashboards', () => {
    const scrape = readFileSync(join(__dirname, '../observability/kubernetes.yml'), 'utf8');
    const jobs = new RegExp(`^${/regex: (\S+);metrics/.exec(scrape)?.[1]}$`);
    const template = chart('templates/services.yaml');
    expect(chart('templates/_parts.tpl')).toContain('app.kubernetes.io/name: keystead-{{ .name }}\n');
    expect(template).toContain('{ name: metrics, containerPort: {{ $service.metricsPort }} }');
    for (const service of services) {
      expect(`keystead-${service}`).toMatch(jobs);
      // The Job that migrates has no metrics.
      expect(`keystead-${service}-migrate`).not.toMatch(jobs);
      const dashboard = readFileSync(join(__dirname, `../observability/${service}.json`), 'utf8');
      expect(new Set([...dashboard.matchAll(/job=\\"([^"\\]+)/g)].map(([, job]) => job))).toEqual(
        new Set([`keystead-${service}`]),
      );
    }
  });

  it('is installed by its page under the names that it generates', () => {
    const page = readFileSync(join(root, 'docs/kubernetes.md'), 'utf8');
    const version = /^version: (.*)$/m.exec(chart('Chart.yaml'))?.[1];
    expect(page).toContain(`--tag registry.example.com/keystead/$image:${version} .`);
    expect(page).toContain('registry: registry.example.com/keystead\n');
    for (const service of services) {
      const port = new RegExp(`^${service}:\n(?:  .*\n)*?  port: (\\d+)$`, 'm').exec(chart('values.yaml'))?.[1];
      expect(page).toContain(`http://keystead-${service}:${port}`);
      expect(page).toContain(`kubectl create secret generic keystead-${service} `);
      expect(chart('values.yaml')).toContain(`existingSecret: keystead-${service}\n`);
    }
  });

  it('has a schema for every value, and values for every template', () => {
    const schema = JSON.parse(chart('values.schema.json')) as { properties: Record<string, unknown> };
    const top = [...chart('values.yaml').matchAll(/^(\w+):/gm)].map(([, name]) => String(name));
    expect(top.filter((name) => !(name in schema.properties))).toEqual([]);
    const files = ['_parts.tpl', 'services.yaml', 'workers.yaml', 'account.yaml'];
    const text = files.map((file) => chart(`templates/${file}`)).join('');
    const used = [...text.matchAll(/\.Values\.(\w+)/g)].map(([, name]) => String(name));
    expect(used.filter((name) => !top.includes(name))).toEqual([]);
  });

  it('lets every component override the values for all pods, and refuses unknown values', () => {
    const { definitions, ...top } = JSON.parse(chart('values.schema.json'));
    const parts = chart('templates/_parts.tpl');
    const common = [...(/\$names := ([\s\S]*?)\$common :=/.exec(parts)?.[1] ?? '').matchAll(/"(\w+)"/g)].map(
      ([, name]) => String(name),
    );
    expect(common.length).toBeGreaterThan(12);
    const { secrets, workspaces, workers, agents } = top.properties;
    for (const { properties } of [top, secrets, workspaces])
      expect(Object.keys(properties)).toEqual(expect.arrayContaining(common));
    const without = common.filter((name) => name !== 'ingress');
    for (const { properties } of [workers, agents.items])
      expect(Object.keys(properties)).toEqual(expect.arrayContaining(without));
    const open: string[] = [];
    const walk = (at: string, schema: Record<string, unknown>) => {
      if (schema.properties && schema.additionalProperties !== false) open.push(at);
      for (const [name, below] of Object.entries(schema))
        if (below && typeof below === 'object') walk(`${at}.${name}`, below as Record<string, unknown>);
    };
    walk('values', top);
    walk('definitions', definitions);
    expect(open).toEqual([]);
  });

  it('pulls images from one registry, which must be set', () => {
    expect(chart('values.yaml')).toMatch(/^image:\n(?: {2}#.*\n)* {2}registry: ""$/m);
    expect(chart('templates/_parts.tpl')).toMatch(
      /{{ required "image\.registry is not set[^"]+" \$all\.registry }}\/{{ \$own\.name }}/,
    );
    const { pattern } = JSON.parse(chart('values.schema.json')).properties.image.properties.registry;
    for (const said of ['', 'registry.example.com/keystead', 'localhost:5000', 'docker.io/mine'])
      expect(said).toMatch(new RegExp(pattern));
    // Names without a host are those of a public registry.
    for (const said of ['keystead', 'library/keystead', 'registry.example.com/'])
      expect(said).not.toMatch(new RegExp(pattern));
  });

  it('uses the image names of releases and compose', () => {
    const names = [...chart('values.yaml').matchAll(/^ {2}image: { name: (\w+),/gm)].map(([, name]) => String(name));
    expect(names).toEqual(['secrets', 'workspaces', 'worker']);
    const release = readFileSync(join(root, '.github/workflows/release.yml'), 'utf8');
    expect(/^ {8}image: \[(.*)\]$/m.exec(release)?.[1]?.split(', ')).toEqual(expect.arrayContaining(names));
    for (const name of names) expect(image(name)).not.toBeNull();
  });

  it('gives workers only existing settings, and no key or database', () => {
    const [, text = ''] = /define "keystead.workerSettings" }}\n([\s\S]*)/.exec(chart('templates/workers.yaml'))!;
    const known = describeAgentConfig() + describeWorkerConfig();
    const names = [...text.matchAll(/^((?:AGENT|WORKSPACES)_\w+):/gm)].map(([, name]) => String(name));
    expect(names.length).toBeGreaterThan(7);
    expect(names.filter((name) => !new RegExp(`\\b${name}\\b`).test(known))).toEqual([]);
    expect(chart('templates/workers.yaml')).not.toMatch(/database-url|seal-key|"keystead\.(pod|settings)"/);
    expect(chart('templates/workers.yaml')).toContain('items: [{ key: agent-token, path: agent-token }]');
    expect(image('workspaces')[1]).toContain('docs/deploy/heard /srv/keystead/');
    expect(chart('templates/workers.yaml')).toContain('command: [/srv/keystead/heard]');
  });

  it('has the version of the services', () => {
    const { version } = JSON.parse(readFileSync(join(root, 'apps/secrets/package.json'), 'utf8')) as {
      version: string;
    };
    expect(chart('Chart.yaml')).toContain(`version: ${version}\nappVersion: ${version}\n`);
  });
});
