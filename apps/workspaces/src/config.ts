import { s3Address } from '@keystead/addresses';
import {
  BadConfig,
  describeSettings,
  onOff,
  readSettings,
  readShared,
  sharedFromFile,
  sharedSettings,
  webAddress,
  wholeNumber,
} from '@keystead/settings';
import { z } from 'zod';
import type { S3Config } from './kernel/blobs/s3-objects';
import { editions } from './kernel/installation/edition';
import { parseRanges } from './kernel/installation/ip-ranges';
import { version } from './kernel/installation/version';

/** Comma-separated addresses and CIDR blocks. */
export const addressBlocks = z.string().transform((text, context) => {
  const blocks = parseRanges(text);
  if (!blocks) context.addIssue({ code: 'custom', message: 'must be comma-separated addresses or CIDR blocks' });
  return blocks;
});

/** Tokens that an operator chose, long enough that no one can guess them. */
const workerTokens = z.string().transform((text, context): readonly string[] => {
  const tokens = text.split(',').flatMap((entry) => entry.trim() || []);
  if (tokens.length === 0 || !tokens.every((token) => /^[\x21-\x7e]{32,512}$/.test(token))) {
    context.addIssue({
      code: 'custom',
      message: 'must be 32 to 512 printable characters; separate several values with commas',
    });
  }
  return tokens;
});

const Variables = z.object({
  ...sharedSettings('WORKSPACES', { port: 8300, connections: 20 }),
  WORKSPACES_SEAL_KEY: z
    .string()
    .optional()
    .describe(
      'The key that protects secrets at rest: 32 bytes, hex or base64. Without it, all states and keys are lost.',
    ),
  WORKSPACES_SEAL_KEY_FILE: z.string().optional().describe('File with the seal key.'),
  WORKSPACES_PREVIOUS_SEAL_KEY: z
    .string()
    .optional()
    .describe('The previous seal key, until everything is encrypted with the new key.'),
  WORKSPACES_PREVIOUS_SEAL_KEY_FILE: z.string().optional().describe('File with the previous seal key.'),
  WORKSPACES_PUBLIC_URL: webAddress
    .optional()
    .describe('URL at which clients reach the service. All absolute links begin with it.'),
  WORKSPACES_EDITION: z.enum(editions).default('self-hosted').describe('Edition: hosted or self-hosted.'),
  WORKSPACES_CLIENT_ALIASES: onOff(true).describe(
    'Send and accept the names that existing clients use, in addition to the neutral names.',
  ),
  WORKSPACES_UI: onOff(true).describe('Serve the web console at /ui/.'),
  WORKSPACES_UI_IDLE_MINUTES: wholeNumber(1, 1440)
    .default(30)
    .describe('Minutes without activity after which a console session ends.'),
  WORKSPACES_UI_SESSION_HOURS: wholeNumber(1, 336)
    .default(12)
    .describe('Hours after which a console session ends in any case.'),
  WORKSPACES_SECRETS_PUBLIC_URL: webAddress
    .optional()
    .describe('URL at which browsers reach the secrets service, for links. Default: WORKSPACES_SECRETS_ADDR.'),
  WORKSPACES_IP_RANGES: addressBlocks
    .optional()
    .describe(
      'Addresses or CIDR blocks of the service. /api/meta/ip-ranges shows them to everyone; unless set, it answers 404.',
    ),
  WORKSPACES_VCS: onOff(true).describe(
    'Call the Git hosts that workspaces are connected to. If off, vcs-repo is only stored and shown.',
  ),
  WORKSPACES_VCS_NETWORKS: addressBlocks
    .optional()
    .describe(
      'Private addresses or CIDR blocks of Git hosts that the service may call, in addition to public addresses.',
    ),
  WORKSPACES_VCS_POLL_SECONDS: wholeNumber(5, 86_400)
    .default(3600)
    .describe('How often repositories are polled. Set it low if webhooks cannot reach the service.'),
  WORKSPACES_NOTIFICATION_NETWORKS: addressBlocks
    .optional()
    .describe('Private addresses or CIDR blocks that notifications may be sent to, in addition to public addresses.'),
  WORKSPACES_VERSION_WAIT_SECONDS: wholeNumber(10, 86_400)
    .default(120)
    .describe(
      'How long a run waits for a worker with its tool version while only workers with other versions are running.',
    ),
  WORKSPACES_ASSESSMENT_HOURS: wholeNumber(0, 8760)
    .default(24)
    .describe('How often workspaces with assessments-enabled are assessed (hosted edition). 0: never.'),
  WORKSPACES_AUDIT_DAYS: wholeNumber(0, 36_500).default(400).describe('How long audit events are kept. 0: forever.'),
  WORKSPACES_SMTP_URL: z
    .url({ protocol: /^smtps?$/ })
    .optional()
    .describe(
      'Mail server for notifications: smtp(s)://user:password@host:port. With ?requireTLS=false the password is also sent without TLS. Also as WORKSPACES_SMTP_URL_FILE.',
    ),
  WORKSPACES_SMTP_FROM: z
    .string()
    .default('keystead@localhost')
    .describe('Sender of notification mails, as address or `Name <address>`.'),
  WORKSPACES_AGENT_TOKEN: workerTokens
    .optional()
    .describe(
      'Token of agents that perform the remote runs of the whole installation: at least 32 random characters. During a rotation: the new and the old token, separated by a comma. Also as WORKSPACES_AGENT_TOKEN_FILE.',
    ),
  WORKSPACES_REASONS: onOff(true).describe(
    'Error responses name the missing permission if the caller may see the target.',
  ),
  WORKSPACES_CONFIGURATION_LIMIT_MIB: wholeNumber(1, 16_384)
    .default(256)
    .describe('Maximum size of an uploaded configuration archive. Its unpacked files may be four times as large.'),
  WORKSPACES_CHECK_SSH_KEYS: onOff(true).describe(
    'Refuse SSH keys that are not private keys or have a passphrase. Off accepts any text.',
  ),
  WORKSPACES_CHECK_SAML_CERTIFICATES: onOff(true).describe(
    'Refuse SAML settings with invalid certificates. Off accepts any text, but sign-in then fails.',
  ),
  WORKSPACES_RATE_LIMIT: wholeNumber(0, 1_000_000)
    .optional()
    .describe('Requests per second for each caller. 0: no limit. Unless set, the site settings decide.'),
  WORKSPACES_DEFAULT_FEATURE_SET: z
    .enum(['free', 'standard', 'plus', 'business', 'trial'])
    .default('business')
    .describe('Plan of organizations without a subscription.'),
  WORKSPACES_BLOB_STORE: z
    .string()
    .default('database')
    .describe(
      'Where encrypted states and configurations are stored: database, or s3://bucket/prefix?endpoint=https://…&region=…&path-style=on.',
    ),
  WORKSPACES_BLOB_STORE_ACCESS_KEY_ID: z
    .string()
    .optional()
    .describe(
      'Access key of the S3-compatible store. Unless set, the service looks for credentials as AWS clients do.',
    ),
  WORKSPACES_BLOB_STORE_SECRET_ACCESS_KEY: z
    .string()
    .optional()
    .describe('Secret of the access key. Also as WORKSPACES_BLOB_STORE_SECRET_ACCESS_KEY_FILE.'),
  WORKSPACES_SECRETS_ADDR: webAddress
    .optional()
    .describe('Secrets service from which workers get credentials for workspaces with a secrets-role. Off unless set.'),
  WORKSPACES_SECRETS_LOGIN_MOUNT: z
    .string()
    .regex(/^[\w.-]+(\/[\w.-]+)*$/, 'is a path such as jwt')
    .default('jwt')
    .describe('Mount path, below auth/, of the jwt login of the secrets service.'),
  WORKSPACES_SECRETS_AUDIENCE: z
    .string()
    .min(1)
    .optional()
    .describe('Audience of the identity tokens of runs. Default: WORKSPACES_SECRETS_ADDR.'),
  WORKSPACES_FIRST_RUN_FILE: z
    .string()
    .optional()
    .describe('File to which the first start writes the name, password and token of the first site administrator.'),
});

/** Variables that may instead name a file holding the value. */
const fromFile = [
  ...sharedFromFile.map((name) => `WORKSPACES_${name}`),
  'WORKSPACES_BLOB_STORE_SECRET_ACCESS_KEY',
  'WORKSPACES_SMTP_URL',
  'WORKSPACES_AGENT_TOKEN',
];

/** The settings of a service process. */
export type Config = ReturnType<typeof readConfig>;

interface BlobStoreVariables {
  readonly WORKSPACES_BLOB_STORE: string;
  readonly WORKSPACES_BLOB_STORE_ACCESS_KEY_ID?: string;
  readonly WORKSPACES_BLOB_STORE_SECRET_ACCESS_KEY?: string;
}

function blobStore(settings: BlobStoreVariables, problems: string[]): S3Config | undefined {
  const accessKeyId = settings.WORKSPACES_BLOB_STORE_ACCESS_KEY_ID;
  const secretAccessKey = settings.WORKSPACES_BLOB_STORE_SECRET_ACCESS_KEY;
  if ((accessKeyId === undefined) !== (secretAccessKey === undefined)) {
    problems.push('WORKSPACES_BLOB_STORE_ACCESS_KEY_ID and WORKSPACES_BLOB_STORE_SECRET_ACCESS_KEY go together');
  }
  if (settings.WORKSPACES_BLOB_STORE === 'database') return undefined;
  const credentials =
    accessKeyId === undefined || secretAccessKey === undefined ? undefined : { accessKeyId, secretAccessKey };
  try {
    return { ...s3Address(settings.WORKSPACES_BLOB_STORE), credentials };
  } catch (error) {
    problems.push(`WORKSPACES_BLOB_STORE ${(error as Error).message}`);
    return undefined;
  }
}

/** Reads the configuration from the environment. Throws `BadConfig` naming every unknown or bad variable. */
export function readConfig(environment: NodeJS.ProcessEnv) {
  const { settings, problems } = readSettings(Variables, environment, {
    own: /^WORKSPACES_/,
    // A worker on the same machine may share the environment of the service.
    others: /^WORKSPACES_WORKER_/,
    fromFile,
  });
  const shared = readShared('WORKSPACES', settings, problems);
  const objects = blobStore(settings, problems);
  if (shared.standby && settings.WORKSPACES_FIRST_RUN_FILE !== undefined) {
    problems.push('WORKSPACES_FIRST_RUN_FILE is for a node that writes: unset it, or WORKSPACES_STANDBY_MAX_LAG');
  }
  if (problems.length > 0) throw new BadConfig(problems);
  const { host, port, tls } = shared.listen;
  const publicUrl = settings.WORKSPACES_PUBLIC_URL ?? `${tls === undefined ? 'http' : 'https'}://${host}:${port}`;
  const secretsAddress = settings.WORKSPACES_SECRETS_ADDR;
  return {
    ...shared,
    traces: shared.traces && { ...shared.traces, version },
    sealKey: {
      value: settings.WORKSPACES_SEAL_KEY,
      file: settings.WORKSPACES_SEAL_KEY_FILE,
      previousValue: settings.WORKSPACES_PREVIOUS_SEAL_KEY,
      previousFile: settings.WORKSPACES_PREVIOUS_SEAL_KEY_FILE,
    },
    publicUrl,
    /** Undefined if runs get no credentials. */
    secretsService:
      secretsAddress === undefined
        ? undefined
        : {
            address: secretsAddress,
            mount: settings.WORKSPACES_SECRETS_LOGIN_MOUNT,
            audience: settings.WORKSPACES_SECRETS_AUDIENCE ?? secretsAddress,
            issuer: publicUrl,
          },
    /** `secretsUrl`: the address of the secrets service, for links. */
    console: {
      on: settings.WORKSPACES_UI,
      idleMinutes: settings.WORKSPACES_UI_IDLE_MINUTES,
      sessionHours: settings.WORKSPACES_UI_SESSION_HOURS,
      secretsUrl: settings.WORKSPACES_SECRETS_PUBLIC_URL ?? secretsAddress,
    },
    edition: settings.WORKSPACES_EDITION,
    aliases: settings.WORKSPACES_CLIENT_ALIASES,
    reasons: settings.WORKSPACES_REASONS,
    ipRanges: settings.WORKSPACES_IP_RANGES,
    /** Undefined if no Git host is called. */
    vcs: settings.WORKSPACES_VCS
      ? { networks: settings.WORKSPACES_VCS_NETWORKS ?? [], pollSeconds: settings.WORKSPACES_VCS_POLL_SECONDS }
      : undefined,
    notifications: {
      networks: settings.WORKSPACES_NOTIFICATION_NETWORKS ?? [],
      smtp: settings.WORKSPACES_SMTP_URL
        ? { url: settings.WORKSPACES_SMTP_URL, from: settings.WORKSPACES_SMTP_FROM }
        : undefined,
    },
    /** The token of the installation's own agents; undefined if there are none. */
    workerTokens: settings.WORKSPACES_AGENT_TOKEN ?? [],
    assessmentHours: settings.WORKSPACES_ASSESSMENT_HOURS,
    versionWaitSeconds: settings.WORKSPACES_VERSION_WAIT_SECONDS,
    auditDays: settings.WORKSPACES_AUDIT_DAYS,
    configurationBytes: settings.WORKSPACES_CONFIGURATION_LIMIT_MIB * 1024 * 1024,
    checksSshKeys: settings.WORKSPACES_CHECK_SSH_KEYS,
    checksSamlCertificates: settings.WORKSPACES_CHECK_SAML_CERTIFICATES,
    rateLimit: settings.WORKSPACES_RATE_LIMIT,
    defaultFeatureSet: settings.WORKSPACES_DEFAULT_FEATURE_SET,
    /** Undefined if blobs are stored in the database. */
    objects,
    firstRunFile: settings.WORKSPACES_FIRST_RUN_FILE,
  };
}

/** Two lines per variable, for `--help`. */
export const describeConfig = (): string => describeSettings(Variables);
