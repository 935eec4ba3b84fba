import { type ChildProcess, fork } from 'node:child_process';
import { join } from 'node:path';
import { fromSource } from '@keystead/testing';

/** An answer of a node. */
export interface Answer {
  readonly status: number;
  // biome-ignore lint/suspicious/noExplicitAny: bodies of every endpoint
  readonly body: any;
}

/** A node of the service in a separate process. */
export interface NodeProcess {
  readonly url: string;
  readonly pid: number;
  /** Resolves when the process has ended, however. */
  readonly ended: Promise<void>;
  /** The process kills itself at this fault point, after it has passed it the given number of times. */
  dieAt(name: string, passes?: number): Promise<void>;
  /** Starts to record the fault points that the process passes; returns those recorded before. */
  record(on: boolean): Promise<readonly string[]>;
  /** Sets its clock ahead. */
  goAhead(ms: number): Promise<void>;
  kill(): Promise<void>;
  stop(): Promise<void>;
  /** Status 0 when the connection broke. */
  ask(method: string, path: string, token?: string, body?: object): Promise<Answer>;
}

/** Starts a node on a database; it answers when this resolves. `log` is a descriptor that its log is written to. */
export async function startNode(
  databaseUrl: string,
  env: Record<string, string> = {},
  { flags = [], log = 'ignore' }: { flags?: readonly string[]; log?: number | 'ignore' } = {},
): Promise<NodeProcess> {
  const child = fork(join(__dirname, 'node-program.ts'), [], {
    execArgv: [...fromSource, ...flags],
    stdio: ['ignore', log, 'pipe', 'ipc'],
    env: {
      ...process.env,
      NODE_OPTIONS: '',
      SECRETS_PORT: '0',
      SECRETS_DATABASE_URL: databaseUrl,
      SECRETS_SEAL_KEY: 'ab'.repeat(32),
      SECRETS_MIGRATE: 'off',
      SECRETS_LOG_LEVEL: 'silent',
      SECRETS_DATABASE_CONNECTIONS: '5',
      ...env,
    },
  });
  let said = '';
  child.stderr!.on('data', (chunk) => {
    said = (said + chunk).slice(-4000);
  });
  const ended = new Promise<void>((resolve) => child.once('exit', () => resolve()));
  const { url } = await message<{ url: string }>(child, ended, () => said);
  const order = async (what: object) => {
    child.send(what);
    return message<{ passed: string[] }>(child, ended, () => said);
  };
  const signal = async (name: NodeJS.Signals) => {
    if (child.exitCode === null && child.signalCode === null) child.kill(name);
    await ended;
  };
  return {
    url,
    pid: child.pid!,
    ended,
    dieAt: async (dieAt, passes) => void (await order({ dieAt, passes })),
    record: async (record) => (await order({ record })).passed,
    goAhead: async (aheadMs) => void (await order({ aheadMs })),
    kill: () => signal('SIGKILL'),
    stop: () => signal('SIGTERM'),
    async ask(method, path, token, body) {
      try {
        const response = await fetch(`${url}/v1/${path}`, {
          method,
          headers: token === undefined ? {} : { 'X-Service-Token': token },
          body: body === undefined ? undefined : JSON.stringify(body),
          signal: AbortSignal.timeout(20_000),
        });
        const text = await response.text();
        return { status: response.status, body: text === '' ? undefined : JSON.parse(text) };
      } catch {
        return { status: 0, body: undefined };
      }
    },
  };
}

/** Initialises the installation through one of its nodes. */
export async function initialise(node: NodeProcess): Promise<{ token: string; shares: string[] }> {
  const { status, body } = await node.ask('POST', 'sys/init', undefined, { recovery_shares: 5, recovery_threshold: 3 });
  if (status !== 200) throw new Error(`init answered ${status}`);
  return { token: body.root_token, shares: body.recovery_keys };
}

function message<T>(child: ChildProcess, ended: Promise<void>, said: () => string): Promise<T> {
  return Promise.race([
    new Promise<T>((resolve) => child.once('message', (what) => resolve(what as T))),
    ended.then(() => {
      throw new Error(`the node ended: ${said()}`);
    }),
  ]);
}
