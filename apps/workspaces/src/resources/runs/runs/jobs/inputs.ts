import type { Readable } from 'node:stream';
import type { Keyring } from '@keystead/keyring';
import { type OutsideResponse, outsideCall } from '@keystead/outside';
import { Prisma } from '../../../../generated/prisma/client';
import { runToken } from '../../../../kernel/access/run-tokens';
import { readBlob, readSmallBlob } from '../../../../kernel/blobs/blobs';
import type { Database } from '../../../../kernel/database/database';
import { newId } from '../../../../kernel/database/ids';
import { claimsOf, identityToken, workspaceIdentity } from '../../../installation/identity-tokens/identity-token';
import { declaredIdentities } from '../../../workspaces/identities/declared-identities';
import { type Candidate, candidates, openValue } from '../../../workspaces/variable-sets/effective-variables';
import {
  type FileName,
  isMine,
  type JobIdentities,
  type JobInputs,
  type JobLogin,
  type JobVariable,
  type KeptToken,
  type LoginParts,
  type RegistryLogin,
  type RunJob,
  type SecretsService,
} from './job';

/** The rank of the run's own values among the ranks below. Only priority sets override them. */
const runRank = 5;

function opened(keyring: Keyring, one: Candidate): JobVariable {
  const { key, hcl, sensitive } = one;
  return { key, value: openValue(keyring, one), hcl, sensitive };
}

/**
 * Whether a run plans a change by someone without write access to the repository. A run of this kind gets no secrets.
 */
async function isOfFork(db: Database, runId: string): Promise<boolean> {
  const [row] = await db.prisma.$queryRaw<
    { forked: boolean }[]
  >`SELECT ${forked} AS forked FROM ${runOrQuery(runId)} r`;
  return row?.forked === true;
}

/** SQL: the workspace and the configuration of a run or a query. */
const runOrQuery = (id: string): Prisma.Sql => Prisma.sql`(
  SELECT workspace_id, configuration_version_id FROM run WHERE id = ${id}
   UNION ALL SELECT workspace_id, configuration_version_id FROM tool_run WHERE id = ${id})`;

const forked = Prisma.sql`EXISTS (SELECT 1 FROM ingress_attributes i
   WHERE i.configuration_version_id = r.configuration_version_id AND i.from_fork)`;

interface Secrets {
  readonly forked: boolean;
  readonly logs_in: boolean;
  readonly key_id: string | null;
  readonly key: Uint8Array | null;
}

/** The secrets that a run may get, except its variables. */
async function secretsOf(db: Database, runId: string): Promise<Secrets | undefined> {
  const [row] = await db.prisma.$queryRaw<Secrets[]>`
    SELECT ${forked} AS forked, coalesce(w.secrets_role, p.secrets_role, '') <> '' AS logs_in, k.id AS key_id, k.value AS key
      FROM ${runOrQuery(runId)} r JOIN workspace w ON w.id = r.workspace_id JOIN project p ON p.id = w.project_id
      LEFT JOIN ssh_key k ON k.id = w.ssh_key_id`;
  return row;
}

/** The secrets of tests. Tests of a module get the variables of the module, and nothing from a workspace. */
const ofTests: Secrets = { forked: false, logs_in: false, key_id: null, key: null };

const testVariables = (db: Database, toolRunId: string): Promise<Candidate[]> =>
  db.prisma.$queryRaw<Candidate[]>`
    SELECT v.id, v.key, v.category, v.value, v.sealed, v.hcl, v.sensitive, 1 AS rank
      FROM variable v JOIN tool_run t ON t.module_id = v.module_id WHERE t.id = ${toolRunId} ORDER BY v.id`;

function sshKeyOf(keyring: Keyring, { key_id: row, key }: Secrets): string | undefined {
  if (row === null || key === null) return undefined;
  return keyring.open(key, { table: 'ssh_key', row, column: 'value' }).toString('utf8');
}

/** The login at the registry; undefined without TLS, because the tools call registries only over TLS. */
function registryOf(keyring: Keyring, job: RunJob, publicUrl: string): RegistryLogin | undefined {
  const { protocol, host } = new URL(publicUrl);
  return protocol === 'https:' ? { host, token: runToken(keyring, job) } : undefined;
}

/** All inputs of a job, decrypted; large inputs are streams that open on request. */
export async function jobInputs(db: Database, keyring: Keyring, job: RunJob, publicUrl: string): Promise<JobInputs> {
  const isTest = job.kind === 'test';
  const secrets = isTest ? ofTests : await secretsOf(db, job.runId);
  const forked = secrets?.forked !== false;
  const reaching = isTest ? await testVariables(db, job.runId) : await candidates(db, job.workspaceId);
  const found = reaching.filter(({ sensitive }) => !(forked && sensitive));
  const chosen = { terraform: new Map<string, JobVariable>(), env: new Map<string, JobVariable>() };
  const take = (ranked: readonly Candidate[]) => {
    for (const one of ranked) {
      chosen[one.category === 'env' ? 'env' : 'terraform'].set(one.key, opened(keyring, one));
    }
  };
  take(found.filter(({ rank }) => rank < runRank));
  for (const { key, value } of job.variables) {
    chosen.terraform.set(key, { key, value, hcl: true, sensitive: false });
  }
  take(found.filter(({ rank }) => rank >= runRank));
  return {
    variables: [...chosen.terraform.values()],
    environment: [...chosen.env.values()],
    sshKey: forked ? undefined : sshKeyOf(keyring, secrets),
    logsIn: !forked && secrets.logs_in,
    registry: forked ? undefined : registryOf(keyring, job, publicUrl),
    configuration: () => jobFile(db, keyring, job, 'configuration'),
    state: () => jobFile(db, keyring, job, 'state'),
    planFile: () => jobFile(db, keyring, job, 'plan'),
  };
}

/** The blob of a file that a job works with; null if there is no such file. */
async function blobOf(db: Database, job: RunJob, name: FileName): Promise<string | null> {
  if (name === 'configuration') return job.configurationBlobId || null;
  if (name === 'plan') {
    const plan = await db.prisma.runPhase.findUnique({ where: { id: job.planId }, select: { planBlobId: true } });
    return plan?.planBlobId ?? null;
  }
  const [row] = await db.prisma.$queryRaw<{ raw_blob_id: string | null }[]>`
    SELECT s.raw_blob_id FROM workspace w JOIN state_version s ON s.id = w.current_state_version_id
     WHERE w.id = ${job.workspaceId}`;
  return row?.raw_blob_id ?? null;
}

/** A file that a job works with; undefined if there is no such file. */
export async function jobFile(
  db: Database,
  keyring: Keyring,
  job: RunJob,
  name: FileName,
): Promise<Readable | undefined> {
  const id = await blobOf(db, job, name);
  return id === null ? undefined : readBlob(db, keyring, id);
}

/** A file of at most `most` bytes; null if there is no such file, undefined if it must be read with `jobFile`. */
export async function smallFile(
  db: Database,
  keyring: Keyring,
  job: RunJob,
  name: FileName,
  most: number,
): Promise<Buffer | null | undefined> {
  const id = await blobOf(db, job, name);
  return id === null ? null : readSmallBlob(db, keyring, id, most);
}

/**
 * The kind and id for the identity of a job. A query reads the same data as a plan, so it has the identity of a plan.
 */
const identified = ({ kind, runId }: RunJob) => ({ kind: kind === 'apply' ? kind : ('plan' as const), runId });

const credentialCell = (id: string) => ({ table: 'run_credential', row: id, column: 'sealed' });

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
 * Signs only the identity tokens that the variables of a job's workspace request, because all code in the job can read
 * them.
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
  const sealed = new Uint8Array(keyring.seal(Buffer.from(token), credentialCell(id)));
  await db.prisma.runCredential.create({ data: { id, jobId: job.id, workerId, namespace, sealed } });
  // Users can find the token in the secrets service with it. It gives no access.
  if (accessor !== '') {
    const data = { secretsAccessor: accessor, secretsNamespace: namespace };
    await db.prisma.runPhase.updateMany({ where: { id: job.kind === 'plan' ? job.planId : job.applyId }, data });
  }
  return id;
}

/** Deletes the record of a token that was revoked. */
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
  const remaining = await db.prisma.$queryRaw<Left[]>`
    SELECT c.id, c.namespace, c.sealed FROM run_credential c
     WHERE NOT EXISTS (SELECT 1 FROM run_job j WHERE j.id = c.job_id AND j.worker_id = c.worker_id
                          AND j.state IN ('claimed', 'started') AND j.claimed_until > now())
     ORDER BY c.created_at LIMIT 100`;
  let revoked = 0;
  for (const { id, namespace, sealed } of remaining) {
    try {
      await revokeToken(secrets.address, namespace, keyring.open(sealed, credentialCell(id)).toString('utf8'));
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
  call: { namespace: string; token?: string; body?: object; ca?: string },
): Promise<OutsideResponse> {
  const headers = {
    ...(call.namespace === '' ? {} : { 'X-Vault-Namespace': call.namespace }),
    ...(call.token === undefined ? {} : { 'X-Vault-Token': call.token }),
  };
  const request = { method: 'POST', json: call.body ?? {}, headers, ca: call.ca } as const;
  return outsideCall('the secrets service', `${address}/v1/${path}`, request, timeoutMs);
}

/** Revokes a token. Succeeds if it has already ended. */
export async function revokeToken(address: string, namespace: string, token: string, ca?: string): Promise<void> {
  const answer = await postSecrets(address, 'auth/token/revoke-self', { namespace, token, ca });
  if (answer.status >= 300 && answer.status !== 403) throw new Error(`revoke-self answered ${answer.status}`);
}
