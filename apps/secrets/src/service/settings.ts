import type { Config } from '../config';

/** The settings of this node without secrets, by the name of their variable. */
export function settingsOf(config: Config): Readonly<Record<string, unknown>> {
  const { listen } = config;
  return {
    listeners: [{ type: 'tcp', config: { address: `${listen.host}:${listen.port}`, tls_disable: !listen.tls } }],
    seals: [{ type: config.seal.type, disabled: false }],
    storage: {
      type: 'postgresql',
      max_connections: config.databaseConnections,
      poll: config.databasePoll,
      standby_max_lag: config.standby && config.standby.maxLagMs / 1000,
    },
    default_lease_ttl: config.ttls.defaultLeaseTtlSeconds,
    max_lease_ttl: config.ttls.maxLeaseTtlSeconds,
    cluster_name: config.clusterName,
    log_level: config.logLevel,
    audit: {
      file: config.audit.file ?? '',
      stdout: config.audit.stdout,
      table: config.audit.table,
      reads: config.audit.reads,
      by_api_directory: config.audit.directory ?? '',
      by_api_receivers: config.audit.receiversByApi?.networks ?? [],
      receivers: config.audit.receivers.map(({ type }) => type),
    },
    family_headers: config.familyHeaders,
    unknown_parameters: config.unknownParameters,
    request_timeout: config.requestTimeoutSeconds,
  };
}
