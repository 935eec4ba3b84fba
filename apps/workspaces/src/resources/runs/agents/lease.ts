import { equalSecrets } from '@keystead/auth';
import type { Keyring } from '@keystead/keyring';
import { Refusal } from '@keystead/refusal';
import type { z } from 'zod';
import { BlobTooLarge } from '../../../kernel/blobs/blobs';
import type { Database } from '../../../kernel/database/database';
import { describe } from '../runs/jobs/claims';
import { isMine, type SentState } from '../runs/jobs/job';
import { endApply, finishPlan, quarantineState, takeState } from '../runs/jobs/results';
import { finishToolJob, isToolJob } from '../runs/jobs/tool-jobs';
import type { Health } from '../runs/record-assessment';
import { leaseHeader, type Result, type UploadName } from './protocol';
import { fromWire } from './wire';

/** A job held by one agent, with the number of times that it was assigned. */
export interface Lease {
  readonly id: string;
  readonly attempt: number;
}

/** The work of a lease: the job of a run, a commit to fetch, a request to a Git host, or a plan to evaluate. */
export type Leased = 'agent-lease' | 'agent-fetch' | 'agent-request' | 'agent-evaluation';

const macOf = (keyring: Keyring, agentId: string, { id, attempt }: Lease, what: Leased): string =>
  keyring.mac(what, `${agentId}\n${id}\n${attempt}`).toString('base64url');

/**
 * Proves that an agent got a job in a given attempt. It is valid only for this job and agent, and while the agent holds
 * the job.
 */
export function mintLease(keyring: Keyring, agentId: string, lease: Lease, what: Leased = 'agent-lease'): string {
  return `${lease.attempt}.${macOf(keyring, agentId, lease, what)}`;
}

/**
 * The lease that a request proves. Throws `denied` if the request proves no lease, and for a lease of another agent or
 * another job.
 */
export function requireLease(
  keyring: Keyring,
  agentId: string,
  jobId: string,
  headers: NodeJS.Dict<string | string[]>,
  what: Leased = 'agent-lease',
): Lease {
  const [, attempt = '', mac = ''] = /^([1-9]\d{0,8})\.([\w-]{43})$/.exec(String(headers[leaseHeader] ?? '')) ?? [];
  const lease = { id: jobId, attempt: Number(attempt) };
  if (mac === '' || !equalSecrets(mac, macOf(keyring, agentId, lease, what))) {
    throw new Refusal('denied', `the header ${leaseHeader} does not prove that this agent holds this job`);
  }
  return lease;
}

/** The refusal of results from an agent that no longer holds the job. */
export const leaseLost = (): Refusal =>
  new Refusal(
    'transition',
    'this agent no longer holds the job: it has ended or was given to another agent; nothing was changed',
  );

/** Throws `transition` unless the job is held in this attempt and was started. */
export async function requireBegun(db: Database, workerId: string, lease: Lease): Promise<void> {
  if (!(await isMine(db, lease, workerId, true))) throw leaseLost();
}

const uploadMac = (keyring: Keyring, { id, attempt }: Lease, name: UploadName, blobId: string): string =>
  keyring.mac('agent-upload', `${id}\n${attempt}\n${name}\n${blobId}`).toString('base64url');

/** A signed name for bytes that were uploaded for a job. */
export function nameUpload(keyring: Keyring, lease: Lease, name: UploadName, blobId: string): string {
  return `${blobId}.${uploadMac(keyring, lease, name, blobId)}`;
}

/** The bytes behind a name. Throws `denied` if they were not uploaded for this job under this name. */
function openUpload(
  keyring: Keyring,
  lease: Lease,
  name: UploadName,
  upload: string | undefined,
): { blobId: string } | undefined {
  if (upload === undefined) return undefined;
  const [blobId = '', mac = ''] = upload.split('.');
  if (!equalSecrets(mac, uploadMac(keyring, lease, name, blobId))) {
    throw new Refusal('denied', `${name} does not name an upload of this job`);
  }
  return { blobId };
}

/**
 * Makes the state after an apply the current one. Throws the refusal, or `transition` if the agent no longer holds the
 * job. In both cases, the state is quarantined.
 */
export async function saveSent(
  db: Database,
  keyring: Keyring,
  agentId: string,
  lease: Lease,
  state: SentState,
): Promise<void> {
  const found = await describe(db, keyring, lease.id);
  if (!found) throw leaseLost();
  const job = { ...found, attempt: lease.attempt };
  if (job.kind !== 'apply') throw new Refusal('transition', 'only an apply produces a state');
  try {
    await requireBegun(db, agentId, lease);
  } catch (error) {
    await quarantineState(db, keyring, job, state, 'the agent that sent it no longer held the apply');
    throw error;
  }
  await takeState(db, keyring, job, state).catch((error) => {
    throw error instanceof BlobTooLarge ? new Refusal('too-large', error.message) : error;
  });
}

/** Ends a job. Throws `transition` and changes nothing if the agent no longer holds it. */
export async function finishJob(
  db: Database,
  keyring: Keyring,
  agentId: string,
  lease: Lease,
  result: z.infer<typeof Result>,
): Promise<void> {
  const job = await describe(db, keyring, lease.id, { workerId: agentId, attempt: lease.attempt });
  if (!job?.isBegun) throw leaseLost();
  const { outcome, additions, changes, destructions, imports, uploads = {}, files = {} } = result;
  const counts = { additions, changes, destructions, imports };
  const errorMessage = result['error-message'];
  const log = result.log && { offset: BigInt(result.log.offset), bytes: Buffer.from(result.log.bytes, 'base64') };
  const sent = (name: UploadName) => {
    const file = files[name];
    return file === undefined ? openUpload(keyring, lease, name, uploads[name]) : Buffer.from(file, 'base64');
  };
  const right = isToolJob(job) ? 'finished' : job.kind === 'plan' ? 'planned' : 'applied';
  if (![right, 'errored', 'canceled'].includes(outcome)) {
    throw new Refusal('transition', `the job is of the kind ${job.kind}`);
  }
  const stored = isToolJob(job)
    ? await finishToolJob(db, keyring, job, agentId, { outcome: outcome as 'finished', errorMessage, log })
    : job.kind === 'plan'
      ? await finishPlan(db, keyring, job, agentId, {
          ...counts,
          outcome: outcome as 'planned',
          hasChanges: result['has-changes'],
          generatedConfiguration: result['generated-configuration'],
          health: result.health && (fromWire(result.health) as unknown as Health),
          requirements: result.requirements,
          errorMessage,
          log,
          jsonPlan: sent('json-plan'),
          redactedJsonPlan: sent('redacted-json-plan'),
          planFile: sent('plan-file'),
        })
      : await endApply(db, keyring, job, agentId, {
          ...counts,
          outcome: outcome as 'applied',
          errorMessage,
          log,
          lost: result['state-lost'],
          erroredState: sent('errored-state'),
        });
  if (!stored) throw leaseLost();
}
