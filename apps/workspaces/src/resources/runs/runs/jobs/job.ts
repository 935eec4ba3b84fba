import type { Readable } from 'node:stream';
import type { Keyring } from '@keystead/keyring';
import type { Database } from '../../../../kernel/database/database';
import type { Health } from '../record-assessment';

/** A piece of work that one worker does at a time: the plan of a run, or its apply. */
export interface RunJob {
  readonly id: string;
  readonly kind: 'plan' | 'apply';
  readonly runId: string;
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
  /** It looks for drift: what it counts is asked for. */
  readonly isAssessment: boolean;
  readonly savePlan: boolean;
  readonly allowEmptyApply: boolean;
  readonly generateConfig: boolean;
  /** An exact version of the tool. */
  readonly infraVersion: string;
  readonly workingDirectory: string | null;
  readonly debuggingMode: boolean;
  /** The log is lines of JSON, which the reader's own tool renders. */
  readonly structuredOutput: boolean;
  /** How long the tool may run. */
  readonly timeoutSeconds: number;
  /** Values are expressions of the configuration language. */
  readonly variables: readonly { readonly key: string; readonly value: string }[];
  /** The trace that the job is part of. */
  readonly traceparent?: string;
  /** What an agent proves with that it holds the job, and who it was to the service then. */
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

/** Where the tool finds modules and providers of the organization, and a token that reads them while the job is under way. */
export interface RegistryLogin {
  readonly host: string;
  readonly token: string;
}

/** What a job works with. Streams are opened when asked for; undefined if there is nothing. */
export interface JobInputs {
  /** Terraform variables after all precedence, those of the run included. */
  readonly variables: readonly JobVariable[];
  /** Environment variables after all precedence. */
  readonly environment: readonly JobVariable[];
  /** The private key of the workspace, for modules fetched over SSH. */
  readonly sshKey: string | undefined;
  /** Undefined for a run that is given no secrets. */
  readonly registry: RegistryLogin | undefined;
  /** Whether there is a role to log in with at the secrets service; undefined: to be asked for. */
  readonly logsIn?: boolean;
  state(): Promise<Readable | undefined>;
  configuration(): Promise<Readable | undefined>;
  /** The plan that an apply carries out. */
  planFile(): Promise<Readable | undefined>;
}

/** What the worker should do with a job it holds. Not `mine`: stop at once, nothing it reports counts any more. */
export interface Heartbeat {
  readonly mine: boolean;
  /** `cancel`: interrupt the tool and wait; `force-cancel`: kill it. */
  readonly cancel: 'no' | 'cancel' | 'force-cancel';
}

/** Bytes of a result, or the provisional blob that they are in already. */
export type Bytes = Uint8Array | AsyncIterable<Uint8Array> | StoredBytes;

/** Bytes that were handed in before. */
export interface StoredBytes {
  readonly blobId: string;
}

/** A state, and what it says of its place in history. */
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
  /** Where its login with signed tokens is mounted, below `auth/`. */
  readonly mount: string;
  readonly audience: string;
  /** Who signs: the public address of the workspace service. */
  readonly issuer: string;
}

/** What logging in at the secrets service is done with. */
export interface LoginParts {
  readonly db: Database;
  readonly keyring: Keyring;
  /** Undefined: runs that ask for credentials fail. */
  readonly secrets: SecretsService | undefined;
  /** The public address of this service. */
  readonly issuer: string;
  readonly nowMs: number;
}

/** Identity tokens by audience, and where the secrets service is; or why a job is given none. */
export type JobIdentities =
  | { readonly tokens: Readonly<Record<string, string>>; readonly secretsAddress: string | null }
  | { readonly withheld: string };

/** Where a job logs in at the secrets service, and as whom; or why it cannot, for the person whose run it is. */
export type JobLogin =
  | {
      readonly role: string;
      /** Empty for the root namespace. */
      readonly namespace: string;
      readonly address: string;
      readonly mount: string;
      /** An identity token, good for some minutes. */
      readonly jwt: string;
      /** Certificates (PEM) to trust there instead of the usual ones. */
      readonly ca?: string;
    }
  | { readonly problem: string };

/** A token of the secrets service that a job was given. */
export interface KeptToken {
  readonly token: string;
  readonly accessor: string;
  readonly namespace: string;
}

/** How a plan ended. Of a plan that did not succeed only `errorMessage` is looked at. */
export interface PlanResult {
  readonly outcome: 'planned' | 'errored' | 'canceled';
  readonly hasChanges?: boolean;
  readonly additions?: number;
  readonly changes?: number;
  readonly destructions?: number;
  readonly imports?: number;
  /** The tool's JSON of the plan. */
  readonly jsonPlan?: Bytes;
  /** The same in the form the tool renders, without sensitive values. */
  readonly redactedJsonPlan?: Bytes;
  /** The plan file that the apply will be given. */
  readonly planFile?: Bytes;
  readonly generatedConfiguration?: boolean;
  /** Of an assessment. */
  readonly health?: Health;
  readonly errorMessage?: string;
}

/** How an apply ended. */
export interface ApplyResult {
  readonly outcome: 'applied' | 'errored' | 'canceled';
  /** The state the tool left, for any outcome; becomes a state version of the run unless nothing changed. */
  readonly state?: Uint8Array;
  /** What the tool wrote because it could not save its state. */
  readonly erroredState?: Uint8Array | StoredBytes;
  readonly additions?: number;
  readonly changes?: number;
  readonly destructions?: number;
  readonly imports?: number;
  readonly errorMessage?: string;
}

/** Who asks for a job, for how long, and the versions of the tool that it can run. */
export interface ClaimingWorker {
  readonly workerId: string;
  readonly leaseSeconds: number;
  readonly versions: readonly string[];
  /** Of an agent: it is given runs of the workspaces that use the pool, and others are not. */
  readonly agentPoolId?: string;
}
