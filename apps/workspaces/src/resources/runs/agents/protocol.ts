import { z } from 'zod';
import { fileNames } from '../runs/jobs/job';
import { mostRequirements, Requirement } from '../runs/requirements';

/**
 * The messages between agents and this service, for both sides. Names are in kebab-case, bodies plain JSON; logs,
 * states, configurations and plans are bytes.
 */

/**
 * The protocols that this version supports. Since the second protocol, tests and queries are jobs. An agent one version
 * older or newer shares at least one protocol with this version.
 */
export const supportedVersions = { oldest: 1, newest: 2 } as const;

/** The path of the agents' endpoints. */
export const agentPrefix = '/api/agent/v1';

/** The header in which an agent proves that it holds a job. */
export const leaseHeader = 'x-agent-lease';

const most = 2_147_483_647;
const whole = (largest = most) => z.number().int().min(0).max(largest);
const word = z.string().min(1).max(255);

/** Describes an agent and its tools. */
export const Registration = z.strictObject({
  name: word.regex(/^[\w .:@-]+$/, 'Name can only include letters, numbers, spaces and . : @ _ -'),
  version: word,
  protocol: z.strictObject({ oldest: whole(1000), newest: whole(1000) }),
  'tool-versions': z.array(word).min(1).max(100),
  isolation: word,
  /**
   * Whether the agent carries out requests to Git hosts. Older services refuse the field, so other agents do not send
   * it.
   */
  forwards: z.boolean().default(false),
});

/** The answer to a registration. */
export const Registered = z.looseObject({
  id: z.string(),
  protocol: z.number(),
  pool: z.string(),
  /** The id of the whole installation, for a machine with agents of several installations. */
  installation: z.string(),
  /** Whether the agent fetches commits. Absent in older services. */
  fetches: z.boolean().default(false),
  /** Whether the agent takes requests to Git hosts. Absent in older services. */
  forwards: z.boolean().default(false),
  /** Whether the agent evaluates policies. Absent in older services. */
  judges: z.boolean().default(false),
});

/** After a heartbeat, a job is held for at least this long. */
export const shortestLease = 5;
const leaseSeconds = z.number().int().min(shortestLease).max(3600);

/** A request for a job. `holds` contains the jobs that the agent already has. */
export const Claim = z.strictObject({
  'lease-seconds': leaseSeconds,
  'wait-seconds': whole(30),
  holds: z.array(word).max(64),
});

/** A heartbeat for a job. */
export const Beat = z.strictObject({ 'lease-seconds': leaseSeconds });

/** Whether a user has canceled the job. */
export const BeatAnswer = z.looseObject({ cancel: z.enum(['no', 'cancel', 'force-cancel']) });

/** A job in the form sent to an agent. */
export const JobAnswer = z.looseObject({
  id: z.string(),
  kind: z.enum(['plan', 'apply', 'test', 'query']),
  'run-id': z.string(),
  'workspace-id': z.string(),
  'workspace-name': z.string(),
  'organization-id': z.string(),
  'organization-name': z.string(),
  'plan-id': z.string(),
  'apply-id': z.string(),
  attempt: z.number(),
  'is-destroy': z.boolean(),
  refresh: z.boolean(),
  'refresh-only': z.boolean(),
  targets: z.array(z.string()),
  replaces: z.array(z.string()),
  'plan-only': z.boolean(),
  /** Absent in older services, which had no assessments. */
  'is-assessment': z.boolean().default(false),
  'save-plan': z.boolean(),
  'allow-empty-apply': z.boolean(),
  'generate-config': z.boolean(),
  'infra-version': z.string(),
  'working-directory': z.string().nullable(),
  /** Absent in older services, like the versions below. */
  'var-files': z.array(z.string()).default([]),
  'module-versions': z.array(z.looseObject({ source: z.string(), version: z.string() })).default([]),
  'debugging-mode': z.boolean(),
  'structured-output': z.boolean(),
  'timeout-seconds': z.number(),
  /** Only for a test. */
  testing: z
    .looseObject({
      filters: z.array(z.string()),
      directory: z.string().nullable(),
      verbose: z.boolean(),
      parallelism: z.number().nullable(),
    })
    .optional(),
  /** The trace that the job is part of. Absent in older services. */
  traceparent: z.string().nullish(),
  lease: z.string(),
});

/** A request for a commit to fetch. */
export const FetchClaim = z.strictObject({ 'wait-seconds': whole(30) });

/** A commit to fetch, and the limits for it. */
export const FetchAnswer = z.looseObject({
  'configuration-version-id': z.string(),
  'workspace-id': z.string(),
  attempt: z.number(),
  'clone-url': z.string(),
  commit: z.string(),
  ref: z.string().nullable(),
  submodules: z.boolean(),
  authorization: z.string(),
  'ssh-key': z.string().nullable(),
  /** Private networks in which Git hosts may be. */
  networks: z.array(z.string()),
  'configuration-bytes': z.number(),
  lease: z.string(),
});

/** Why a commit was not fetched, and whether another attempt may help. */
export const FetchFailure = z.strictObject({ reason: z.string().min(1).max(1000), again: z.boolean() });

/** A request for a plan to evaluate, from an organization for which the agent is not already evaluating a plan. */
export const EvaluationClaim = z.strictObject({ 'wait-seconds': whole(30), busy: z.array(word).max(64) });

/** The policies to evaluate for a plan; the plan itself is downloaded separately. */
export const EvaluationGiven = z.looseObject({
  id: z.string(),
  'organization-id': z.string(),
  run: z.record(z.string(), z.unknown()),
  sets: z.array(
    z.looseObject({
      id: z.string(),
      'tool-version': z.string().nullable(),
      'disabled-versions': z.array(z.string()).default([]),
      policies: z.array(z.looseObject({ name: z.string(), query: z.string() })),
      files: z.record(z.string(), z.string()),
      parameters: z.array(z.looseObject({ key: z.string(), value: z.string(), sensitive: z.boolean() })),
    }),
  ),
  lease: z.string(),
});

/** The verdicts for the policies of each set, in the same order. */
export const Verdicts = z.strictObject({
  sets: z.array(
    z.strictObject({
      id: word,
      error: z.string(),
      outcomes: z.array(
        z.strictObject({
          status: z.enum(['passed', 'failed', 'errored']),
          output: z.array(z.strictObject({ print: z.string() })),
        }),
      ),
    }),
  ),
});

/** A request of an agent for a Git host request to carry out. */
export const RequestClaim = z.strictObject({ 'wait-seconds': whole(30) });

/** A complete request to a Git host, sent unchanged. */
export const RequestGiven = z.looseObject({
  id: z.string(),
  method: z.enum(['GET', 'POST', 'PUT', 'PATCH', 'DELETE']),
  url: z.string(),
  headers: z.record(z.string(), z.string()),
  body: z.strictObject({ type: z.string(), text: z.string() }).nullable(),
  'timeout-ms': z.number(),
  lease: z.string(),
});

/** Why a host did not answer. */
export const RequestFailure = z.strictObject({ reason: z.string().min(1).max(300) });

const variable = z.looseObject({
  key: z.string(),
  value: z.string(),
  hcl: z.boolean(),
  sensitive: z.boolean(),
});

/** The inputs of a job, besides its files. */
export const InputsAnswer = z.looseObject({
  variables: z.array(variable),
  environment: z.array(variable),
  'ssh-key': z.string().nullable(),
  /** The login for reading modules and providers. Absent in older services. */
  registry: z.looseObject({ host: z.string(), token: z.string() }).nullish(),
  /** Whether the job may request a login at the secrets service. Absent in older services. */
  'logs-in': z.boolean().default(true),
});

/**
 * The response before a job runs: the offset at which its log continues, and its inputs, unless they cannot be read.
 */
export const StartAnswer = z.looseObject({
  'log-offset': z.number(),
  /** Older services send the inputs only in a separate answer. */
  inputs: InputsAnswer.optional(),
  /** Small files from the database in base64, and null for a file that does not exist. Other files are downloaded. */
  files: z.partialRecord(z.enum(fileNames), z.string().nullable()).default({}),
});

/** The end of a log. */
export const LogAnswer = z.looseObject({ size: z.number() });

/** The name that the result of a job uses for an upload. */
export const UploadAnswer = z.looseObject({ upload: z.string() });

/** The uploads that a result may refer to. */
export const uploadNames = ['json-plan', 'redacted-json-plan', 'plan-file', 'errored-state'] as const;
export type UploadName = (typeof uploadNames)[number];

/** The largest file, in bytes, that the result may contain directly. */
export const inlineBytes = 64 * 1024;
const inline = z
  .string()
  .max(Math.ceil(inlineBytes / 3) * 4)
  .regex(/^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/, 'must be base64');
const byName = <T extends z.ZodType>(value: T) =>
  z.strictObject(Object.fromEntries(uploadNames.map((name) => [name, value])) as Record<UploadName, T>).optional();

/** The maximum length of a reason in a result, in characters. */
export const longestReason = 10_000;

/** How a job ended. */
export const Result = z.strictObject({
  outcome: z.enum(['planned', 'applied', 'finished', 'errored', 'canceled']),
  'has-changes': z.boolean().optional(),
  additions: whole().optional(),
  changes: whole().optional(),
  destructions: whole().optional(),
  imports: whole().optional(),
  'generated-configuration': z.boolean().optional(),
  health: z
    .strictObject({
      'resources-drifted': whole(),
      'resources-undrifted': whole(),
      'checks-passed': whole(),
      'checks-failed': whole(),
      'checks-errored': whole(),
      'checks-unknown': whole(),
    })
    .optional(),
  'error-message': z.string().max(longestReason).optional(),
  'state-lost': z.string().max(longestReason).optional(),
  uploads: byName(z.string().max(200).optional()),
  /** Small files, which are sent directly, in base64. Older services refuse the field. */
  files: byName(inline.optional()),
  /** The end of the log, in base64, and its position in bytes. Older services refuse the field. */
  log: z.strictObject({ offset: whole(), bytes: inline }).optional(),
  /** The modules and providers that `init` installed. Older services refuse the field. */
  requirements: z.array(Requirement).max(mostRequirements).optional(),
});

/** Where a job logs in at the secrets service. */
export const LoginAnswer = z.union([
  z.looseObject({ problem: z.string() }),
  z.looseObject({
    role: z.string(),
    namespace: z.string(),
    address: z.string(),
    mount: z.string(),
    jwt: z.string(),
  }),
]);

/** Identity tokens by audience, or the reason why there are none. */
export const IdentitiesAnswer = z.union([
  z.object({ withheld: z.string() }),
  z.object({ tokens: z.record(z.string(), z.string()), 'secrets-address': z.string().nullable() }),
]);

/** A token of the secrets service that a job was given. */
export const Kept = z.strictObject({
  token: z.string().min(1).max(8192),
  accessor: z.string().max(200),
  namespace: z.string().max(1024),
});

/** The id of a recorded token. */
export const KeptAnswer = z.looseObject({ id: z.string() });

/** The newest protocol that both sides support; undefined if there is none. */
export function commonProtocol(versions: { readonly oldest: number; readonly newest: number }): number | undefined {
  const common = Math.min(versions.newest, supportedVersions.newest);
  return common >= Math.max(versions.oldest, supportedVersions.oldest) ? common : undefined;
}
