import { execFile } from 'node:child_process';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import type { EmbeddedServer } from '@keystead/postgres';
import { type LocalConfig, type ServiceName, serviceNames } from './config';
import { hasDatabase, migrate, needsEmbedded, prepareDatabase, startDatabase } from './databases';
import type { FirstRun } from './first-run';
import { agentTokenFile, sealKeyFile } from './seal-keys';
import { ServiceProcess } from './service-process';
import { Stop } from './stop';
import { checkWorker, type WorkerMeans, WorkerProcess, workerEnvironment } from './worker-process';

/** The built programs of the services, and of the worker for remote runs, if there is one. */
export interface Programs extends Record<ServiceName, string> {
  worker?: string;
}

export interface Events {
  /** Called when a process that uses a port has started. */
  launched(pid: number): void;
  /** Called with one sentence after a process has ended and was restarted. */
  notice(message: string): void;
  /** Called if a process fails repeatedly, so that everything must stop. */
  failed(error: Error): void;
}

/** PostgreSQL and both services of one data folder: started in order, kept running, stopped in the reverse order. */
export class Installation {
  private embedded: EmbeddedServer | undefined;
  private readonly running: ServiceProcess[] = [];
  private worker: WorkerProcess | undefined;
  private stopping = false;

  constructor(
    private readonly config: LocalConfig,
    private readonly programs: Programs,
    private readonly events: Events,
  ) {}

  /** Starts PostgreSQL, unless both services have an external one, and returns the addresses of the databases. */
  async startDatabase(): Promise<string> {
    if (!needsEmbedded(this.config)) return 'your own PostgreSQL';
    this.embedded = await startDatabase(this.config.dataDir);
    this.watchDatabase(this.embedded);
    const { socketFolder, port } = this.embedded;
    return `embedded PostgreSQL on ${socketFolder === undefined ? `port ${port}` : 'its own socket'}`;
  }

  /** Creates and migrates both databases and returns their connection strings. */
  async prepareDatabases(): Promise<Record<ServiceName, string>> {
    const prepared = serviceNames.map(async (name) => {
      const url = await prepareDatabase(this.config.services[name], this.embedded);
      await migrate(name, url);
      return [name, url] as const;
    });
    return Object.fromEntries(await Promise.all(prepared)) as Record<ServiceName, string>;
  }

  /** Starts both services and resolves when both answer. */
  async startServices(urls: Record<ServiceName, string>, env: NodeJS.ProcessEnv): Promise<void> {
    const processes = serviceNames.map(
      (name) =>
        new ServiceProcess({
          service: this.config.services[name],
          program: this.programs[name],
          env: serviceEnvironment(this.config, name, urls[name], env),
          logFile: path.join(this.config.dataDir, `${name}.log`),
          pidFile: path.join(this.config.dataDir, `${name}.pid`),
          onLaunch: (pid) => this.events.launched(pid),
          onRestart: (message) => this.events.notice(message),
          onGiveUp: (message) => this.events.failed(new Stop(message)),
        }),
    );
    this.running.push(...processes);
    await Promise.all(processes.map((process) => process.start()));
  }

  /** Finds out whether a worker of remote runs can run here; undefined if none is wanted. */
  async checkWorker(url: string, env: NodeJS.ProcessEnv): Promise<WorkerMeans | undefined> {
    const { worker: program } = this.programs;
    return program && this.config.worker ? checkWorker(program, workerEnvironment(this.config, url, env)) : undefined;
  }

  /** Starts a worker of remote runs. */
  startWorker(url: string, env: NodeJS.ProcessEnv): void {
    const { worker: program } = this.programs;
    if (!program || this.stopping) return;
    this.worker = new WorkerProcess({
      program,
      env: workerEnvironment(this.config, url, env),
      logFile: path.join(this.config.dataDir, 'worker.log'),
      pidFile: path.join(this.config.dataDir, 'worker.pid'),
      onRestart: (message) => this.events.notice(message),
    });
    this.worker.start();
  }

  /** Asks the workspace service to create its first administrator; `undefined` if it has one. */
  async makeAdministrator(
    url: string,
    env: NodeJS.ProcessEnv,
  ): Promise<Omit<FirstRun['workspaces'], 'address'> | undefined> {
    const command = [this.programs.workspaces, 'first-run'];
    const own = serviceEnvironment(this.config, 'workspaces', url, env);
    const { stdout } = await promisify(execFile)(process.execPath, command, { env: own });
    return JSON.parse(stdout) ?? undefined;
  }

  /** Lets the services drain, then stops PostgreSQL. */
  async stop(): Promise<void> {
    this.stopping = true;
    await this.worker?.stop();
    await Promise.all(this.running.map((process) => process.stop()));
    await this.embedded?.stop();
  }

  /** Ends the services at once; PostgreSQL still stops cleanly. */
  async kill(): Promise<void> {
    this.stopping = true;
    this.worker?.kill();
    for (const process of this.running) process.kill();
    await this.embedded?.stop();
  }

  /**
   * The services know PostgreSQL by its socket or port, so a restarted PostgreSQL must have the same socket or port.
   */
  private watchDatabase(server: EmbeddedServer): void {
    server.ended.then(async () => {
      if (this.stopping) return;
      await sleep(50);
      if (!hasDatabase(this.config.dataDir)) {
        this.events.failed(new Stop(`the database files below ${this.config.dataDir} are gone: stopping`));
        return;
      }
      try {
        this.embedded = await startDatabase(this.config.dataDir, server);
      } catch (error) {
        if (!this.stopping) this.events.failed(error as Error);
        return;
      }
      if (this.stopping) return this.embedded.stop();
      this.watchDatabase(this.embedded);
      this.events.notice(`PostgreSQL ended and was started again as process ${this.embedded.pid}`);
    });
  }
}

/** The variables of each service that the other service must not see. */
const settingsOf: Record<ServiceName, RegExp> = {
  secrets: /^(SECRETS|CLOUDONE|CLOUDTWO|SCHEDULER)_/,
  workspaces: /^WORKSPACES_/,
};

function serviceEnvironment(
  config: LocalConfig,
  name: ServiceName,
  url: string,
  env: NodeJS.ProcessEnv,
): NodeJS.ProcessEnv {
  const prefix = name.toUpperCase();
  const service = config.services[name];
  const other = settingsOf[name === 'secrets' ? 'workspaces' : 'secrets'];
  const dropped = [/^(KEYSTEAD_|npm_)/, /^(\w+_)?DATABASE_URL(_FILE)?$/, other];
  const entries = Object.entries(env).filter(([variable]) => !dropped.some((pattern) => pattern.test(variable)));
  return {
    // Every request is audited to a file, unless the operator has configured another device or stdout.
    ...(name === 'secrets'
      ? {
          SECRETS_AUDIT_FILE: path.join(config.dataDir, 'audit.log'),
          SECRETS_AUDIT_TABLE: 'on',
          SECRETS_AUDIT_READS: 'on',
        }
      : {}),
    // There is no load balancer in front of these services: Ctrl-C need not wait for one to notice.
    [`${prefix}_DRAIN_DELAY_SECONDS`]: '0',
    // Links must lead here even if the service listens on all addresses.
    ...(name === 'workspaces'
      ? {
          WORKSPACES_PUBLIC_URL: service.address,
          WORKSPACES_SECRETS_PUBLIC_URL: config.services.secrets.address,
          // The secrets service is called only for workspaces with a `secrets-role`.
          WORKSPACES_SECRETS_ADDR: config.services.secrets.address,
          ...(config.worker && config.agentToken === undefined
            ? { WORKSPACES_AGENT_TOKEN_FILE: agentTokenFile(config.dataDir) }
            : {}),
        }
      : { SECRETS_PUBLIC_URL: service.address, SECRETS_UI_WORKSPACES_URL: config.services.workspaces.address }),
    ...Object.fromEntries(entries),
    [`${prefix}_HOST`]: service.host,
    [`${prefix}_PORT`]: String(service.port),
    [`${prefix}_DATABASE_URL`]: url,
    ...(service.ownSealKey ? {} : { [`${prefix}_SEAL_KEY_FILE`]: sealKeyFile(config.dataDir, name) }),
  };
}
