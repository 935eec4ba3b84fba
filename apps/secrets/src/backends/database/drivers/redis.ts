import { usualReach } from '@keystead/outside';
import { createClient } from '@redis/client';
import { refuse } from '../../../sdk/refuse';
import { filledAddress, requireOpen } from '../address';
import type { DatabaseConfig } from '../config-fields';
import {
  type DatabaseClient,
  type Driver,
  limits,
  RunningCalls,
  refuseLimits,
  type ServerSession,
  type Statements,
  withoutPort,
} from '../driver';
import type { Words } from '../statements';

const usualRules = ['~*', '+@read'];

/** Redis and Valkey. Users are entries of its access control list; a statement is a JSON list of their rules. */
export const redis: Driver = {
  plugins: ['redis-database-plugin', 'valkey-database-plugin'],
  needsCreation: false,
  names: {
    template:
      '{{ printf "v_%s_%s_%s_%s" (.DisplayName | truncate 64) (.RoleName | truncate 64) (random 20) (unix_time) | uppercase }}',
    longest: 180,
  },
  check(config) {
    refuseLimits(config, 'Redis and Valkey');
    socketOf(config);
  },
  login: socketOf,
  open: (config) => new RedisDatabase(config),
};

class RedisDatabase implements DatabaseClient {
  private readonly client: ReturnType<typeof clientOf>;
  private readonly calls = new RunningCalls();
  private opening: Promise<unknown> | undefined;

  constructor(config: DatabaseConfig) {
    this.client = clientOf(config);
    // The error is ignored: running calls throw it, and the next call reconnects.
    this.client.on('error', () => {});
  }

  async verify(): Promise<void> {
    await this.send('PING');
  }

  async create(statements: Statements, { name, password }: Words): Promise<void> {
    await this.send('ACL', 'SETUSER', name!, 'RESET', 'ON', `>${password}`, ...rulesOf(statements, usualRules));
  }

  async renew(): Promise<void> {}

  async setPassword(statements: Statements, { name, password }: Words): Promise<void> {
    await this.send('ACL', 'SETUSER', name!, 'RESETPASS', `>${password}`, ...rulesOf(statements, []));
  }

  /** Drops a user. Redis also closes the connections of the user. */
  async remove(_statements: Statements, { name }: Words): Promise<void> {
    await this.send('ACL', 'DELUSER', name!);
  }

  async sessions(): Promise<ServerSession[]> {
    const own = String(await this.send('CLIENT', 'ID'));
    const nowMs = Date.now();
    const lines = String(await this.send('CLIENT', 'LIST'))
      .split('\n')
      .filter(Boolean);
    return lines.flatMap((line) => {
      const { id, addr, name, age, cmd, user } = Object.fromEntries(
        line.split(' ').map((pair) => [pair.slice(0, pair.indexOf('=')), pair.slice(pair.indexOf('=') + 1)]),
      );
      // Connections of replicas, for example, have no user.
      if (id === undefined || user === undefined || user === '(superuser)' || id === own) return [];
      const sinceMs = nowMs - Number(age) * 1000;
      return [
        { id, username: user, address: withoutPort(addr ?? ''), application: name ?? '', state: cmd ?? '', sinceMs },
      ];
    });
  }

  async close(): Promise<void> {
    await this.calls.end();
    if (this.client.isOpen) this.client.destroy();
  }

  private send(...command: string[]): Promise<unknown> {
    return this.calls.add(this.sendNow(command));
  }

  private async sendNow(command: string[]): Promise<unknown> {
    if (!this.client.isReady) {
      this.opening ??= this.connect().finally(() => {
        this.opening = undefined;
      });
      await this.opening;
    }
    return this.client.sendCommand(command, { timeout: limits.callMs });
  }

  private async connect(): Promise<void> {
    if (this.client.isOpen) this.client.destroy();
    await this.client.connect();
  }
}

function socketOf(config: DatabaseConfig) {
  if (config.connection_url) {
    const schemes = ['redis:', 'rediss:', 'valkey:', 'valkeys:'];
    const { host, port, user, password } = filledAddress(config, schemes, 6379);
    return { host, port, user, password, tls: /^(rediss|valkeys):/.test(config.connection_url) };
  }
  const { host, port, username: user, password, tls } = config;
  if (!host) refuse('host cannot be empty');
  if (host.startsWith('/')) refuse('host must be a name or an address');
  requireOpen(host);
  if (port === 0) refuse('port cannot be empty');
  if (port < 0 || port > 65_535) refuse('port is not valid');
  if (!user) refuse('username cannot be empty');
  if (!password) refuse('password cannot be empty');
  return { host, port, user, password, tls };
}

function clientOf(config: DatabaseConfig) {
  const { host, port, user, password, tls } = socketOf(config);
  const where = {
    host,
    port,
    connectTimeout: limits.connectMs,
    lookup: usualReach.lookup,
    reconnectStrategy: false,
  } as const;
  const ca = config.ca_cert || config.tls_ca;
  return createClient({
    username: user,
    password,
    disableOfflineQueue: true,
    socket: tls ? { ...where, tls: true, rejectUnauthorized: !config.insecure_tls, ...(ca && { ca }) } : where,
  });
}

function rulesOf(statements: Statements, usual: readonly string[]): readonly string[] {
  if (statements.length === 0) return usual;
  return statements.flatMap((statement) => {
    const rules = parsed(statement);
    if (!Array.isArray(rules) || !rules.every((rule) => typeof rule === 'string')) {
      refuse('a statement for Redis must be a JSON list of rules, such as ["~app:*", "+get"]');
    }
    // These rules would set other passwords or disable the user.
    const ownRule = rules.find((rule) => /^(?:[<>#!]|nopass$|resetpass$|reset$|on$|off$)/i.test(rule.trim()));
    return ownRule === undefined ? rules : refuse(`a statement for Redis cannot have the rule ${ownRule.slice(0, 1)}…`);
  });
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
