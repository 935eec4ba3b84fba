import { type ChildProcess, spawn } from 'node:child_process';
import { generateKeyPairSync } from 'node:crypto';
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { request } from 'node:https';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { testCertificate } from './certificate';
import { findProgram } from './find-program';
import { freePort } from './free-port';

const etcd = findProgram('etcd');
const program = process.env.KEYSTEAD_KUBE_APISERVER || findProgram('kube-apiserver');

/** Whether this machine has kube-apiserver (from KEYSTEAD_KUBE_APISERVER or the PATH) and etcd. */
export const hasKubeApiServer = etcd !== undefined && program !== undefined && existsSync(program);

/** A real Kubernetes API server with its own etcd. The cluster has no other parts, so no pods run in it. */
export class KubeApiServer {
  /** The token of an administrator. */
  readonly token = 'of-the-administrator';
  private folder = '';
  private readonly running: ChildProcess[] = [];
  private port = 0;
  private options: string[] = [];
  private server: ChildProcess | undefined;

  /** Where it is, with no slash at the end; it serves `testCertificate`. */
  get address(): string {
    return `https://127.0.0.1:${this.port}`;
  }

  async start(): Promise<void> {
    const [client, peer, port] = await Promise.all([freePort(), freePort(), freePort()]);
    this.port = port;
    this.folder = mkdtempSync(path.join(tmpdir(), 'kube-'));
    const store = `http://127.0.0.1:${client}`;
    const ring = `http://127.0.0.1:${peer}`;
    this.run(etcd!, [
      ...['--data-dir', this.file('etcd'), '--listen-client-urls', store, '--advertise-client-urls', store],
      ...['--listen-peer-urls', ring, '--initial-advertise-peer-urls', ring, '--initial-cluster', `default=${ring}`],
    ]);
    const { privateKey, publicKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
    const files = {
      'accounts.key': privateKey.export({ type: 'pkcs8', format: 'pem' }),
      'accounts.pub': publicKey.export({ type: 'spki', format: 'pem' }),
      'tls.pem': testCertificate.cert,
      'tls.key': testCertificate.key,
      'tokens.csv': `${this.token},administrator,administrator,system:masters\n`,
    };
    for (const [name, text] of Object.entries(files)) writeFileSync(this.file(name), text, { mode: 0o600 });
    this.options = [
      `--etcd-servers=${store}`,
      `--secure-port=${port}`,
      '--bind-address=127.0.0.1',
      '--advertise-address=127.0.0.1',
      // Newer versions do not announce an address of the loopback.
      '--endpoint-reconciler-type=none',
      `--tls-cert-file=${this.file('tls.pem')}`,
      `--tls-private-key-file=${this.file('tls.key')}`,
      `--cert-dir=${this.folder}`,
      `--token-auth-file=${this.file('tokens.csv')}`,
      '--authorization-mode=RBAC',
      '--service-cluster-ip-range=10.96.0.0/24',
      // Clients find the issuer's discovery document at this address.
      `--service-account-issuer=${this.address}`,
      `--service-account-key-file=${this.file('accounts.pub')}`,
      `--service-account-signing-key-file=${this.file('accounts.key')}`,
    ];
    await this.resume();
  }

  /** Kills the server; its data stays. */
  async kill(): Promise<void> {
    await end(this.server!);
  }

  /** Starts the server, and waits until it answers and has its first namespace. */
  async resume(): Promise<void> {
    this.server = this.run(program!, this.options);
    const isReady = async (at: string) => (await this.call('GET', at).catch(() => undefined))?.status === 200;
    for (let tries = 0; !((await isReady('/readyz')) && (await isReady('/api/v1/namespaces/default'))); tries++) {
      if (this.running.some(({ exitCode }) => exitCode !== null)) throw new Error('the API server or its etcd ended');
      if (tries > 900) throw new Error('the API server does not get ready');
      await sleep(100);
    }
  }

  /** Stops everything and removes its data. */
  async stop(): Promise<void> {
    for (const child of this.running.reverse()) await end(child);
    if (this.folder !== '') rmSync(this.folder, { recursive: true, force: true });
  }

  /** Calls it, as the administrator unless another token is given. */
  call(
    method: string,
    at: string,
    body?: string,
    type = 'application/json',
    token = this.token,
  ): Promise<{ status: number; text: string }> {
    return new Promise((resolve, reject) => {
      const headers = { authorization: `Bearer ${token}`, ...(body && { 'content-type': type }) };
      const call = request(this.address + at, { method, headers, ca: testCertificate.cert }, (response) => {
        let text = '';
        response.setEncoding('utf8').on('data', (piece) => {
          text += piece;
        });
        response.on('end', () => resolve({ status: response.statusCode ?? 0, text }));
      });
      call.on('error', reject).end(body);
    });
  }

  private file(name: string): string {
    return path.join(this.folder, name);
  }

  private run(command: string, options: string[]): ChildProcess {
    const child = spawn(command, options, { cwd: this.folder, stdio: 'ignore' });
    this.running.push(child);
    return child;
  }
}

async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const ended = new Promise((resolve) => child.once('exit', resolve));
  child.kill('SIGKILL');
  await ended;
}
