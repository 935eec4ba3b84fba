import {
  BadConfig,
  describeSettings,
  entriesOf,
  onOff,
  parsed,
  readSettings,
  readShared,
  sharedFromFile,
  sharedSettings,
  trustedProxies,
  webAddress,
  wholeNumber,
} from '@keystead/settings';
import { readHeaders } from '@keystead/tracing';
import { z } from 'zod';
import { type AuditReceiver, socketAt, syslogAt } from './kernel/audit/receiver';
import { parseDuration } from './sdk/duration';
import { withoutEndSlashes } from './sdk/path-text';

const seconds = (fallback: number) =>
  z
    .string()
    .transform((text, context): number => {
      const parsed = parseDuration(text);
      if (parsed !== undefined && parsed > 0) return parsed;
      context.addIssue({ code: 'custom', message: 'is not a duration such as 30s or 768h' });
      return z.NEVER;
    })
    .default(fallback);

const receiver = (read: (text: string) => AuditReceiver | undefined, form: string) =>
  parsed((text) => {
    const found = read(text);
    if (!found) throw new Error(`is not ${form}`);
    return found;
  }).optional();

const networks = parsed((text) => {
  const entries = entriesOf(text);
  trustedProxies(entries);
  return entries;
});

/** Parses networks, and `syslog`, which means the syslog daemon of the machine. */
const receivers = parsed((text) => {
  const entries = entriesOf(text);
  const networks = entries.filter((entry) => entry !== 'syslog');
  try {
    trustedProxies(networks);
  } catch {
    throw new Error('must be comma-separated addresses or CIDR blocks, and syslog');
  }
  return { networks, syslog: networks.length < entries.length };
}).optional();

const Variables = z.object({
  ...sharedSettings('SECRETS', { port: 8200, connections: 10 }),
  SECRETS_DATABASE_POLL: onOff(false).describe('Poll for changes of other nodes instead of listening for them.'),
  SECRETS_SEAL: z
    .enum(['auto', 'shamir'])
    .default('auto')
    .describe('auto: the seal key unseals the service; shamir: key shares entered at sys/unseal.'),
  SECRETS_SEAL_KEY: z
    .string()
    .optional()
    .describe('The key that encrypts all other keys: 32 bytes, hex or base64. Without it, all secrets are lost.'),
  SECRETS_SEAL_KEY_FILE: z.string().optional().describe('File with the seal key.'),
  SECRETS_PREVIOUS_SEAL_KEY: z
    .string()
    .optional()
    .describe('The previous seal key, for the first start after a change.'),
  SECRETS_PREVIOUS_SEAL_KEY_FILE: z.string().optional().describe('File with the previous seal key.'),
  SECRETS_PUBLIC_URL: webAddress
    .optional()
    .describe('Address at which clients reach the service. The issuer of its identity tokens begins with it.'),
  SECRETS_TLS_CLIENT_CERTIFICATES: onOff(true).describe(
    'With TLS: ask for a client certificate, for auth/cert. Clients can still connect without one.',
  ),
  SECRETS_CLIENT_CERTIFICATE_HEADER: z
    .string()
    .regex(/^[A-Za-z0-9-]+$/, 'is not the name of a header')
    .transform((name) => name.toLowerCase())
    .optional()
    .describe('Header in which trusted proxies send the client’s certificate: escaped PEM, or the format of RFC 9440.'),
  SECRETS_AUDIT_FILE: z.string().optional().describe('File to which audit lines are appended (device file/).'),
  SECRETS_AUDIT_STDOUT: onOff(false).describe('Write audit lines to standard output (device stdout/).'),
  SECRETS_AUDIT_TABLE: onOff(false).describe('Also record changes in a hash-chained table (sys/audit-chain).'),
  SECRETS_AUDIT_READS: onOff(false).describe(
    'Also record in a table who read which secret, and when (sys/audit-reads).',
  ),
  SECRETS_AUDIT_READS_DAYS: wholeNumber(1, 3650).default(90).describe('Days for which recorded reads are kept.'),
  SECRETS_AUDIT_BY_API_DIRECTORY: z
    .string()
    .optional()
    .describe('Enables sys/audit/:path for file devices. Directory for their files; use it for nothing else.'),
  SECRETS_AUDIT_BY_API_RECEIVERS: receivers.describe(
    'Enables sys/audit/:path for devices of the types socket, syslog and http. Addresses or CIDR blocks to which they may send, and syslog for the syslog daemon of the machine.',
  ),
  SECRETS_AUDIT_SYSLOG: receiver(syslogAt, 'udp://, tcp:// or tls://host:port, or unix:///dev/log').describe(
    'Syslog server to which audit lines are sent (device syslog/): udp://, tcp:// or tls://host:port, or unix:///path; ?facility=AUTH&tag=keystead may follow.',
  ),
  SECRETS_AUDIT_SOCKET: receiver(socketAt, 'udp://, tcp:// or tls://host:port, or unix:///path').describe(
    'Address to which audit lines are sent without changes (device socket/): tcp://, tls:// or udp://host:port, or unix:///path.',
  ),
  SECRETS_AUDIT_HTTP: z
    .url({ protocol: /^https?$/ })
    .optional()
    .describe('URL to which audit lines are posted (device http/).'),
  SECRETS_AUDIT_HTTP_HEADERS: parsed(readHeaders)
    .optional()
    .describe(
      'Headers of these requests: name=value,…, with percent-encoded values. Also as SECRETS_AUDIT_HTTP_HEADERS_FILE.',
    ),
  SECRETS_AUDIT_SYNC: onOff(false).describe('Wait until audit lines are written to disk.'),
  SECRETS_ACME_NETWORKS: networks
    .optional()
    .describe(
      'Private addresses or CIDR blocks that the service may call for ACME challenges, in addition to public ones.',
    ),
  SECRETS_DEFAULT_MOUNTS: z
    .string()
    .default('auth/cloudone,scheduler,cloudtwo')
    .describe('Mounts of a new installation in addition to the fixed mounts. none: no others.'),
  SECRETS_DEFAULT_LEASE_TTL: seconds(768 * 3600).describe('Default lifetime of tokens and leases.'),
  SECRETS_MAX_LEASE_TTL: seconds(768 * 3600).describe(
    'Maximum lifetime of tokens and leases, unless a mount sets another.',
  ),
  SECRETS_REQUEST_TIMEOUT: seconds(90).describe('How long a request may take.'),
  SECRETS_FAMILY_HEADERS: onOff(true).describe('Also accept X-Vault-* headers, which existing clients send.'),
  SECRETS_UNKNOWN_PARAMETERS: z
    .enum(['warn', 'refuse'])
    .default('warn')
    .describe(
      'What to do with unknown (for example mistyped) fields. warn: report them in warnings. refuse: answer 400.',
    ),
  SECRETS_UI: onOff(true).describe('Show the console at /ui/.'),
  SECRETS_UI_IDLE_MINUTES: wholeNumber(1, 24 * 60)
    .default(30)
    .describe('Minutes without activity after which the console signs the user out.'),
  SECRETS_UI_SESSION_HOURS: wholeNumber(1, 24 * 7)
    .default(12)
    .describe('Hours after which the console asks users to sign in again.'),
  SECRETS_UI_WORKSPACES_URL: webAddress
    .optional()
    .describe('Address at which browsers reach the workspace service, for links between the consoles.'),
  SECRETS_CLUSTER_NAME: z.string().default('keystead').describe('Name shown in sys/health and sys/seal-status.'),
  SECRETS_FIRST_RUN_FILE: z
    .string()
    .optional()
    .describe('The first start initialises the service and writes the root token and keys to this new file.'),
  SCHEDULER_ADDR: z.string().default('').describe('Default scheduler address for config/access.'),
  SCHEDULER_TOKEN: z
    .string()
    .default('')
    .describe('Default management token for SCHEDULER_ADDR. It is not sent to other addresses.'),
  CLOUDONE_TENANT_ID: z.string().default('').describe('Default tenant for the configuration of cloudone.'),
  CLOUDONE_AD_RESOURCE: z.string().default('').describe('Default audience of JWTs for cloudone.'),
  CLOUDONE_ENVIRONMENT: z.string().default('').describe('Default cloud for cloudone.'),
  CLOUDONE_CLIENT_ID: z.string().default('').describe('Default client ID for cloudone.'),
  CLOUDONE_CLIENT_SECRET: z.string().default('').describe('Default client secret for cloudone.'),
  CLOUDONE_AUTHORITY_HOST: z.string().default('').describe('Directory to use instead of the public one, for cloudone.'),
  CLOUDONE_RESOURCE_MANAGER: z
    .string()
    .default('')
    .describe('Compute API to use instead of the public one, for cloudone.'),
  CLOUDONE_METADATA_HOST: z
    .string()
    .default('')
    .describe('Instance metadata service to use instead of the usual one, for cloudone.'),
  CLOUDTWO_ACCESS_KEY: z.string().default('').describe('Default access key for config/root of cloudtwo.'),
  CLOUDTWO_SECRET_KEY: z.string().default('').describe('Default secret key for config/root of cloudtwo.'),
  CLOUDTWO_REGION: z.string().default('').describe('Default region for config/root of cloudtwo.'),
  CLOUDTWO_DEFAULT_REGION: z.string().default('').describe('Default region if CLOUDTWO_REGION is not set.'),
});

/** Variables that may instead name a file holding the value. */
const fromFile = [
  ...sharedFromFile.map((name) => `SECRETS_${name}`),
  'SECRETS_AUDIT_HTTP_HEADERS',
  'SCHEDULER_TOKEN',
  'CLOUDONE_CLIENT_SECRET',
  'CLOUDTWO_ACCESS_KEY',
  'CLOUDTWO_SECRET_KEY',
];

const own = /^(SECRETS|CLOUDONE|CLOUDTWO)_|^SCHEDULER_(ADDR|TOKEN)(_FILE)?$/;

/** How a service process is set up. */
export type Config = ReturnType<typeof readConfig>;

/** Reads the configuration from the environment. Throws `BadConfig` naming every unknown or bad variable. */
export function readConfig(environment: NodeJS.ProcessEnv) {
  const { settings, problems } = readSettings(Variables, environment, { own, fromFile });
  const shared = readShared('SECRETS', settings, problems);
  const { tls } = shared.listen;
  if (settings.SECRETS_DEFAULT_LEASE_TTL > settings.SECRETS_MAX_LEASE_TTL) {
    problems.push('SECRETS_DEFAULT_LEASE_TTL is longer than SECRETS_MAX_LEASE_TTL');
  }
  if (settings.SECRETS_SEAL === 'auto' && !settings.SECRETS_SEAL_KEY && !settings.SECRETS_SEAL_KEY_FILE) {
    problems.push('SECRETS_SEAL_KEY or SECRETS_SEAL_KEY_FILE must be set, or SECRETS_SEAL=shamir');
  }
  if (settings.SECRETS_CLIENT_CERTIFICATE_HEADER !== undefined && !settings.SECRETS_TRUSTED_PROXIES?.length) {
    problems.push('SECRETS_CLIENT_CERTIFICATE_HEADER needs SECRETS_TRUSTED_PROXIES: only these proxies may send it');
  }
  if (settings.SECRETS_SEAL === 'shamir' && settings.SECRETS_PROCESSES > 1) {
    problems.push('SECRETS_PROCESSES must be 1 with SECRETS_SEAL=shamir: a share would reach only one process');
  }
  if (shared.standby && settings.SECRETS_SEAL === 'shamir') {
    problems.push('SECRETS_STANDBY_MAX_LAG needs SECRETS_SEAL=auto: a share given to one node opens all by a write');
  }
  if (shared.standby && settings.SECRETS_FIRST_RUN_FILE !== undefined) {
    problems.push('SECRETS_FIRST_RUN_FILE is for a node that writes: unset it, or SECRETS_STANDBY_MAX_LAG');
  }
  if (shared.standby && settings.SECRETS_AUDIT_READS) {
    problems.push('SECRETS_AUDIT_READS is for a node that writes: unset it, or SECRETS_STANDBY_MAX_LAG');
  }
  if (problems.length > 0) throw new BadConfig(problems);
  return {
    ...shared,
    listen: { ...shared.listen, tls: tls && { ...tls, clientCertificates: settings.SECRETS_TLS_CLIENT_CERTIFICATES } },
    databasePoll: settings.SECRETS_DATABASE_POLL,
    seal: {
      type: settings.SECRETS_SEAL,
      key: {
        value: settings.SECRETS_SEAL_KEY,
        file: settings.SECRETS_SEAL_KEY_FILE,
        previousValue: settings.SECRETS_PREVIOUS_SEAL_KEY,
        previousFile: settings.SECRETS_PREVIOUS_SEAL_KEY_FILE,
      },
    },
    publicUrl: settings.SECRETS_PUBLIC_URL,
    certificateHeader: settings.SECRETS_CLIENT_CERTIFICATE_HEADER,
    familyHeaders: settings.SECRETS_FAMILY_HEADERS,
    unknownParameters: settings.SECRETS_UNKNOWN_PARAMETERS,
    console: {
      on: settings.SECRETS_UI,
      rules: {
        idleSeconds: settings.SECRETS_UI_IDLE_MINUTES * 60,
        sessionSeconds: settings.SECRETS_UI_SESSION_HOURS * 3600,
      },
      workspacesUrl: settings.SECRETS_UI_WORKSPACES_URL,
    },
    audit: {
      file: settings.SECRETS_AUDIT_FILE,
      stdout: settings.SECRETS_AUDIT_STDOUT,
      table: settings.SECRETS_AUDIT_TABLE,
      reads: settings.SECRETS_AUDIT_READS,
      readsDays: settings.SECRETS_AUDIT_READS_DAYS,
      directory: settings.SECRETS_AUDIT_BY_API_DIRECTORY,
      receiversByApi: settings.SECRETS_AUDIT_BY_API_RECEIVERS,
      receivers: configuredReceivers(settings),
      sync: settings.SECRETS_AUDIT_SYNC,
    },
    defaultMounts: mountList(settings.SECRETS_DEFAULT_MOUNTS),
    ttls: {
      defaultLeaseTtlSeconds: settings.SECRETS_DEFAULT_LEASE_TTL,
      maxLeaseTtlSeconds: settings.SECRETS_MAX_LEASE_TTL,
    },
    requestTimeoutSeconds: settings.SECRETS_REQUEST_TIMEOUT,
    clusterName: settings.SECRETS_CLUSTER_NAME,
    firstRunFile: settings.SECRETS_FIRST_RUN_FILE,
    outside: {
      acme: { networks: settings.SECRETS_ACME_NETWORKS ?? [], httpPort: 80, tlsPort: 443 },
      scheduler: { address: settings.SCHEDULER_ADDR, token: settings.SCHEDULER_TOKEN },
      cloudone: {
        tenantId: settings.CLOUDONE_TENANT_ID,
        resource: settings.CLOUDONE_AD_RESOURCE,
        environment: settings.CLOUDONE_ENVIRONMENT,
        clientId: settings.CLOUDONE_CLIENT_ID,
        clientSecret: settings.CLOUDONE_CLIENT_SECRET,
        authorityHost: settings.CLOUDONE_AUTHORITY_HOST,
        resourceManager: settings.CLOUDONE_RESOURCE_MANAGER,
        metadataHost: settings.CLOUDONE_METADATA_HOST,
      },
      cloudtwo: {
        accessKey: settings.CLOUDTWO_ACCESS_KEY,
        secretKey: settings.CLOUDTWO_SECRET_KEY,
        region: settings.CLOUDTWO_REGION || settings.CLOUDTWO_DEFAULT_REGION,
      },
    },
  };
}

/** Two lines per variable, for `--help`. */
export const describeConfig = (): string => describeSettings(Variables);

function mountList(text: string): string[] {
  if (text.trim() === 'none') return [];
  return entriesOf(text).flatMap((entry) => withoutEndSlashes(entry) || []);
}

function configuredReceivers(variables: z.infer<typeof Variables>): readonly AuditReceiver[] {
  const { SECRETS_AUDIT_SYSLOG: syslog, SECRETS_AUDIT_SOCKET: socket, SECRETS_AUDIT_HTTP: uri } = variables;
  const headers = variables.SECRETS_AUDIT_HTTP_HEADERS ?? {};
  const http: AuditReceiver | undefined = uri
    ? { type: 'http', uri, headers, batchLines: 100, timeoutMs: 5_000 }
    : undefined;
  return [syslog, socket, http].filter((one) => one !== undefined);
}
