import { readFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { type TrustedProxies, trustedProxies } from '@keystead/server';
import { readHeaders } from '@keystead/tracing';
import { z } from 'zod';
import { parsePlace, type S3Config } from './kernel/blobs/s3-objects';
import { editions } from './kernel/installation/edition';
import { parseRanges } from './kernel/installation/ip-ranges';
import { version } from './kernel/installation/version';

const onOff = (fallback: boolean) =>
  z
    .enum(['on', 'off', 'true', 'false', '1', '0'])
    .transform((value) => value === 'on' || value === 'true' || value === '1')
    .default(fallback);

const portNumber = z.coerce.number().int().min(0).max(65535);

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
  WORKSPACES_HOST: z.string().default('127.0.0.1').describe('Address to listen on.'),
  WORKSPACES_PORT: portNumber.default(8300).describe('Port to listen on; 0 takes a free one.'),
  WORKSPACES_DATABASE_URL: z
    .string()
    .regex(/^postgres(ql)?:\/\//, 'is not a postgresql:// address')
    .describe('PostgreSQL 15 or newer. Also as WORKSPACES_DATABASE_URL_FILE.'),
  WORKSPACES_DATABASE_CONNECTIONS: z.coerce
    .number()
    .int()
    .min(2)
    .max(500)
    .default(20)
    .describe('Database connections at most, for each process.'),
  WORKSPACES_PROCESSES: processes.describe(
    'Processes that answer at the port, as a number, or auto for one for each processor.',
  ),
  WORKSPACES_SEAL_KEY: z
    .string()
    .optional()
    .describe('The key that protects secrets at rest: 32 bytes, hex or base64. Losing it loses all state and keys.'),
  WORKSPACES_SEAL_KEY_FILE: z.string().optional().describe('File with that key.'),
  WORKSPACES_PREVIOUS_SEAL_KEY: z
    .string()
    .optional()
    .describe('The key before the last change, until everything is sealed anew.'),
  WORKSPACES_PREVIOUS_SEAL_KEY_FILE: z.string().optional().describe('File with the previous key.'),
  WORKSPACES_PUBLIC_URL: z
    .url({ protocol: /^https?$/ })
    .transform((url) => url.replace(/(?<!\/)\/+$/, ''))
    .optional()
    .describe('Where clients reach the service; the start of every absolute link.'),
  WORKSPACES_TRUSTED_PROXIES: proxies
    .optional()
    .describe('Comma-separated addresses or CIDR blocks of proxies whose X-Forwarded-For is believed.'),
  WORKSPACES_TLS_CERT_FILE: z.string().optional().describe('PEM certificate; with it the service speaks TLS.'),
  WORKSPACES_TLS_KEY_FILE: z.string().optional().describe('PEM private key of the certificate.'),
  WORKSPACES_METRICS_PORT: portNumber.optional().describe('Port for Prometheus metrics at /metrics; off unless set.'),
  WORKSPACES_METRICS_HOST: z.string().default('127.0.0.1').describe('Address for metrics.'),
  WORKSPACES_EDITION: z.enum(editions).default('self-hosted').describe('Edition to be: hosted or self-hosted.'),
  WORKSPACES_CLIENT_ALIASES: onOff(true).describe(
    'Send and accept the names existing clients use beside the neutral ones.',
  ),
  WORKSPACES_API_PAGE: onOff(true).describe('Show the OpenAPI document as a page at /docs.'),
  WORKSPACES_UI: onOff(true).describe('Serve the web console at /ui/.'),
  WORKSPACES_UI_IDLE_MINUTES: z.coerce
    .number()
    .int()
    .min(1)
    .max(1440)
    .default(30)
    .describe('Minutes after which a console session ends that nobody uses.'),
  WORKSPACES_UI_SESSION_HOURS: z.coerce
    .number()
    .int()
    .min(1)
    .max(336)
    .default(12)
    .describe('Hours after which a console session ends in any case.'),
  WORKSPACES_SECRETS_PUBLIC_URL: z
    .url({ protocol: /^https?$/ })
    .transform((url) => url.replace(/(?<!\/)\/+$/, ''))
    .optional()
    .describe('Where browsers reach the secrets service, for links; unless set, WORKSPACES_SECRETS_ADDR.'),
  WORKSPACES_IP_RANGES: z
    .string()
    .transform((text, context) => {
      const blocks = parseRanges(text);
      if (!blocks) context.addIssue({ code: 'custom', message: 'must be comma-separated addresses or CIDR blocks' });
      return blocks;
    })
    .optional()
    .describe('Addresses or CIDR blocks of the service, which /api/meta/ip-ranges tells everybody; 404 unless set.'),
  WORKSPACES_VCS: onOff(true).describe(
    'Talk to the Git hosts that workspaces are connected to. Off: repositories are kept and shown, no host is called.',
  ),
  WORKSPACES_VCS_NETWORKS: z
    .string()
    .transform((text, context) => {
      const blocks = parseRanges(text);
      if (!blocks) context.addIssue({ code: 'custom', message: 'must be comma-separated addresses or CIDR blocks' });
      return blocks;
    })
    .optional()
    .describe('Private addresses or CIDR blocks in which Git hosts may be; public ones may be called anyway.'),
  WORKSPACES_VCS_POLL_SECONDS: z.coerce
    .number()
    .int()
    .min(5)
    .max(86_400)
    .default(3600)
    .describe('How often repositories are looked at without being told; low where no webhook reaches the service.'),
  WORKSPACES_NOTIFICATION_NETWORKS: z
    .string()
    .transform((text, context) => {
      const blocks = parseRanges(text);
      if (!blocks) context.addIssue({ code: 'custom', message: 'must be comma-separated addresses or CIDR blocks' });
      return blocks;
    })
    .optional()
    .describe('Private addresses or CIDR blocks that notifications may go to; public ones they may anyway.'),
  WORKSPACES_ASSESSMENT_HOURS: z.coerce
    .number()
    .int()
    .min(0)
    .max(8760)
    .default(24)
    .describe('How often workspaces with assessments-enabled are assessed (hosted edition); 0 is never.'),
  WORKSPACES_SMTP_URL: z
    .url({ protocol: /^smtps?$/ })
    .optional()
    .describe('Mail server for notifications: smtp(s)://user:password@host:port. Also as WORKSPACES_SMTP_URL_FILE.'),
  WORKSPACES_SMTP_FROM: z
    .string()
    .default('keystead@localhost')
    .describe('Whom mails of notifications are from, as address or `Name <address>`.'),
  WORKSPACES_REASONS: onOff(true).describe('Refusals name the missing permission where the caller may see the target.'),
  WORKSPACES_CONFIGURATION_LIMIT_MIB: z.coerce
    .number()
    .int()
    .min(1)
    .max(16_384)
    .default(256)
    .describe('Largest configuration that can be uploaded, packed; unpacked it may be four times as large.'),
  WORKSPACES_CHECK_SSH_KEYS: onOff(true).describe(
    'Refuse SSH keys that are no private keys or have a passphrase. Off takes any text.',
  ),
  WORKSPACES_RATE_LIMIT: z.coerce
    .number()
    .int()
    .min(0)
    .max(1_000_000)
    .optional()
    .describe('Requests a second for each caller; 0 is no limit. Unless set, the site settings decide.'),
  WORKSPACES_DEFAULT_FEATURE_SET: z
    .enum(['free', 'standard', 'plus', 'business', 'trial'])
    .default('business')
    .describe('Plan of organizations without a subscription of their own.'),
  WORKSPACES_BLOB_STORE: z
    .string()
    .default('database')
    .describe(
      'Where sealed states and configurations lie: database, or s3://bucket/prefix?endpoint=https://…&region=…&path-style=on.',
    ),
  WORKSPACES_BLOB_STORE_ACCESS_KEY_ID: z
    .string()
    .optional()
    .describe('Key of the S3-compatible store; unless set, found as its other clients do.'),
  WORKSPACES_BLOB_STORE_SECRET_ACCESS_KEY: z
    .string()
    .optional()
    .describe('Secret of that key. Also as WORKSPACES_BLOB_STORE_SECRET_ACCESS_KEY_FILE.'),
  WORKSPACES_SECRETS_ADDR: z
    .url({ protocol: /^https?$/ })
    .transform((url) => url.replace(/(?<!\/)\/+$/, ''))
    .optional()
    .describe('Secrets service that workers get credentials from for workspaces with a secrets-role; off unless set.'),
  WORKSPACES_SECRETS_LOGIN_MOUNT: z
    .string()
    .regex(/^[\w.-]+(\/[\w.-]+)*$/, 'is a path such as jwt')
    .default('jwt')
    .describe('Where its login with signed tokens is mounted, below auth/.'),
  WORKSPACES_SECRETS_AUDIENCE: z
    .string()
    .min(1)
    .optional()
    .describe('Audience of the identity tokens of runs; unless set, WORKSPACES_SECRETS_ADDR.'),
  WORKSPACES_FIRST_RUN_FILE: z
    .string()
    .optional()
    .describe('File to which the first start writes name, password and token of the first site administrator.'),
  WORKSPACES_LOG_LEVEL: z
    .enum(['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'])
    .default('info')
    .describe('What is logged.'),
  WORKSPACES_TRACES_URL: z
    .url({ protocol: /^https?$/ })
    .optional()
    .describe('Where traces are sent: OTLP over HTTP, such as http://127.0.0.1:4318/v1/traces; off unless set.'),
  WORKSPACES_TRACES_SHARE: z.coerce
    .number()
    .min(0)
    .max(1)
    .default(0.01)
    .describe('How many requests are traced, from 0 to 1, of those that come with no traceparent that decides it.'),
  WORKSPACES_TRACES_HEADERS: z
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
      'Headers sent with traces, as name=value,…, values percent-encoded. Also as WORKSPACES_TRACES_HEADERS_FILE.',
    ),
  WORKSPACES_SLOW_REQUEST_MS: z.coerce
    .number()
    .int()
    .min(1)
    .max(3_600_000)
    .optional()
    .describe('Requests whose answer takes longer to begin leave a line of their own in the log; none unless set.'),
  WORKSPACES_CLOCK_TOLERANCE: z.coerce
    .number()
    .min(0.1)
    .default(2)
    .describe(
      'Seconds the clock here may be off that of the database; beyond, nothing is ended here and /readyz says no.',
    ),
  WORKSPACES_MIGRATE: onOff(true).describe('Apply outstanding database migrations at start.'),
  WORKSPACES_ALLOW_NEWER_SCHEMA: onOff(false).describe(
    'Start on a database that a newer version has migrated: while an upgrade is under way.',
  ),
  WORKSPACES_DRAIN_DELAY_SECONDS: z.coerce
    .number()
    .min(0)
    .max(600)
    .default(0)
    .describe('At shutdown: how long the service still accepts while /readyz says no, so that balancers notice first.'),
  WORKSPACES_DRAIN_SECONDS: z.coerce
    .number()
    .int()
    .min(0)
    .max(600)
    .default(10)
    .describe('At shutdown: how long answers under way may take then.'),
});

/** Variables that may instead name a file holding the value. */
const fromFile = [
  'WORKSPACES_DATABASE_URL',
  'WORKSPACES_TRACES_HEADERS',
  'WORKSPACES_BLOB_STORE_SECRET_ACCESS_KEY',
  'WORKSPACES_SMTP_URL',
] as const;

/** How a service process is set up. */
export type Config = ReturnType<typeof readConfig>;

/** The environment is not usable; each problem names its variable. */
export class BadConfig extends Error {
  override readonly name = 'BadConfig';
  constructor(readonly problems: readonly string[]) {
    super(problems.join('\n'));
  }
}

function withFiles(environment: NodeJS.ProcessEnv, problems: string[]): Record<string, string | undefined> {
  const values: Record<string, string | undefined> = {};
  for (const [name, value] of Object.entries(environment)) {
    if (name.startsWith('WORKSPACES_') && value !== '') {
      values[name] = value;
    }
  }
  for (const name of fromFile) {
    const file = values[`${name}_FILE`];
    delete values[`${name}_FILE`];
    if (file === undefined) {
      continue;
    }
    if (values[name] !== undefined) {
      problems.push(`${name} and ${name}_FILE are both set; keep one`);
      continue;
    }
    try {
      values[name] = readFileSync(file, 'utf8').trim();
    } catch {
      problems.push(`${name}_FILE: cannot read ${file}`);
    }
  }
  return values;
}

function pem(file: string | undefined, name: string, problems: string[]): string | undefined {
  if (file === undefined) {
    return undefined;
  }
  try {
    return readFileSync(file, 'utf8');
  } catch {
    problems.push(`${name}: cannot read ${file}`);
    return undefined;
  }
}

interface BlobStoreVariables {
  readonly WORKSPACES_BLOB_STORE: string;
  readonly WORKSPACES_BLOB_STORE_ACCESS_KEY_ID?: string;
  readonly WORKSPACES_BLOB_STORE_SECRET_ACCESS_KEY?: string;
}

function blobStore(given: BlobStoreVariables, problems: string[]): S3Config | undefined {
  const accessKeyId = given.WORKSPACES_BLOB_STORE_ACCESS_KEY_ID;
  const secretAccessKey = given.WORKSPACES_BLOB_STORE_SECRET_ACCESS_KEY;
  if ((accessKeyId === undefined) !== (secretAccessKey === undefined)) {
    problems.push('WORKSPACES_BLOB_STORE_ACCESS_KEY_ID and WORKSPACES_BLOB_STORE_SECRET_ACCESS_KEY go together');
  }
  if (given.WORKSPACES_BLOB_STORE === 'database') {
    return undefined;
  }
  const credentials =
    accessKeyId === undefined || secretAccessKey === undefined ? undefined : { accessKeyId, secretAccessKey };
  try {
    return parsePlace(given.WORKSPACES_BLOB_STORE, credentials);
  } catch (error) {
    problems.push(`WORKSPACES_BLOB_STORE ${(error as Error).message}`);
    return undefined;
  }
}

/** Reads the configuration from the environment. Throws `BadConfig` naming every unknown or bad variable. */
export function readConfig(environment: NodeJS.ProcessEnv) {
  const problems: string[] = [];
  const values = withFiles(environment, problems);
  for (const name of Object.keys(values)) {
    // A worker beside the service may share its environment.
    if (!(name in Variables.shape) && !name.startsWith('WORKSPACES_WORKER_')) {
      problems.push(`${name} is not a known setting`);
    }
  }
  const result = Variables.safeParse(values);
  if (!result.success) {
    problems.push(
      ...result.error.issues.map(({ path, message }) =>
        values[String(path[0])] === undefined ? `${String(path[0])} is not set` : `${String(path[0])}: ${message}`,
      ),
    );
    throw new BadConfig(problems);
  }
  const given = result.data;
  const cert = pem(given.WORKSPACES_TLS_CERT_FILE, 'WORKSPACES_TLS_CERT_FILE', problems);
  const key = pem(given.WORKSPACES_TLS_KEY_FILE, 'WORKSPACES_TLS_KEY_FILE', problems);
  const objects = blobStore(given, problems);
  if ((given.WORKSPACES_TLS_CERT_FILE === undefined) !== (given.WORKSPACES_TLS_KEY_FILE === undefined)) {
    problems.push('WORKSPACES_TLS_CERT_FILE and WORKSPACES_TLS_KEY_FILE go together');
  }
  if (problems.length > 0) {
    throw new BadConfig(problems);
  }
  const tls = cert === undefined || key === undefined ? undefined : { cert, key };
  const host = given.WORKSPACES_HOST;
  const publicUrl =
    given.WORKSPACES_PUBLIC_URL ?? `${tls === undefined ? 'http' : 'https'}://${host}:${given.WORKSPACES_PORT}`;
  const secretsAddress = given.WORKSPACES_SECRETS_ADDR;
  return {
    listen: { host, port: given.WORKSPACES_PORT, tls },
    metrics:
      given.WORKSPACES_METRICS_PORT === undefined
        ? undefined
        : { host: given.WORKSPACES_METRICS_HOST, port: given.WORKSPACES_METRICS_PORT },
    databaseUrl: given.WORKSPACES_DATABASE_URL,
    databaseConnections: given.WORKSPACES_DATABASE_CONNECTIONS,
    processes: given.WORKSPACES_PROCESSES,
    sealKey: {
      value: given.WORKSPACES_SEAL_KEY,
      file: given.WORKSPACES_SEAL_KEY_FILE,
      previousValue: given.WORKSPACES_PREVIOUS_SEAL_KEY,
      previousFile: given.WORKSPACES_PREVIOUS_SEAL_KEY_FILE,
    },
    publicUrl,
    /** Undefined: runs get no credentials. */
    secretsService:
      secretsAddress === undefined
        ? undefined
        : {
            address: secretsAddress,
            mount: given.WORKSPACES_SECRETS_LOGIN_MOUNT,
            audience: given.WORKSPACES_SECRETS_AUDIENCE ?? secretsAddress,
            issuer: publicUrl,
          },
    /** `secretsUrl`: where its other half is, for links. */
    console: {
      on: given.WORKSPACES_UI,
      idleMinutes: given.WORKSPACES_UI_IDLE_MINUTES,
      sessionHours: given.WORKSPACES_UI_SESSION_HOURS,
      secretsUrl: given.WORKSPACES_SECRETS_PUBLIC_URL ?? secretsAddress,
    },
    trustedProxies: given.WORKSPACES_TRUSTED_PROXIES ?? [],
    edition: given.WORKSPACES_EDITION,
    aliases: given.WORKSPACES_CLIENT_ALIASES,
    apiPage: given.WORKSPACES_API_PAGE,
    reasons: given.WORKSPACES_REASONS,
    ipRanges: given.WORKSPACES_IP_RANGES,
    /** Undefined: no Git host is called. */
    vcs: given.WORKSPACES_VCS
      ? { networks: given.WORKSPACES_VCS_NETWORKS ?? [], pollSeconds: given.WORKSPACES_VCS_POLL_SECONDS }
      : undefined,
    notifications: {
      networks: given.WORKSPACES_NOTIFICATION_NETWORKS ?? [],
      smtp: given.WORKSPACES_SMTP_URL
        ? { url: given.WORKSPACES_SMTP_URL, from: given.WORKSPACES_SMTP_FROM }
        : undefined,
    },
    assessmentHours: given.WORKSPACES_ASSESSMENT_HOURS,
    configurationBytes: given.WORKSPACES_CONFIGURATION_LIMIT_MIB * 1024 * 1024,
    checksSshKeys: given.WORKSPACES_CHECK_SSH_KEYS,
    rateLimit: given.WORKSPACES_RATE_LIMIT,
    defaultFeatureSet: given.WORKSPACES_DEFAULT_FEATURE_SET,
    /** Undefined: blobs lie in the database. */
    objects,
    firstRunFile: given.WORKSPACES_FIRST_RUN_FILE,
    logLevel: given.WORKSPACES_LOG_LEVEL,
    traces:
      given.WORKSPACES_TRACES_URL === undefined
        ? undefined
        : {
            url: given.WORKSPACES_TRACES_URL,
            share: given.WORKSPACES_TRACES_SHARE,
            headers: given.WORKSPACES_TRACES_HEADERS ?? {},
            version,
          },
    slowMs: given.WORKSPACES_SLOW_REQUEST_MS,
    migrate: given.WORKSPACES_MIGRATE,
    allowNewerSchema: given.WORKSPACES_ALLOW_NEWER_SCHEMA,
    clockToleranceSeconds: given.WORKSPACES_CLOCK_TOLERANCE,
    drainDelaySeconds: given.WORKSPACES_DRAIN_DELAY_SECONDS,
    drainSeconds: given.WORKSPACES_DRAIN_SECONDS,
  };
}

/** One line per variable, for `--help`. */
export function describeConfig(): string {
  return Object.entries(Variables.shape)
    .map(([name, schema]) => {
      const fallback = schema.safeParse(undefined);
      const standard = fallback.success && fallback.data !== undefined ? ` [${String(fallback.data)}]` : '';
      return `  ${name}${standard}\n      ${schema.description ?? ''}`;
    })
    .join('\n');
}
