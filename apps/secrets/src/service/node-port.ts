import { registry } from '../backends/registry';
import type { NodePort } from '../backends/sys/node';
import type { Config } from '../config';
import type { Modules } from './modules';
import { version } from './version';

/** What this node says of itself. */
export function nodePort({ storage, leases }: Modules, config: Config, metrics: () => Promise<string>): NodePort {
  const { listen } = config;
  const startedAtMs = storage.clock.now();
  return {
    version,
    address: `${listen.tls ? 'https' : 'http'}://${listen.host}:${listen.port}`,
    startedAtMs,
    settings: () => ({
      listeners: [{ type: 'tcp', config: { address: `${listen.host}:${listen.port}`, tls_disable: !listen.tls } }],
      seals: [{ type: config.seal.type, disabled: false }],
      storage: { type: 'postgresql', max_connections: config.databaseConnections, poll: config.databasePoll },
      default_lease_ttl: config.ttls.defaultLeaseTtlSeconds,
      max_lease_ttl: config.ttls.maxLeaseTtlSeconds,
      cluster_name: config.clusterName,
      log_level: config.logLevel,
      audit: { file: config.audit.file ?? '', stdout: config.audit.stdout, table: config.audit.table },
      family_headers: config.familyHeaders,
      request_timeout: config.requestTimeoutSeconds,
    }),
    async counts() {
      const { rows } = await storage.database.query<{ count: string }>('SELECT count(*) FROM entity');
      return { ...(await leases.counts()), entities: Number(rows[0]!.count) };
    },
    metrics,
    kinds: () => registry,
  };
}
