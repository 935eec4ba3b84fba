import type { Readable } from 'node:stream';
import type { Keyring } from '@keystead/keyring';
import { Prisma } from '../../../../generated/prisma/client';
import type { Database } from '../../../../kernel/database/database';
import type { Health } from '../record-assessment';
import type { Requirement } from '../requirements';
import { isPoolOpen, type ModuleVersion } from '../run';

/** Work for one worker at a time: the plan of a run, its apply, tests of a module, or a query. */
export interface RunJob {
  readonly id: string;
  readonly kind: 'plan' | 'apply' | 'test' | 'query';
  /** For a test or a query, its own id. */
  readonly runId: string;
  /** Empty for a test, whose workspace name is the name of its module. */
  readonly workspaceId: string;
  readonly workspaceName: string;
  readonly organizationId: string;
  readonly organizationName: string;
  readonly planId: string;
  readonly applyId: string;
  /** 1 for the first worker that takes it. */
  readonly attempt: number;
  /** The blob of the uploaded configuration: a gzip tar. */
  readonly configurationBlobId: string;
  readonly isDestroy: boolean;
  readonly refresh: boolean;
  readonly refreshOnly: boolean;
  readonly targets: readonly string[];
  readonly replaces: readonly string[];
  readonly planOnly: boolean;
  /** Whether the job is an assessment, whose result must contain the counts. */
  readonly isAssessment: boolean;
  readonly savePlan: boolean;
  readonly allowEmptyApply: boolean;
  readonly generateConfig: boolean;
  /** Versions of registry modules that the plan tries instead of those in the configuration. */
  readonly moduleVersions: readonly ModuleVersion[];
  /** An exact version of the tool. */
  readonly infraVersion: string;
  readonly workingDirectory: string | null;
  /** Paths relative to the working directory, or to the root of the configuration if they begin with a slash. */
  readonly varFiles: readonly string[];
  readonly debuggingMode: boolean;
  /** Whether the log consists of JSON lines, which the reader's own tool renders. */
  readonly structuredOutput: boolean;
  /** How long the tool may run. */
  readonly timeoutSeconds: number;
  /** The variables of the run. Their values are expressions of the configuration language. */
  readonly variables: readonly { readonly key: string; readonly value: string }[];
  /** For a test: the test files, and how they are run. */
  readonly testing?: {
    readonly filters: readonly string[];
    readonly directory: string | null;
    readonly verbose: boolean;
    readonly parallelism: number | null;
  };
  /** The trace that the job is part of. */
  readonly traceparent?: string;
  /** The agent's proof that it holds the job, and the agent's id at that time. */
  readonly lease?: string;
  readonly agentId?: string;
}

/** A variable for the tool; `hcl` values are expressions, the others plain strings. */
export interface JobVariable {
  readonly key: string;
  readonly value: string;
  readonly hcl: boolean;
  readonly sensitive: boolean;
}

/**
 * Where the tool finds modules and providers of the organization, and a token that reads them while the job is running.
 */
export interface RegistryLogin {
  readonly host: string;
  readonly token: string;
}

/** The files that a job works with: `plan` is the plan that an apply carries out. */
export const fileNames = ['configuration', 'state', 'plan'] as const;
export type FileName = (typeof fileNames)[number];

/** The inputs of a job. Streams open on request; undefined for a missing input. */
export interface JobInputs {
  /** Terraform variables after the rules of precedence were applied, with the variables of the run. */
  readonly variables: readonly JobVariable[];
  /** Environment variables after the rules of precedence were applied. */
  readonly environment: readonly JobVariable[];
  /** The private key of the workspace, for modules fetched over SSH. */
  readonly sshKey: string | undefined;
  /** Undefined for a run that gets no secrets. */
  readonly registry: RegistryLogin | undefined;
  /** Whether there is a role for logging in at the secrets service; undefined if the worker must ask. */
  readonly logsIn?: boolean;
  state(): Promise<Readable | undefined>;
  configuration(): Promise<Readable | undefined>;
  /** The plan that an apply carries out. */
  planFile(): Promise<Readable | undefined>;
}

/**
 * The instructions for the worker of a job. If `mine` is false, the worker must stop immediately, because its results
 * are refused.
 */
export interface Heartbeat {
  readonly mine: boolean;
  /** `cancel`: interrupt the tool and wait; `force-cancel`: kill it. */
  readonly cancel: 'no' | 'cancel' | 'force-cancel';
}

/** The bytes of a result, or the provisional blob that already contains them. */
export type Bytes = Uint8Array | AsyncIterable<Uint8Array> | StoredBytes;

/** Bytes that were uploaded before. */
export interface StoredBytes {
  readonly blobId: string;
}

/** A state, and the serial and lineage that it claims. */
export interface SentState {
  readonly serial: bigint;
  readonly lineage: string | null;
  /** In hexadecimal digits. */
  readonly md5: string;
  readonly bytes: AsyncIterable<Uint8Array>;
}

/** The secrets service that runs get credentials from. */
export interface SecretsService {
  /** Without a slash at the end. */
  readonly address: string;
  /** The mount of its login with signed tokens, below `auth/`. */
  readonly mount: string;
  readonly audience: string;
  /** The issuer: the public address of the workspace service. */
  readonly issuer: string;
}

/** The data for a login at the secrets service. */
export interface LoginParts {
  readonly db: Database;
  readonly keyring: Keyring;
  /** Undefined if runs that request credentials fail. */
  readonly secrets: SecretsService | undefined;
  /** The public address of this service. */
  readonly issuer: string;
  readonly nowMs: number;
}

/** Identity tokens by audience, and the address of the secrets service; or the reason why a job gets none. */
export type JobIdentities =
  | { readonly tokens: Readonly<Record<string, string>>; readonly secretsAddress: string | null }
  | { readonly withheld: string };

/** The login of a job at the secrets service; or the reason why there is none, for the creator of the run. */
export type JobLogin =
  | {
      readonly role: string;
      /** Empty for the root namespace. */
      readonly namespace: string;
      readonly address: string;
      readonly mount: string;
      /** An identity token, valid for a few minutes. */
      readonly jwt: string;
      /** Certificates (PEM) to trust there instead of the usual ones. */
      readonly ca?: string;
    }
  | { readonly problem: string };

/** A token of the secrets service that a job received. */
export interface KeptToken {
  readonly token: string;
  readonly accessor: string;
  readonly namespace: string;
}

/** The end of a job's log. */
export interface LogEnd {
  readonly bytes: Uint8Array;
  /** Their position in the log; undefined if they follow what is stored. */
  readonly offset?: bigint;
}

/** What the results of all jobs contain. */
export interface JobEnd {
  readonly errorMessage?: string;
  readonly log?: LogEnd;
}

/** The result of a plan. If it did not succeed, only `errorMessage` and `log` are used. */
export interface PlanResult extends JobEnd {
  readonly outcome: 'planned' | 'errored' | 'canceled';
  readonly hasChanges?: boolean;
  readonly additions?: number;
  readonly changes?: number;
  readonly destructions?: number;
  readonly imports?: number;
  /** The tool's JSON of the plan. */
  readonly jsonPlan?: Bytes;
  /** The plan in the JSON format that the tool renders, without sensitive values. */
  readonly redactedJsonPlan?: Bytes;
  /** The plan file for the apply. */
  readonly planFile?: Bytes;
  readonly generatedConfiguration?: boolean;
  /** The counts of an assessment. */
  readonly health?: Health;
  /** The modules and providers that `init` installed; undefined if the worker did not report them. */
  readonly requirements?: readonly Requirement[];
}

/** The result of an apply. */
export interface ApplyResult extends JobEnd {
  readonly outcome: 'applied' | 'errored' | 'canceled';
  /**
   * The state after the apply, whether or not it succeeded. It becomes a state version of the run unless nothing
   * changed.
   */
  readonly state?: Uint8Array;
  /** The file that the tool wrote because it could not save its state. */
  readonly erroredState?: Uint8Array | StoredBytes;
  readonly additions?: number;
  readonly changes?: number;
  readonly destructions?: number;
  readonly imports?: number;
}

/** The result of a test or a query. Tests that fail have finished, too. */
export interface ToolRunResult extends JobEnd {
  readonly outcome: 'finished' | 'errored' | 'canceled';
}

/** The holder of a job, and the attempt. */
export interface JobHolder {
  readonly workerId: string;
  readonly attempt: number;
}

/** A worker that asks for a job, for how long, and the versions of the tool that it has. */
export interface ClaimingWorker {
  readonly workerId: string;
  readonly leaseSeconds: number;
  readonly versions: readonly string[];
  /**
   * The pool of an agent, which only gets runs of the workspaces that use the pool. Undefined for workers and agents of
   * the installation, which get remote runs.
   */
  readonly agentPoolId?: string;
}

/**
 * SQL: whether the pool `hp` of the agent that holds the job `j` is no longer open to its workspace, or to tests of
 * modules.
 */
export const isClosed = `EXISTS (SELECT 1 FROM run_worker hk JOIN agent_pool ha ON ha.id = hk.agent_pool_id
   LEFT JOIN run hr ON hr.id = j.run_id LEFT JOIN tool_run ht ON ht.id = j.phase_id
   LEFT JOIN workspace hw ON hw.id = coalesce(hr.workspace_id, ht.workspace_id) LEFT JOIN project hp ON hp.id = hw.project_id
  WHERE hk.id = j.worker_id AND NOT CASE WHEN hw.id IS NULL THEN ha.organization_scoped AND ha.organization_id = ht.organization_id
        ELSE ${isPoolOpen({ w: 'hw', p: 'hp', o: '' }, 'hk.agent_pool_id')} END)`;

/** SQL: whether this worker holds the job `j` in this attempt, and the pool of the agent is still open to the job. */
export const isHeld = ({ workerId, attempt }: JobHolder, states = "'claimed', 'started'"): Prisma.Sql =>
  Prisma.sql`j.worker_id = ${workerId} AND j.attempt = ${attempt} AND j.state IN (${Prisma.raw(states)}) AND NOT ${Prisma.raw(isClosed)}`;

/** True while this worker holds a job in this attempt. With `started`, only if its tool was started. */
export async function isMine(
  { prisma }: Database,
  { id, attempt }: Pick<RunJob, 'id' | 'attempt'>,
  workerId: string,
  started = false,
): Promise<boolean> {
  const ownJob = isHeld({ workerId, attempt }, started ? "'started'" : undefined);
  return (await prisma.$queryRaw<unknown[]>`SELECT 1 FROM run_job j WHERE j.id = ${id} AND ${ownJob}`).length > 0;
}
