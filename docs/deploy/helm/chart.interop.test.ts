import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';

// Helm itself renders and checks the chart, where Helm is installed.

const program = process.env.KEYSTEAD_HELM ?? '/usr/local/bin/helm';
const there = existsSync(program);
const whereThere = there ? describe : describe.skip;
const chart = join(__dirname, 'keystead');
const registry = 'registry.example.com/keystead';
const helm = (command: string, ...args: string[]) =>
  execFileSync(program, [command, ...args, '--kube-version', '1.34.0'], { encoding: 'utf8', stdio: 'pipe' });
const template = (...sets: string[]) =>
  helm('template', 'r', chart, ...[`image.registry=${registry}`, ...sets].flatMap((value) => ['--set', value]));
const kinds = (text: string) => [...text.matchAll(/^kind: (\w+)$/gm)].map(([, kind]) => String(kind)).sort();
const ofService = ['Deployment', 'Job', 'NetworkPolicy', 'PodDisruptionBudget', 'Service'];
const workers = ['workers.enabled=true', 'workers.versions={1.11.4,tofu 1.10.0}', 'workers.releaseKeys=keys'];

whereThere(`helm${there ? '' : ` (skipped: ${program} is not installed)`}`, () => {
  it('finds nothing wrong with the chart', () => {
    expect(helm('lint', chart, '--strict', '--set', `image.registry=${registry}`)).toContain('0 chart(s) failed');
  });

  it('renders all objects of a service, and only of enabled components', () => {
    const whole = template('secrets.autoscaling.enabled=true', 'secrets.tls=true');
    expect(kinds(whole)).toEqual([...ofService, ...ofService, 'HorizontalPodAutoscaler', 'ServiceAccount'].sort());
    expect(whole).toContain('scheme: HTTPS');
    const small = template(
      'workspaces.enabled=false',
      'networkPolicy.enabled=false',
      'migrations.hook=false',
      'secrets.replicas=1',
    );
    expect(kinds(small)).toEqual(['Deployment', 'Service', 'ServiceAccount']);
    expect(small).not.toContain('SECRETS_MIGRATE');
  });

  it.each([
    'replica=3',
    'secrets.settings.NOT_OURS=x',
    'secrets.port=80',
    'secrets.replicas=0',
    'image.registry=keystead',
    'image.registry=',
    'workers.enabled=true',
    'agents[0].name=harbor',
  ])('refuses %s', (value) => {
    expect(() => template(value)).toThrow();
  });

  it('leaves the seal key out if people unseal the service', () => {
    const text = template('secrets.settings.SECRETS_SEAL=shamir');
    expect(text).not.toContain('SECRETS_SEAL_KEY_FILE');
    expect(text).toContain('WORKSPACES_SEAL_KEY_FILE');
  });

  it('runs workers that call the service of the release, and agents that call another one', () => {
    const text = template(
      ...workers,
      'agents[0].name=harbor',
      'agents[0].existingSecret=h',
      'agents[0].address=https://w.example.com',
    );
    expect(kinds(text)).toEqual(
      [
        ...ofService,
        ...ofService,
        'Deployment',
        'Deployment',
        'NetworkPolicy',
        'NetworkPolicy',
        'ServiceAccount',
      ].sort(),
    );
    expect(text).toContain('{ name: AGENT_ADDRESS, value: "http://r-workspaces:8300" }');
    expect(text).toContain('{ name: AGENT_ADDRESS, value: "https://w.example.com" }');
    expect(text).toContain('{ name: WORKSPACES_AGENT_TOKEN_FILE, value: "/run/keystead/agent-token" }');
    expect(text.match(/value: "1\.11\.4, tofu 1\.10\.0"/g)).toHaveLength(2);
    expect(template()).not.toContain('AGENT_TOKEN');
  });

  it('creates an ingress with TLS for each host, and derives the public URL from it', () => {
    const text = template(
      'ingress.className=nginx',
      'secrets.ingress.host=s.example.com',
      'secrets.ingress.tlsSecret=s-tls',
    );
    expect(kinds(text).filter((kind) => kind === 'Ingress')).toHaveLength(1);
    expect(text).toContain('tls: [{ hosts: ["s.example.com"], secretName: s-tls }]');
    expect(text).toContain('{ name: SECRETS_PUBLIC_URL, value: "https://s.example.com" }');
    expect(template('workspaces.ingress.host=w.example.com')).toContain('value: "http://w.example.com"');
  });

  it('shows the metrics of pods that are not ready, under the names of the dashboards', () => {
    const text = template('serviceMonitor.enabled=true');
    expect(kinds(text).filter((kind) => kind === 'ServiceMonitor')).toHaveLength(2);
    expect(text.match(/publishNotReadyAddresses: true/g)).toHaveLength(2);
    expect(text).toContain('jobLabel: app.kubernetes.io/name');
  });

  it('lets a component override the values for all pods, and settings override those of the chart', () => {
    const text = template(
      ...[
        'podAnnotations.all=here',
        'workspaces.podAnnotations.own=too',
        'nodeSelector.disk=fast',
        'ca.configMap=company',
      ],
      ...['secrets.nodeSelector.disk=slow', 'secrets.settings.SECRETS_MIGRATE=on', ...workers],
    );
    const pods = text.split(/^---$/m).filter((one) => /^kind: Deployment$/m.test(one));
    const [secrets = '', workspaces = '', worker = ''] = ['secrets', 'workspaces', 'workers'].map((name) =>
      pods.find((one) => one.includes(`\n  name: r-${name}\n`)),
    );
    expect(secrets).toMatch(/disk: slow/);
    expect(secrets).toContain('{ name: SECRETS_MIGRATE, value: "on" }');
    expect(workspaces).toMatch(/all: here\n +own: too/);
    expect(worker).toMatch(/disk: fast/);
    expect(worker).toContain('{ name: WORKSPACES_WORKER_SHOW, value: "/etc/keystead/ca" }');
    for (const one of pods) {
      expect(one).toContain('{ name: NODE_EXTRA_CA_CERTS, value: "/etc/keystead/ca/ca.crt" }');
      const names = [...one.matchAll(/^ +- { name: (\w+), value:/gm)].map(([, name]) => name);
      expect(new Set(names).size).toBe(names.length);
    }
  });
});
