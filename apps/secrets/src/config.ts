import { readFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { type Tls, type TrustedProxies, trustedProxies } from '@keystead/server';
import { readHeaders } from '@keystead/tracing';
import { z } from 'zod';
import { parseDuration } from './sdk/duration';

const onOff = (fallback: boolean) =>
  z
    .enum(['on', 'off', 'true', 'false', '1', '0'])
    .transform((value) => value === 'on' || value === 'true' || value === '1')
    .default(fallback);

const portNumber = z.coerce.number().int().min(0).max(65535);

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

const processes = z
  .union([z.literal('auto').transform(() => availableParallelism()), z.coerce.number().int().min(1).max(256)], {
    error: 'is neither auto nor a number from 1 to 256',
  })
  .default(1);

const proxies = z.string().transform((text, context): TrustedProxies => {
  try {
    return trustedProxies(text.split(',').flatMap((entry) => entry.trim() || []));
  } catch (error) {
    context.addIssue({ code: 'custom', message: (error as Error).message });
    return z.NEVER;
  }
});

const Variables = z.object({
  SECRETS_HOST: z.string().default('127.0.0.1').describe('Address to listen on.'),
  SECRETS_PORT: portNumber.default(8200).describe('Port to listen on; 0 takes a free one.'),
  SECRETS_DATABASE_URL: z
    .string()
    .regex(/^postgres(ql)?:\/\//, 'is not a postgresql:// address')
    .describe('PostgreSQL 15 or newer. Also as SECRETS_DATABASE_URL_FILE.'),
  SECRETS_DATABASE_CONNECTIONS: z.coerce
    .number()
    .int()
    .min(2)
    .max(500)
    .default(10)
    .describe('Database connections at most, for each process.'),
  SECRETS_PROCESSES: processes.describe(
    'Processes that answer at the port, as a number, or auto for one for each processor.',
  ),
  SECRETS_DATABASE_POLL: onOff(false).describe('Look for changes of other nodes instead of listening for them.'),
  SECRETS_SEAL: z
    .enum(['auto', 'shamir'])
    .default('auto')
    .describe('auto opens the service by the seal key; shamir by key shares given to sys/unseal.'),
  SECRETS_SEAL_KEY: z
    .string()
    .optional()
    .describe('The key that wraps all others: 32 bytes, hex or base64. Losing it loses every secret.'),
  SECRETS_SEAL_KEY_FILE: z.string().optional().describe('File with that key.'),
  SECRETS_PREVIOUS_SEAL_KEY: z.string().optional().describe('The key before the last change, for one start.'),
  SECRETS_PREVIOUS_SEAL_KEY_FILE: z.string().optional().describe('File with the previous key.'),
  SECRETS_PUBLIC_URL: z
    .url({ protocol: /^https?$/ })
    .transform((url) => url.replace(/(?<!\/)\/+$/, ''))
    .optional()
    .describe('Where others reach the service; the start of the issuer in its identity tokens.'),
  SECRETS_TRUSTED_PROXIES: proxies
    .optional()
    .describe('Comma-separated addresses or CIDR blocks of proxies whose X-Forwarded-For is believed.'),
  SECRETS_TLS_CERT_FILE: z.string().optional().describe('PEM certificate; with it the service speaks TLS.'),
  SECRETS_TLS_KEY_FILE: z.string().optional().describe('PEM private key of the certificate.'),
  SECRETS_TLS_CLIENT_CERTIFICATES: onOff(true).describe(
    'Where the service speaks TLS: ask clients for a certificate, which auth/cert logs in with; nobody needs one.',
  ),
  SECRETS_CLIENT_CERTIFICATE_HEADER: z
    .string()
    .regex(/^[A-Za-z0-9-]+$/, 'is not the name of a header')
    .transform((name) => name.toLowerCase())
    .optional()
    .describe(
      'Header in which trusted proxies send the certificate of their client: escaped PEM, or as RFC 9440 says.',
    ),
  SECRETS_METRICS_PORT: portNumber.optional().describe('Port for Prometheus metrics at /metrics; off unless set.'),
  SECRETS_METRICS_HOST: z.string().default('127.0.0.1').describe('Address for metrics.'),
  SECRETS_AUDIT_FILE: z.string().optional().describe('File that audit lines are appended to, as device file/.'),
  SECRETS_AUDIT_STDOUT: onOff(false).describe('Write audit lines to standard output, as device stdout/.'),
  SECRETS_AUDIT_TABLE: onOff(false).describe('Keep changes in a hash-chained table as well: sys/audit-chain.'),
  SECRETS_AUDIT_BY_API_DIRECTORY: z
    .string()
    .optional()
    .describe('Turns on sys/audit/:path: directory for the files of devices enabled there, and for nothing else.'),
  SECRETS_AUDIT_SYNC: onOff(false).describe('Wait until audit lines are on the disk.'),
  SECRETS_DEFAULT_MOUNTS: z
    .string()
    .default('auth/cloudone,scheduler,cloudtwo')
    .describe('Mounts a new installation begins with, besides those that are always there; none for no others.'),
  SECRETS_DEFAULT_LEASE_TTL: seconds(768 * 3600).describe('Lifetime where nothing else says one.'),
  SECRETS_MAX_LEASE_TTL: seconds(768 * 3600).describe('Longest lifetime where no mount says another.'),
  SECRETS_REQUEST_TIMEOUT: seconds(90).describe('How long a request may take.'),
  SECRETS_FAMILY_HEADERS: onOff(true).describe('Also understand X-Vault-* headers, which existing clients send.'),
  SECRETS_API_PAGE: onOff(true).describe('Show the OpenAPI document as a page at /docs.'),
  SECRETS_UI: onOff(true).describe('Show the console at /ui/.'),
  SECRETS_UI_IDLE_MINUTES: z.coerce
    .number()
    .int()
    .min(1)
    .max(24 * 60)
    .default(30)
    .describe('Somebody signed in at the console who does nothing for so long is signed out.'),
  SECRETS_UI_SESSION_HOURS: z.coerce
    .number()
    .int()
    .min(1)
    .max(24 * 7)
    .default(12)
    .describe('After so long everybody signs in at the console anew.'),
  SECRETS_UI_WORKSPACES_URL: z
    .url({ protocol: /^https?$/ })
    .transform((url) => url.replace(/(?<!\/)\/+$/, ''))
    .optional()
    .describe('Where browsers reach the workspace service, whose console this one links to.'),
  SECRETS_CLUSTER_NAME: z.string().default('keystead').describe('Name shown in sys/health and sys/seal-status.'),
  SECRETS_LOG_LEVEL: z
    .enum(['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'])
    .default('info')
    .describe('What is logged.'),
  SECRETS_TRACES_URL: z
    .url({ protocol: /^https?$/ })
    .optional()
    .describe('Where traces are sent: OTLP over HTTP, such as http://127.0.0.1:4318/v1/traces; off unless set.'),
  SECRETS_TRACES_SHARE: z.coerce
    .number()
    .min(0)
    .max(1)
    .default(0.01)
    .describe('How many requests are traced, from 0 to 1, of those that come with no traceparent that decides it.'),
  SECRETS_TRACES_HEADERS: z
    .string()
    .transform((text, context) => {
      try {
        return readHeaders(text);
      } catch (error) {
        context.addIssue({ code: 'custom', message: (error as Error).message });
        return z.NEVER;
      }
    })
    .optional()
    .describe(
      'Headers sent with traces, as name=value,…, values percent-encoded. Also as SECRETS_TRACES_HEADERS_FILE.',
    ),
  SECRETS_SLOW_REQUEST_MS: z.coerce
    .number()
    .int()
    .min(1)
    .max(3_600_000)
    .optional()
    .describe('Requests whose answer takes longer to begin leave a line of their own in the log; none unless set.'),
  SECRETS_CLOCK_TOLERANCE: z.coerce
    .number()
    .min(0.1)
    .default(2)
    .describe(
      'Seconds the clock here may be off that of the database; beyond, nothing is ended here and /readyz says no.',
    ),
  SECRETS_MIGRATE: onOff(true).describe('Apply outstanding database migrations at start.'),
  SECRETS_ALLOW_NEWER_SCHEMA: onOff(false).describe(
    'Start on a database that a newer version has migrated: while an upgrade is under way.',
  ),
  SECRETS_FIRST_RUN_FILE: z
    .string()
    .optional()
    .describe('A first start initialises the service and writes root token and keys to this file, which is new then.'),
  SECRETS_DRAIN_DELAY_SECONDS: z.coerce
    .number()
    .min(0)
    .max(600)
    .default(0)
    .describe('At shutdown: how long the service still accepts while /readyz says no, so that balancers notice first.'),
  SECRETS_DRAIN_SECONDS: z.coerce
    .number()
    .int()
    .min(0)
    .max(600)
    .default(10)
    .describe('At shutdown: how long answers under way may take then.'),
  SCHEDULER_ADDR: z.string().default('').describe('Scheduler address where config/access names none.'),
  SCHEDULER_TOKEN: z.string().default('').describe('Scheduler management token where config/access has none.'),
  CLOUDONE_TENANT_ID: z.string().default('').describe('Directory tenant where the config of cloudone names none.'),
  CLOUDONE_AD_RESOURCE: z.string().default('').describe('Audience of JWTs where the config of cloudone names none.'),
  CLOUDONE_ENVIRONMENT: z.string().default('').describe('Cloud where the config of cloudone names none.'),
  CLOUDONE_CLIENT_ID: z.string().default('').describe('Client id where the config of cloudone has none.'),
  CLOUDONE_CLIENT_SECRET: z.string().default('').describe('Client secret where the config of cloudone has none.'),
  CLOUDONE_AUTHORITY_HOST: z.string().default('').describe('Directory to ask instead of the public one.'),
  CLOUDONE_RESOURCE_MANAGER: z.string().default('').describe('Compute API to ask instead of the public one.'),
  CLOUDONE_METADATA_HOST: z.string().default('').describe('Machine metadata service to ask instead of the usual one.'),
  CLOUDTWO_ACCESS_KEY: z.string().default('').describe('Access key where config/root of cloudtwo has none.'),
  CLOUDTWO_SECRET_KEY: z.string().default('').describe('Secret key where config/root of cloudtwo has none.'),
  CLOUDTWO_REGION: z.string().default('').describe('Region where config/root of cloudtwo names none.'),
  CLOUDTWO_DEFAULT_REGION: z.string().default('').describe('Region where CLOUDTWO_REGION is not set either.'),
});

/** Variables that may instead name a file holding the value. */
const fromFile = [
  'SECRETS_DATABASE_URL',
  'SECRETS_TRACES_HEADERS',
  'SCHEDULER_TOKEN',
  'CLOUDONE_CLIENT_SECRET',
  'CLOUDTWO_ACCESS_KEY',
  'CLOUDTWO_SECRET_KEY',
] as const;

const ours = /^(SECRETS|CLOUDONE|CLOUDTWO)_|^SCHEDULER_(ADDR|TOKEN)(_FILE)?$/;

/** How a service process is set up. */
export type Config = ReturnType<typeof readConfig>;

/** The environment is not usable; each problem names its variable. */
export class BadConfig extends Error {
  override readonly name = 'BadConfig';
  constructor(readonly problems: readonly string[]) {
    super(problems.join('\n'));
  }
}

/** Reads the configuration from the environment. Throws `BadConfig` naming every unknown or bad variable. */
export function readConfig(environment: NodeJS.ProcessEnv) {
  const problems: string[] = [];
  const values = withFiles(environment, problems);
  for (const name of Object.keys(values)) {
    if (!(name in Variables.shape)) problems.push(`${name} is not a known setting`);
  }
  const result = Variables.safeParse(values);
  if (!result.success) {
    for (const { path, message } of result.error.issues) {
      const name = String(path[0]);
      problems.push(values[name] === undefined ? `${name} is not set` : `${name}: ${message}`);
    }
    throw new BadConfig(problems);
  }
  const given = result.data;
  const tls = readTls(given, problems);
  if (given.SECRETS_DEFAULT_LEASE_TTL > given.SECRETS_MAX_LEASE_TTL) {
    problems.push('SECRETS_DEFAULT_LEASE_TTL is longer than SECRETS_MAX_LEASE_TTL');
  }
  if (given.SECRETS_SEAL === 'auto' && !given.SECRETS_SEAL_KEY && !given.SECRETS_SEAL_KEY_FILE) {
    problems.push('SECRETS_SEAL_KEY or SECRETS_SEAL_KEY_FILE must be set, or SECRETS_SEAL=shamir');
  }
  if (given.SECRETS_CLIENT_CERTIFICATE_HEADER !== undefined && !given.SECRETS_TRUSTED_PROXIES?.length) {
    problems.push('SECRETS_CLIENT_CERTIFICATE_HEADER needs SECRETS_TRUSTED_PROXIES: nobody else is believed');
  }
  if (given.SECRETS_SEAL === 'shamir' && given.SECRETS_PROCESSES > 1) {
    problems.push('SECRETS_PROCESSES must be 1 with SECRETS_SEAL=shamir: a share would reach one process alone');
  }
  if (problems.length > 0) throw new BadConfig(problems);
  return {
    listen: { host: given.SECRETS_HOST, port: given.SECRETS_PORT, tls },
    metrics:
      given.SECRETS_METRICS_PORT === undefined
        ? undefined
        : { host: given.SECRETS_METRICS_HOST, port: given.SECRETS_METRICS_PORT },
    databaseUrl: given.SECRETS_DATABASE_URL,
    databaseConnections: given.SECRETS_DATABASE_CONNECTIONS,
    processes: given.SECRETS_PROCESSES,
    databasePoll: given.SECRETS_DATABASE_POLL,
    migrate: given.SECRETS_MIGRATE,
    allowNewerSchema: given.SECRETS_ALLOW_NEWER_SCHEMA,
    clockToleranceSeconds: given.SECRETS_CLOCK_TOLERANCE,
    seal: {
      type: given.SECRETS_SEAL,
      key: {
        value: given.SECRETS_SEAL_KEY,
        file: given.SECRETS_SEAL_KEY_FILE,
        previousValue: given.SECRETS_PREVIOUS_SEAL_KEY,
        previousFile: given.SECRETS_PREVIOUS_SEAL_KEY_FILE,
      },
    },
    publicUrl: given.SECRETS_PUBLIC_URL,
    trustedProxies: given.SECRETS_TRUSTED_PROXIES ?? [],
    certificateHeader: given.SECRETS_CLIENT_CERTIFICATE_HEADER,
    familyHeaders: given.SECRETS_FAMILY_HEADERS,
    apiPage: given.SECRETS_API_PAGE,
    console: {
      on: given.SECRETS_UI,
      rules: {
        idleSeconds: given.SECRETS_UI_IDLE_MINUTES * 60,
        sessionSeconds: given.SECRETS_UI_SESSION_HOURS * 3600,
      },
      workspacesUrl: given.SECRETS_UI_WORKSPACES_URL,
    },
    audit: {
      file: given.SECRETS_AUDIT_FILE,
      stdout: given.SECRETS_AUDIT_STDOUT,
      table: given.SECRETS_AUDIT_TABLE,
      directory: given.SECRETS_AUDIT_BY_API_DIRECTORY,
      sync: given.SECRETS_AUDIT_SYNC,
    },
    defaultMounts: mountList(given.SECRETS_DEFAULT_MOUNTS),
    ttls: {
      defaultLeaseTtlSeconds: given.SECRETS_DEFAULT_LEASE_TTL,
      maxLeaseTtlSeconds: given.SECRETS_MAX_LEASE_TTL,
    },
    requestTimeoutSeconds: given.SECRETS_REQUEST_TIMEOUT,
    clusterName: given.SECRETS_CLUSTER_NAME,
    logLevel: given.SECRETS_LOG_LEVEL,
    traces:
      given.SECRETS_TRACES_URL === undefined
        ? undefined
        : {
            url: given.SECRETS_TRACES_URL,
            share: given.SECRETS_TRACES_SHARE,
            headers: given.SECRETS_TRACES_HEADERS ?? {},
          },
    slowMs: given.SECRETS_SLOW_REQUEST_MS,
    firstRunFile: given.SECRETS_FIRST_RUN_FILE,
    drainDelaySeconds: given.SECRETS_DRAIN_DELAY_SECONDS,
    drainSeconds: given.SECRETS_DRAIN_SECONDS,
    outside: {
      scheduler: { address: given.SCHEDULER_ADDR, token: given.SCHEDULER_TOKEN },
      cloudone: {
        tenantId: given.CLOUDONE_TENANT_ID,
        resource: given.CLOUDONE_AD_RESOURCE,
        environment: given.CLOUDONE_ENVIRONMENT,
        clientId: given.CLOUDONE_CLIENT_ID,
        clientSecret: given.CLOUDONE_CLIENT_SECRET,
        authorityHost: given.CLOUDONE_AUTHORITY_HOST,
        resourceManager: given.CLOUDONE_RESOURCE_MANAGER,
        metadataHost: given.CLOUDONE_METADATA_HOST,
      },
      cloudtwo: {
        accessKey: given.CLOUDTWO_ACCESS_KEY,
        secretKey: given.CLOUDTWO_SECRET_KEY,
        region: given.CLOUDTWO_REGION || given.CLOUDTWO_DEFAULT_REGION,
      },
    },
  };
}

/** One line per variable, for `--help`. */
export function describeConfig(): string {
  return Object.entries(Variables.shape)
    .map(([name, schema]) => {
      const fallback = schema.safeParse(undefined);
      const known = fallback.success && fallback.data !== undefined && fallback.data !== '';
      return `  ${name}${known ? ` [${String(fallback.data)}]` : ''}\n      ${schema.description ?? ''}`;
    })
    .join('\n');
}

function withFiles(environment: NodeJS.ProcessEnv, problems: string[]): Record<string, string | undefined> {
  const values: Record<string, string | undefined> = {};
  for (const [name, value] of Object.entries(environment)) {
    if (ours.test(name) && value !== '') values[name] = value;
  }
  for (const name of fromFile) {
    const file = values[`${name}_FILE`];
    delete values[`${name}_FILE`];
    if (file === undefined) continue;
    if (values[name] !== undefined) {
      problems.push(`${name} and ${name}_FILE are both set; keep one`);
      continue;
    }
    values[name] = readText(`${name}_FILE`, file, problems)?.trim();
  }
  return values;
}

function readTls(given: z.output<typeof Variables>, problems: string[]): Tls | undefined {
  const { SECRETS_TLS_CERT_FILE: certFile, SECRETS_TLS_KEY_FILE: keyFile } = given;
  if ((certFile === undefined) !== (keyFile === undefined)) {
    problems.push('SECRETS_TLS_CERT_FILE and SECRETS_TLS_KEY_FILE go together');
  }
  if (certFile === undefined || keyFile === undefined) return undefined;
  const cert = readText('SECRETS_TLS_CERT_FILE', certFile, problems);
  const key = readText('SECRETS_TLS_KEY_FILE', keyFile, problems);
  if (cert === undefined || key === undefined) return undefined;
  return { cert, key, clientCertificates: given.SECRETS_TLS_CLIENT_CERTIFICATES };
}

function readText(name: string, file: string, problems: string[]): string | undefined {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    problems.push(`${name}: cannot read ${file}`);
    return undefined;
  }
}

function mountList(text: string): string[] {
  if (text.trim() === 'none') return [];
  return text.split(',').flatMap((entry) => entry.trim().replace(/(?<!\/)\/+$/, '') || []);
}
