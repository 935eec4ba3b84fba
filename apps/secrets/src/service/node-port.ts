import type { Config } from '../config';
import { registry } from '../registry';
import type { NodePort } from '../system/sys/node';
import type { Modules } from './modules';
import { version } from './version';

const LIVING = {
  name: 'node-living',
  text: `SELECT id, address, floor(extract(epoch FROM seen_at) * 1000)::bigint AS heard_at_ms FROM node
          WHERE seen_at > clock_timestamp() - interval '3 seconds' ORDER BY address, id`,
};

/** What this node says of itself, and of the others. */
export function nodePort({ storage, leases }: Modules, config: Config, metrics: () => Promise<string>): NodePort {
  const { listen } = config;
  const startedAtMs = storage.clock.now();
  // Where one node speaks TLS the others do.
  const scheme = listen.tls ? 'https' : 'http';
  return {
    version,
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
    async nodes() {
      const { rows } = await storage.database.query<{ id: string; address: string; heard_at_ms: string }>(LIVING);
      return rows.map(({ id, address, heard_at_ms }) => ({
        address: `${scheme}://${address}`,
        heardAtMs: Number(heard_at_ms),
        own: id === storage.changes.id,
      }));
    },
    async counts() {
      const { rows } = await storage.database.query<{ count: string }>('SELECT count(*) FROM entity');
      return { ...(await leases.counts()), entities: Number(rows[0]!.count) };
    },
    metrics,
    kinds: () => registry,
  };
}
