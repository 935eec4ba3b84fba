import { equalSecrets } from '@keystead/auth';
import type { Keyring } from '@keystead/keyring';
import { Refusal } from '@keystead/refusal';
import type { Database } from '../../../kernel/database/database';
import { isMine } from '../runs/jobs/claims';
import { leaseHeader, type UploadName } from './protocol';

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
 * The lease that a request proves. Throws `denied` if there is none, and for a lease of another agent or another job.
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

/** Refuses results of an agent that no longer holds the job. */
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
export function openUpload(
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
