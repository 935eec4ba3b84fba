import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { CloudStandIn } from '../../apps/secrets/test/stand-ins/cloudtwo';
import { SchedulerStandIn } from '../../apps/secrets/test/stand-ins/scheduler';
import { firewallRules } from '../../apps/workspaces/src/worker/network/network';
import { makeSecrets, type SecretsCredentials } from './make-secrets';
import { makeWorkspaces, type WorkspacesCredentials } from './make-workspaces';
import { type Program, startProgram, type Version } from './programs';
import { writeStandInTool } from './stand-in-tool';

/** The settings of a recording's services, except database and port. Stored with it: the keys open it. */
export interface Settings {
  readonly secrets: Readonly<Record<string, string>>;
  readonly workspaces: Readonly<Record<string, string>>;
}

/** The users in a recording, with their secrets. */
export interface Credentials {
  readonly secrets: SecretsCredentials;
  readonly workspaces: WorkspacesCredentials;
}

/** Databases of both services. */
export type Urls = Readonly<Record<'secrets' | 'workspaces', string>>;

/** Settings of a new recording: fixed addresses, so that links are the same wherever it is opened. */
export const settings: Settings = {
  secrets: {
    SECRETS_SEAL_KEY: '1e'.repeat(32),
    SECRETS_PUBLIC_URL: 'https://secrets.kept.test',
    SECRETS_MAX_LEASE_TTL: '876000h',
    SECRETS_AUDIT_TABLE: 'on',
    SECRETS_DEFAULT_MOUNTS: 'none',
    SECRETS_LOG_LEVEL: 'warn',
  },
  workspaces: {
    WORKSPACES_SEAL_KEY: '2d'.repeat(32),
    WORKSPACES_PUBLIC_URL: 'https://workspaces.kept.test',
    WORKSPACES_RATE_LIMIT: '0',
    WORKSPACES_LOG_LEVEL: 'warn',
  },
};

/** Users for the runs of a worker here. */
const uids = { first: 300_000, last: 300_063 };

/** Both services of a version on two databases. */
export class Installation {
  private constructor(
    private readonly version: Version,
    private readonly urls: Urls,
    private readonly given: Settings,
    public secrets: Program,
    public workspaces: Program,
  ) {}

  static async start(version: Version, urls: Urls, given: Settings): Promise<Installation> {
    const [secrets, workspaces] = await Promise.all([
      startProgram(version, 'secrets', environmentOf('secrets', urls, given)),
      startProgram(version, 'workspaces', environmentOf('workspaces', urls, given)),
    ]);
    return new Installation(version, urls, given, secrets, workspaces);
  }

  private worker: Program | undefined;

  /** Starts a worker that runs the stand-in of the tool, in a folder. */
  async startWorker(box: string): Promise<void> {
    this.worker = await startProgram(this.version, 'worker', {
      ...environmentOf('workspaces', this.urls, this.given),
      WORKSPACES_WORKER_BINARY: writeStandInTool(box),
      WORKSPACES_WORKER_TRUST: 'same-user',
      WORKSPACES_WORKER_FIRST_UID: String(uids.first),
      WORKSPACES_WORKER_SCRATCH: path.join(box, 'scratch'),
    });
  }

  /** Starts both services again. */
  async restart(): Promise<void> {
    await this.stop();
    const { secrets, workspaces } = await Installation.start(this.version, this.urls, this.given);
    Object.assign(this, { secrets, workspaces });
  }

  async stop(signal: NodeJS.Signals = 'SIGTERM'): Promise<void> {
    await Promise.all([this.stopWorker(signal), this.secrets.kill(signal), this.workspaces.kill(signal)]);
  }

  /** Ends the worker, and removes its network rules for the users of its runs. */
  async stopWorker(signal: NodeJS.Signals): Promise<void> {
    if (!this.worker) return;
    await this.worker.kill(signal);
    this.worker = undefined;
    const place = { port: Number(new URL(this.urls.workspaces).port), addresses: ['127.0.0.1'], local: true };
    for (const { program, rule } of firewallRules(uids, place)) spawnSync(program, ['-w', '-D', ...rule]);
  }
}

function environmentOf(name: 'secrets' | 'workspaces', urls: Urls, given: Settings): Record<string, string> {
  return { ...given[name], [`${name.toUpperCase()}_DATABASE_URL`]: urls[name] };
}

/** A version with an object of every kind, and the stand-ins that its engines call. */
export interface Furnished {
  readonly installation: Installation;
  readonly credentials: Credentials;
  readonly scheduler: SchedulerStandIn;
  /** Ends everything that still runs. */
  end(): Promise<void>;
}

/** Starts a version on two new databases and creates an object of every kind. */
export async function furnish(version: Version, urls: Urls): Promise<Furnished> {
  const box = mkdtempSync(path.join(tmpdir(), 'keystead-furnish-'));
  const firstRun = path.join(box, 'first-run.json');
  const scheduler = new SchedulerStandIn();
  const cloud = new CloudStandIn();
  await Promise.all([scheduler.start(), cloud.start()]);
  const environment = { ...settings, workspaces: { ...settings.workspaces, WORKSPACES_FIRST_RUN_FILE: firstRun } };
  const installation = await Installation.start(version, urls, environment);
  const end = async () => {
    await installation.stop('SIGKILL');
    await Promise.all([scheduler.stop(), cloud.stop()]);
    rmSync(box, { recursive: true, force: true });
  };
  try {
    await installation.startWorker(box);
    const secrets = await makeSecrets(installation.secrets.address, {
      scheduler: { address: scheduler.address, management: scheduler.management },
      cloud: { address: cloud.address, keyId: cloud.rootKey.id, secret: cloud.rootKey.secret },
    });
    const admin = JSON.parse(readFileSync(firstRun, 'utf8'));
    const workspaces = await makeWorkspaces(installation.workspaces.address, admin);
    await installation.stopWorker('SIGKILL');
    return { installation, credentials: { secrets, workspaces }, scheduler, end };
  } catch (error) {
    await end();
    throw error;
  }
}
