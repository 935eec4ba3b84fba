import { join } from 'node:path';
import { startVictim, type Victim } from '@keystead/testing';

/** An answer of a node. */
export interface Answer {
  readonly status: number;
  // biome-ignore lint/suspicious/noExplicitAny: bodies of every endpoint
  readonly body: any;
}

/** A node of the service in a separate process. */
export interface NodeProcess extends Victim {
  /** Sets its clock ahead. */
  goAhead(ms: number): Promise<void>;
  /** Status 0 when the connection broke. */
  ask(method: string, path: string, token?: string, body?: object): Promise<Answer>;
}

/** Starts a node on a database; it answers when this resolves. `log` is a descriptor that its log is written to. */
export async function startNode(
  databaseUrl: string,
  env: Record<string, string> = {},
  { flags = [], log = 'ignore' }: { flags?: readonly string[]; log?: number | 'ignore' } = {},
): Promise<NodeProcess> {
  const settings = {
    SECRETS_PORT: '0',
    SECRETS_DATABASE_URL: databaseUrl,
    SECRETS_SEAL_KEY: 'ab'.repeat(32),
    SECRETS_MIGRATE: 'off',
    SECRETS_LOG_LEVEL: 'silent',
    SECRETS_DATABASE_CONNECTIONS: '5',
    ...env,
  };
  const node = await startVictim(join(__dirname, 'node-program.ts'), { env: settings, flags, log });
  return {
    ...node,
    goAhead: (aheadMs) => node.order({ aheadMs }),
    async ask(method, path, token, body) {
      try {
        const response = await fetch(`${node.url}/v1/${path}`, {
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
