import { readFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { wrongWithDatabaseUrl } from '@keystead/addresses';
import { readHeaders } from '@keystead/tracing';
import { z } from 'zod';
import type { Tls } from './listen';
import { trustedProxies } from './trusted-proxies';

/** The environment is invalid. Each problem contains the name of its variable. */
export class BadConfig extends Error {
  override readonly name = 'BadConfig';
  constructor(readonly problems: readonly string[]) {
    super(problems.join('\n'));
  }
}

/** A switch: `on`, `true` or `1` turns it on; `off`, `false` or `0` turns it off. */
export const onOff = (fallback: boolean) =>
  z
    .enum(['on', 'off', 'true', 'false', '1', '0'])
    .transform((value) => value === 'on' || value === 'true' || value === '1')
    .default(fallback);

/** A whole number from `least` to `most`. */
export const wholeNumber = (least: number, most: number) => z.coerce.number().int().min(least).max(most);

/** An http or https address, without slashes at its end. */
export const webAddress = z.url({ protocol: /^https?$/ }).transform((url) => url.replace(/(?<!\/)\/+$/, ''));

/** Lowest level of log lines that are written. */
export const logLevel = z.enum(['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent']);

/** A string that `parse` parses. The error of `parse` describes the problem. */
export const parsed = <T>(parse: (text: string) => T) =>
  z.string().transform((text, context): T => {
    try {
      return parse(text);
    } catch (error) {
      context.addIssue({ code: 'custom', message: (error as Error).message });
      return z.NEVER;
    }
  });

/** The entries of a comma-separated list, without surrounding spaces and without empty entries. */
export const entriesOf = (text: string): string[] => text.split(',').flatMap((entry) => entry.trim() || []);

const port = wholeNumber(0, 65535);
const processes = z
  .union([z.literal('auto').transform(() => availableParallelism()), wholeNumber(1, 256)], {
    error: 'is neither auto nor a number from 1 to 256',
  })
  .default(1);
const proxies = parsed((text) => {
  const entries = entriesOf(text);
  trustedProxies(entries);
  return entries;
});
const shortestProxySecret = 32;
const proxySecrets = parsed((text) => {
  const secrets = entriesOf(text);
  if (secrets.length === 0 || secrets.some(({ length }) => length < shortestProxySecret))
    throw new Error(`must have at least ${shortestProxySecret} characters`);
  return secrets;
});

/** Where traces are sent. */
export const tracesUrl = z
  .url({ protocol: /^https?$/ })
  .optional()
  .describe('Where traces are sent: OTLP over HTTP, such as http://127.0.0.1:4318/v1/traces; off unless set.');

/** The headers sent with traces, from the settings whose names begin with `prefix`. */
export const tracesHeaders = (prefix: string) =>
  parsed(readHeaders)
    .optional()
    .describe(
      `Headers sent with traces, as name=value,…, values percent-encoded. Also as ${prefix}_TRACES_HEADERS_FILE.`,
    );

const shared = (prefix: string, standard: { port: number; connections: number }) => ({
  HOST: z.string().default('127.0.0.1').describe('Address to listen on.'),
  PORT: port.default(standard.port).describe('Port to listen on; 0 takes a free one.'),
  DATABASE_URL: z
    .string()
    .superRefine((text, context) => {
      const wrong = wrongWithDatabaseUrl(text);
      if (wrong) context.addIssue({ code: 'custom', message: wrong });
    })
    .describe(`PostgreSQL 15 or newer. Also as ${prefix}_DATABASE_URL_FILE.`),
  DATABASE_CONNECTIONS: wholeNumber(2, 500)
    .default(standard.connections)
    .describe('Maximum number of database connections per process.'),
  PROCESSES: processes.describe('Number of processes that share the port, or auto for one per processor.'),
  TRUSTED_PROXIES: proxies
    .optional()
    .describe('Addresses or CIDR blocks, separated by commas, of proxies whose X-Forwarded-For the service trusts.'),
  TRUSTED_PROXY_SECRET: proxySecrets
    .optional()
    .describe(
      `Secret that trusted proxies must send in X-Keystead-Proxy-Secret. During a change: two secrets, separated by a comma. At least ${shortestProxySecret} characters. Also as ${prefix}_TRUSTED_PROXY_SECRET_FILE.`,
    ),
  TLS_CERT_FILE: z.string().optional().describe('PEM certificate. If set, the service uses TLS.'),
  TLS_KEY_FILE: z.string().optional().describe('PEM private key of the certificate.'),
  METRICS_PORT: port.optional().describe('Port for Prometheus metrics at /metrics; off unless set.'),
  METRICS_HOST: z.string().default('127.0.0.1').describe('Address for metrics.'),
  API_PAGE: onOff(true).describe('Show the OpenAPI document as a page at /docs.'),
  LOG_LEVEL: logLevel.default('info').describe('Lowest level of log lines that are written.'),
  TRACES_URL: tracesUrl,
  TRACES_SHARE: z.coerce
    .number()
    .min(0)
    .max(1)
    .default(0.01)
    .describe(
      'Share of requests to trace, from 0 to 1, unless a traceparent header decides it. Below 1: at most 20 per second.',
    ),
  TRACES_HEADERS: tracesHeaders(prefix),
  SLOW_REQUEST_MS: wholeNumber(1, 3_600_000)
    .optional()
    .describe('Log requests whose response takes longer to begin, with a breakdown of the time. Off unless set.'),
  CLOCK_TOLERANCE: z.coerce
    .number()
    .min(0.1)
    .default(2)
    .describe(
      'Maximum difference in seconds from the clock of the database. If it is larger, this node lets nothing expire and /readyz answers 503.',
    ),
  STANDBY_MAX_LAG: z.coerce
    .number()
    .min(5)
    .max(86_400)
    .optional()
    .describe(
      'Makes this a read-only node on a standby of PostgreSQL. Responses may be this many seconds old; if the standby lags more, the node answers 503. Off unless set.',
    ),
  PRIMARY_URL: webAddress
    .optional()
    .describe(
      'Address to which a read-only node redirects requests that it cannot answer (307), such as the load balancer of the other nodes.',
    ),
  MIGRATE: onOff(true).describe('Apply outstanding database migrations at start.'),
  ALLOW_NEWER_SCHEMA: onOff(false).describe(
    'Start on a database that a newer version has migrated, during an upgrade.',
  ),
  DRAIN_DELAY_SECONDS: z.coerce
    .number()
    .min(0)
    .max(600)
    .default(5)
    .describe(
      'At shutdown: how long the service still accepts requests while /readyz answers 503, for load balancers to notice.',
    ),
  DRAIN_SECONDS: wholeNumber(0, 600)
    .default(10)
    .describe('At shutdown: how long the node then waits for open requests.'),
});

type Shared = ReturnType<typeof shared>;
type Prefixed<P extends string, S> = { [K in keyof S & string as `${P}_${K}`]: S[K] };

/**
 * The settings that every service has, each named `<prefix>_…`. `readShared` turns their values into a configuration.
 */
export function sharedSettings<P extends string>(prefix: P, standard: { port: number; connections: number }) {
  const prefixed = Object.entries(shared(prefix, standard)).map(([name, setting]) => [`${prefix}_${name}`, setting]);
  return Object.fromEntries(prefixed) as Prefixed<P, Shared>;
}

/** The shared settings whose value may be in a file instead. */
export const sharedFromFile = ['DATABASE_URL', 'TRUSTED_PROXY_SECRET', 'TRACES_HEADERS'] as const;

/** Reads the shared part of a configuration. Adds problems to `problems`. */
export function readShared(prefix: string, values: Readonly<Record<string, unknown>>, problems: string[]) {
  const start = `${prefix}_`;
  const entries = Object.entries(values).flatMap(([name, value]) =>
    name.startsWith(start) ? [[name.slice(start.length), value]] : [],
  );
  const read = Object.fromEntries(entries) as { [K in keyof Shared]: z.output<Shared[K]> };
  if (read.PRIMARY_URL !== undefined && read.STANDBY_MAX_LAG === undefined) {
    problems.push(
      `${prefix}_PRIMARY_URL needs ${prefix}_STANDBY_MAX_LAG: only a node that reads from a standby uses it`,
    );
  }
  if (read.TRUSTED_PROXY_SECRET?.length && !read.TRUSTED_PROXIES?.length) {
    problems.push(`${prefix}_TRUSTED_PROXY_SECRET needs ${prefix}_TRUSTED_PROXIES: only these proxies send it`);
  }
  return {
    listen: {
      host: read.HOST,
      port: read.PORT,
      tls: readTls(prefix, { cert: read.TLS_CERT_FILE, key: read.TLS_KEY_FILE }, problems),
    },
    metrics: read.METRICS_PORT === undefined ? undefined : { host: read.METRICS_HOST, port: read.METRICS_PORT },
    databaseUrl: read.DATABASE_URL,
    databaseConnections: read.DATABASE_CONNECTIONS,
    processes: read.PROCESSES,
    standby: standbyOf(read),
    migrate: read.MIGRATE && read.STANDBY_MAX_LAG === undefined,
    allowNewerSchema: read.ALLOW_NEWER_SCHEMA,
    clockToleranceSeconds: read.CLOCK_TOLERANCE,
    trustedProxies: trustedProxies(read.TRUSTED_PROXIES ?? [], read.TRUSTED_PROXY_SECRET),
    apiPage: read.API_PAGE,
    logLevel: read.LOG_LEVEL,
    traces:
      read.TRACES_URL === undefined
        ? undefined
        : { url: read.TRACES_URL, share: read.TRACES_SHARE, headers: read.TRACES_HEADERS ?? {} },
    slowMs: read.SLOW_REQUEST_MS,
    drainDelaySeconds: read.DRAIN_DELAY_SECONDS,
    drainSeconds: read.DRAIN_SECONDS,
  };
}

/** Settings of a node that reads from a standby. */
export interface StandbyConfig {
  /** How old answers may be. */
  readonly maxLagMs: number;
  /** The base URL of the writing nodes; undefined if not set. */
  readonly primaryUrl: string | undefined;
}

const standbyOf = (values: { STANDBY_MAX_LAG?: number; PRIMARY_URL?: string }): StandbyConfig | undefined =>
  values.STANDBY_MAX_LAG === undefined
    ? undefined
    : { maxLagMs: values.STANDBY_MAX_LAG * 1000, primaryUrl: values.PRIMARY_URL };

function readTls(prefix: string, files: { cert?: string; key?: string }, problems: string[]): Tls | undefined {
  const [certName, keyName] = [`${prefix}_TLS_CERT_FILE`, `${prefix}_TLS_KEY_FILE`];
  if ((files.cert === undefined) !== (files.key === undefined)) problems.push(`${certName} and ${keyName} go together`);
  if (files.cert === undefined || files.key === undefined) return undefined;
  const cert = readSettingFile(certName, files.cert, problems);
  const key = readSettingFile(keyName, files.key, problems);
  return cert === undefined || key === undefined ? undefined : { cert, key };
}

/** The text of a file that a setting names; undefined, with a new problem, if it cannot be read. */
export function readSettingFile(name: string, file: string, problems: string[]): string | undefined {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    problems.push(`${name}: cannot read ${file}`);
    return undefined;
  }
}

/**
 * Reads the settings from the environment variables whose names match `own`. The settings in `fromFile` may be given as
 * `<name>_FILE` instead. A name that is neither in `settings` nor matches `others` is added to `problems`. Throws
 * `BadConfig` for invalid values. Otherwise the caller adds its own problems and throws `BadConfig` if there are any.
 */
export function readSettings<S extends z.ZodObject>(
  settings: S,
  environment: NodeJS.ProcessEnv,
  { own, others, fromFile = [] }: { own: RegExp; others?: RegExp; fromFile?: readonly string[] },
): { settings: z.output<S>; problems: string[] } {
  const problems: string[] = [];
  const values: Record<string, string | undefined> = Object.fromEntries(
    Object.entries(environment).filter(([name, value]) => own.test(name) && value !== ''),
  );
  for (const name of fromFile) {
    const file = values[`${name}_FILE`];
    delete values[`${name}_FILE`];
    if (file === undefined) continue;
    if (values[name] !== undefined) problems.push(`${name} and ${name}_FILE are both set; keep one`);
    else values[name] = readSettingFile(`${name}_FILE`, file, problems)?.trim();
  }
  for (const name of Object.keys(values)) {
    if (!(name in settings.shape) && !others?.test(name)) problems.push(`${name} is not a known setting`);
  }
  const result = settings.safeParse(values);
  if (result.success) return { settings: result.data, problems };
  for (const { path, message } of result.error.issues) {
    const name = String(path[0]);
    problems.push(values[name] === undefined ? `${name} is not set` : `${name}: ${message}`);
  }
  throw new BadConfig(problems);
}

/** Two lines for each setting, for `--help`: its name and default, and its purpose. */
export function describeSettings(settings: z.ZodObject): string {
  return Object.entries(settings.shape as Record<string, z.ZodType>)
    .map(([name, setting]) => {
      const standard = setting.safeParse(undefined).data;
      return `  ${name}${standard === undefined || String(standard) === '' ? '' : ` [${String(standard)}]`}\n      ${setting.description ?? ''}`;
    })
    .join('\n');
}
