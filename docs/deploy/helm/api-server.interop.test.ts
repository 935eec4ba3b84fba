import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { generateKeyPairSync } from 'node:crypto';
import { cpSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import https from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { freePort } from '../../../packages/testing/src/index';

jest.setTimeout(180_000);

// The chart as a real API server takes it: no kubelet, so nothing of it runs, and hooks are left out of the installation.

const programs = { server: process.env.KEYSTEAD_KUBE_APISERVER ?? '', helm: process.env.KEYSTEAD_HELM ?? '' };
const there = Object.values(programs).every((program) => program !== '' && existsSync(program));
const beside = there ? describe : describe.skip;
const token = 'of-the-administrator';
const resources: Readonly<Record<string, string>> = {
  Deployment: 'apis/apps/v1/namespaces/default/deployments',
  HorizontalPodAutoscaler: 'apis/autoscaling/v2/namespaces/default/horizontalpodautoscalers',
  Job: 'apis/batch/v1/namespaces/default/jobs',
  NetworkPolicy: 'apis/networking.k8s.io/v1/namespaces/default/networkpolicies',
  PodDisruptionBudget: 'apis/policy/v1/namespaces/default/poddisruptionbudgets',
  Service: 'api/v1/namespaces/default/services',
  ServiceAccount: 'api/v1/namespaces/default/serviceaccounts',
};
const all = 'secrets.autoscaling.enabled=true,secrets.tls=true,workspaces.autoscaling.enabled=true';

beside(
  `the chart in an API server${there ? '' : ' (skipped: KEYSTEAD_KUBE_APISERVER or KEYSTEAD_HELM is not set)'}`,
  () => {
    const folder = mkdtempSync(join(tmpdir(), 'api-server-'));
    const chart = join(folder, 'keystead');
    const running: ChildProcess[] = [];
    let port: number;

    const start = (program: string, args: string[]) => {
      running.push(spawn(program, args, { cwd: folder, stdio: 'ignore' }));
    };
    const call = (method: string, path: string, body?: string) =>
      new Promise<{ status: number; text: string }>((resolve, reject) => {
        const headers = {
          authorization: `Bearer ${token}`,
          ...(body && { 'content-type': 'application/apply-patch+yaml' }),
        };
        const asked = https.request(
          { port, host: '127.0.0.1', method, path, headers, rejectUnauthorized: false },
          (res) => {
            let text = '';
            res.on('data', (data) => {
              text += data;
            });
            res.on('end', () => resolve({ status: res.statusCode ?? 0, text }));
          },
        );
        asked.on('error', reject).end(body);
      });
    const helm = (...args: string[]) =>
      execFileSync(programs.helm, args, {
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
      const { items } = JSON.parse((await call('GET', `/${resources[kind]}`)).text);
      return items.map(({ metadata }: { metadata: { name: string } }) => metadata.name).sort();
    };

    beforeAll(async () => {
      cpSync(join(__dirname, 'keystead'), chart, { recursive: true });
      // A server that was built from source by hand says that it is v0.0.0.
      const about = readFileSync(join(chart, 'Chart.yaml'), 'utf8');
      writeFileSync(join(chart, 'Chart.yaml'), about.replace(/^kubeVersion:.*\n/m, ''));
      const [client, peer] = [await freePort(), await freePort()];
      port = await freePort();
      const etcd = `http://127.0.0.1:${client}`;
      const peers = `http://127.0.0.1:${peer}`;
      start('etcd', [
        ...['--data-dir', join(folder, 'etcd'), '--listen-client-urls', etcd, '--advertise-client-urls', etcd],
        ...[
          '--listen-peer-urls',
          peers,
          '--initial-advertise-peer-urls',
          peers,
          '--initial-cluster',
          `default=${peers}`,
        ],
      ]);
      const { privateKey, publicKey } = generateKeyPairSync('rsa', {
        modulusLength: 2048,
        privateKeyEncoding: { type: 'pkcs1', format: 'pem' },
        publicKeyEncoding: { type: 'spki', format: 'pem' },
      });
      const files = {
        'accounts.key': privateKey,
        'accounts.pub': publicKey,
        'tokens.csv': `${token},administrator,administrator,"system:masters"\n`,
        kubeconfig: JSON.stringify({
          apiVersion: 'v1',
          kind: 'Config',
          'current-context': 'here',
          clusters: [
            { name: 'here', cluster: { server: `https://127.0.0.1:${port}`, 'insecure-skip-tls-verify': true } },
          ],
          users: [{ name: 'here', user: { token } }],
          contexts: [{ name: 'here', context: { cluster: 'here', user: 'here', namespace: 'default' } }],
        }),
      };
      for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text, { mode: 0o600 });
      start(programs.server, [
        ...[
          '--etcd-servers',
          etcd,
          '--bind-address',
          '127.0.0.1',
          '--secure-port',
          String(port),
          '--cert-dir',
          join(folder, 'certs'),
        ],
        ...['--service-account-issuer', 'https://api.test', '--service-account-key-file', join(folder, 'accounts.pub')],
        ...[
          '--service-account-signing-key-file',
          join(folder, 'accounts.key'),
          '--token-auth-file',
          join(folder, 'tokens.csv'),
        ],
        ...['--authorization-mode', 'RBAC', '--service-cluster-ip-range', '10.96.0.0/24'],
      ]);
      for (;;) {
        const ready = await call('GET', '/readyz').catch(() => undefined);
        const made = ready?.status === 200 && (await call('GET', '/api/v1/namespaces/default'));
        if (made && made.status === 200) break;
        if (running.some(({ exitCode }) => exitCode !== null)) throw new Error('a program ended');
        await new Promise((resolve) => setTimeout(resolve, 250));
      }
    });
    afterAll(async () => {
      for (const program of running.reverse()) {
        const ended = new Promise((resolve) => program.once('exit', resolve));
        if (program.exitCode === null && program.kill()) await ended;
      }
      rmSync(folder, { recursive: true, force: true });
    });

    it('has no field in any object, hooks too, that the server does not know', async () => {
      const text = helm('template', 'r', chart, '--kube-version', '1.34.0', '--set', all);
      const objects = text.split(/^---$/m).filter((object) => /^kind: /m.test(object));
      expect(objects.length).toBeGreaterThan(10);
      const tried = (object: string) => {
        const [, kind = ''] = /^kind: (\w+)$/m.exec(object) ?? [];
        const [, name] = /^metadata:[\s\S]*?[{\s]name: ([\w.-]+)/m.exec(object) ?? [];
        const how = 'dryRun=All&fieldManager=test&fieldValidation=Strict';
        return call('PATCH', `/${resources[kind]}/${name}?${how}`, object);
      };
      for (const object of objects) {
        const { status, text: said } = await tried(object);
        expect([status, status < 300 ? '' : object + said]).toEqual([201, '']);
      }
      expect(await names('Deployment')).toEqual([]);
      expect((await tried(`${objects[0]}\nunheard: of\n`)).status).toBeGreaterThanOrEqual(400);
    });

    it('is installed, upgraded, rolled back and taken away', async () => {
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
