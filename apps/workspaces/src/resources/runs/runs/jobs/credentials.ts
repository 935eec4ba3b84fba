import type { Keyring } from '@keystead/keyring';
import { type OutsideResponse, outsideCall } from '@keystead/outside';
import type { Database } from '../../../../kernel/database/database';
import { newId } from '../../../../kernel/database/ids';
import { claimsOf, identityToken, workspaceIdentity } from '../../../installation/identity-tokens/identity-token';
import { declaredIdentities } from '../../../workspaces/identities/declared-identities';
import { isMine } from './claims';
import { isOfFork, jobInputs } from './inputs';
import type { JobIdentities, JobLogin, KeptToken, LoginParts, RunJob, SecretsService } from './job';

/** A query reads the same as a plan, so its identity is that of a plan. */
const identified = ({ kind, runId }: RunJob) => ({ kind: kind === 'apply' ? kind : ('plan' as const), runId });

const cell = (id: string) => ({ table: 'run_credential', row: id, column: 'sealed' });

/** Where a job logs in at the secrets service; undefined if its workspace has no role there. */
export async function jobLogin(
  { db, keyring, secrets, nowMs }: LoginParts,
  job: RunJob,
): Promise<JobLogin | undefined> {
  const of = await workspaceIdentity(db, job.workspaceId);
  if (!of?.role || (await isOfFork(db, job.runId))) return undefined;
  const { role, namespace } = of;
  if (!secrets) {
    return {
      problem: `the workspace has the secrets role ${JSON.stringify(role)}, but this worker knows no secrets service: set WORKSPACES_SECRETS_ADDR`,
    };
  }
  const { issuer, audience, address, mount } = secrets;
  const claims = claimsOf(of, identified(job), 'ids');
  const jwt = await identityToken(db, keyring, { issuer, audience, claims, lasts: 'login', nowMs });
  return { role, namespace, address, mount, jwt };
}

/**
 * Signs the identity tokens that the variables of a job's workspace ask for, and no others, because all code in the job
 * can read them.
 */
export async function jobIdentities(
  { db, keyring, secrets, issuer, nowMs }: LoginParts,
  job: RunJob,
  workerId: string,
): Promise<JobIdentities> {
  if (job.kind === 'test') return { withheld: 'tests of a module have no identity' };
  const of = await workspaceIdentity(db, job.workspaceId);
  if (!of || !(await isMine(db, job, workerId, true))) return { withheld: 'the run is over' };
  if (await isOfFork(db, job.runId)) return { withheld: 'the pull request comes from a fork' };
  const { environment } = await jobInputs(db, keyring, job, issuer);
  const values = new Map(environment.map(({ key, value }) => [key, value]));
  const claims = claimsOf(of, identified(job), values.get('WORKLOAD_IDENTITY_SUBJECT') === 'ids' ? 'ids' : 'names');
  const tokens: Record<string, string> = {};
  for (const { audience } of declaredIdentities(values, identified(job).kind).identities) {
    tokens[audience] ??= await identityToken(db, keyring, { issuer, audience, claims, lasts: 'given', nowMs });
  }
  return { tokens, secretsAddress: secrets?.address ?? null };
}

/**
 * Records the token of the secrets service that a job got, so that it is revoked even if the worker dies. Returns its
 * id.
 */
export async function keepToken(
  db: Database,
  keyring: Keyring,
  job: RunJob,
  workerId: string,
  { token, accessor, namespace }: KeptToken,
): Promise<string> {
  const id = newId('cred');
  const sealed = new Uint8Array(keyring.seal(Buffer.from(token), cell(id)));
  await db.prisma.runCredential.create({ data: { id, jobId: job.id, workerId, namespace, sealed } });
  // Users can find the token in the secrets service with it. It gives no access.
  if (accessor !== '') {
    const data = { secretsAccessor: accessor, secretsNamespace: namespace };
    await db.prisma.runPhase.updateMany({ where: { id: job.kind === 'plan' ? job.planId : job.applyId }, data });
  }
  return id;
}

/** Forgets a token that was revoked. */
export async function forgetToken(db: Database, id: string, jobId?: string): Promise<void> {
  await db.prisma.runCredential.deleteMany({ where: { id, jobId } });
}

interface Left {
  readonly id: string;
  readonly namespace: string;
  readonly sealed: Uint8Array;
}

/**
 * Revokes tokens whose job has ended or was lost with its worker. Returns their number, and calls `failed` for each
 * token that could not be revoked.
 */
export async function revokeLeft(
  { db, keyring, secrets }: Omit<LoginParts, 'nowMs' | 'issuer'> & { secrets: SecretsService | undefined },
  failed: (error: unknown) => void,
): Promise<number> {
  if (!secrets) return 0;
  const left = await db.prisma.$queryRaw<Left[]>`
    SELECT c.id, c.namespace, c.sealed FROM run_credential c
     WHERE NOT EXISTS (SELECT 1 FROM run_job j WHERE j.id = c.job_id AND j.worker_id = c.worker_id
                          AND j.state IN ('claimed', 'started') AND j.claimed_until > now())
     ORDER BY c.created_at LIMIT 100`;
  let revoked = 0;
  for (const { id, namespace, sealed } of left) {
    try {
      await revokeToken(secrets.address, namespace, keyring.open(sealed, cell(id)).toString('utf8'));
      await forgetToken(db, id);
      revoked++;
    } catch (error) {
      failed(error);
    }
  }
  return revoked;
}

const timeoutMs = 15_000;

/** Sends a request to the secrets service, `path` below `/v1/`. Throws Unreachable. */
export function postSecrets(
  address: string,
  path: string,
  given: { namespace: string; token?: string; body?: object; ca?: string },
): Promise<OutsideResponse> {
  const headers = {
    ...(given.namespace === '' ? {} : { 'X-Vault-Namespace': given.namespace }),
    ...(given.token === undefined ? {} : { 'X-Vault-Token': given.token }),
  };
  const request = { method: 'POST', json: given.body ?? {}, headers, ca: given.ca } as const;
  return outsideCall('the secrets service', `${address}/v1/${path}`, request, timeoutMs);
}

/** Revokes a token. Succeeds if it has already ended. */
export async function revokeToken(address: string, namespace: string, token: string, ca?: string): Promise<void> {
  const answer = await postSecrets(address, 'auth/token/revoke-self', { namespace, token, ca });
  if (answer.status >= 300 && answer.status !== 403) throw new Error(`revoke-self answered ${answer.status}`);
}
