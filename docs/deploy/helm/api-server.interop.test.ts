import { execFileSync } from 'node:child_process';
import { cpSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { hasKubeApiServer, KubeApiServer } from '../../../packages/testing/src/index';

jest.setTimeout(180_000);

// The chart on a real API server. There is no kubelet, so no pods run, and hooks are left out of the installation.

const program = process.env.KEYSTEAD_HELM ?? '';
const there = hasKubeApiServer && program !== '' && existsSync(program);
const whereThere = there ? describe : describe.skip;
const resources: Readonly<Record<string, string>> = {
  Deployment: 'apis/apps/v1/namespaces/default/deployments',
  HorizontalPodAutoscaler: 'apis/autoscaling/v2/namespaces/default/horizontalpodautoscalers',
  Ingress: 'apis/networking.k8s.io/v1/namespaces/default/ingresses',
  Job: 'apis/batch/v1/namespaces/default/jobs',
  NetworkPolicy: 'apis/networking.k8s.io/v1/namespaces/default/networkpolicies',
  PodDisruptionBudget: 'apis/policy/v1/namespaces/default/poddisruptionbudgets',
  Service: 'api/v1/namespaces/default/services',
  ServiceAccount: 'api/v1/namespaces/default/serviceaccounts',
};
// The kind of a monitor is not the server's own.
const all = [
  'secrets.autoscaling.enabled=true,secrets.tls=true,workspaces.autoscaling.enabled=true',
  'secrets.ingress.host=s.example.com,secrets.ingress.tlsSecret=s,ca.configMap=company,podLabels.a=b',
  'workers.enabled=true,workers.replicas=2,workers.versions={1.11.4},workers.releaseKeys=keys',
  'agents[0].name=harbor,agents[0].existingSecret=harbor',
].join(',');

whereThere(
  `the chart in an API server${there ? '' : ' (skipped: no kube-apiserver (KEYSTEAD_KUBE_APISERVER) with etcd, or no KEYSTEAD_HELM)'}`,
  () => {
    const folder = mkdtempSync(join(tmpdir(), 'api-server-'));
    const chart = join(folder, 'keystead');
    const server = new KubeApiServer();

    const helm = (...args: string[]) =>
      execFileSync(program, args, {
        encoding: 'utf8',
        stdio: 'pipe',
        env: {
          ...process.env,
          KUBECONFIG: join(folder, 'kubeconfig'),
          HELM_CACHE_HOME: folder,
          HELM_DATA_HOME: folder,
        },
      });
    const names = async (kind: string): Promise<string[]> => {
      const { items } = JSON.parse((await server.call('GET', `/${resources[kind]}`)).text);
      return items.map(({ metadata }: { metadata: { name: string } }) => metadata.name).sort();
    };

    beforeAll(async () => {
      cpSync(join(__dirname, 'keystead'), chart, { recursive: true });
      // A server that was built from source by hand reports version v0.0.0.
      const about = readFileSync(join(chart, 'Chart.yaml'), 'utf8');
      writeFileSync(join(chart, 'Chart.yaml'), about.replace(/^kubeVersion:.*\n/m, ''));
      const values = readFileSync(join(chart, 'values.yaml'), 'utf8');
      writeFileSync(
        join(chart, 'values.yaml'),
        values.replace('registry: ""', 'registry: registry.example.com/keystead'),
      );
      await server.start();
      const kubeconfig = {
        apiVersion: 'v1',
        kind: 'Config',
        'current-context': 'here',
        clusters: [{ name: 'here', cluster: { server: server.address, 'insecure-skip-tls-verify': true } }],
        users: [{ name: 'here', user: { token: server.token } }],
        contexts: [{ name: 'here', context: { cluster: 'here', user: 'here', namespace: 'default' } }],
      };
      writeFileSync(join(folder, 'kubeconfig'), JSON.stringify(kubeconfig), { mode: 0o600 });
    });
    afterAll(async () => {
      await server.stop();
      rmSync(folder, { recursive: true, force: true });
    });

    it('has no unknown field in any object, including hooks', async () => {
      const text = helm('template', 'r', chart, '--kube-version', '1.34.0', '--set', all);
      const objects = text.split(/^---$/m).filter((object) => /^kind: /m.test(object));
      expect(objects.length).toBeGreaterThan(10);
      const tried = (object: string) => {
        const [, kind = ''] = /^kind: (\w+)$/m.exec(object) ?? [];
        const [, name] = /^metadata:[\s\S]*?[{\s]name: ([\w.-]+)/m.exec(object) ?? [];
        const how = 'dryRun=All&fieldManager=test&fieldValidation=Strict';
        return server.call('PATCH', `/${resources[kind]}/${name}?${how}`, object, 'application/apply-patch+yaml');
      };
      for (const object of objects) {
        const { status, text: said } = await tried(object);
        expect([status, status < 300 ? '' : object + said]).toEqual([201, '']);
      }
      expect(await names('Deployment')).toEqual([]);
      expect((await tried(`${objects[0]}\nunheard: of\n`)).status).toBeGreaterThanOrEqual(400);
    });

    it('can be installed, upgraded, rolled back and uninstalled', async () => {
      helm('install', 'keystead', chart, '--no-hooks', '--dry-run=server');
      expect(await names('Deployment')).toEqual([]);
      helm('install', 'keystead', chart, '--no-hooks');
      expect(await names('Deployment')).toEqual(['keystead-secrets', 'keystead-workspaces']);
      expect(await names('HorizontalPodAutoscaler')).toEqual([]);
      helm('upgrade', 'keystead', chart, '--no-hooks', '--set', all);
      expect(await names('HorizontalPodAutoscaler')).toEqual(['keystead-secrets', 'keystead-workspaces']);
      helm('rollback', 'keystead', '1', '--no-hooks');
      expect(await names('HorizontalPodAutoscaler')).toEqual([]);
      helm('uninstall', 'keystead', '--no-hooks');
      for (const kind of ['Deployment', 'NetworkPolicy', 'PodDisruptionBudget']) expect(await names(kind)).toEqual([]);
    });
  },
);
