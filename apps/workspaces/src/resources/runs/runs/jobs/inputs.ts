import type { Keyring } from '@keystead/keyring';
import { Prisma } from '../../../../generated/prisma/client';
import { runToken } from '../../../../kernel/access/run-tokens';
import { readBlob } from '../../../../kernel/blobs/blobs';
import type { Database } from '../../../../kernel/database/database';
import { type Candidate, candidates, openValue } from '../../../workspaces/variable-sets/effective-variables';
import type { JobInputs, JobVariable, RegistryLogin, RunJob } from './job';

/** The rank of the run's own values among the ranks below. Only priority sets override them. */
const runRank = 5;

function opened(keyring: Keyring, one: Candidate): JobVariable {
  const { key, hcl, sensitive } = one;
  return { key, value: openValue(keyring, one), hcl, sensitive };
}

/** Whether a run plans a change by someone without write access to the repository. Such a run gets no secrets. */
export async function isOfFork(db: Database, runId: string): Promise<boolean> {
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

/** Tests of a module get its own variables, and nothing from a workspace. */
const ofTests: Secrets = { forked: false, logs_in: false, key_id: null, key: null };

const testVariables = (db: Database, toolRunId: string): Promise<Candidate[]> =>
  db.prisma.$queryRaw<Candidate[]>`
    SELECT v.id, v.key, v.category, v.value, v.sealed, v.hcl, v.sensitive, 1 AS rank
      FROM variable v JOIN tool_run t ON t.module_id = v.module_id WHERE t.id = ${toolRunId} ORDER BY v.id`;

function sshKeyOf(keyring: Keyring, { key_id: row, key }: Secrets): string | undefined {
  if (row === null || key === null) return undefined;
  return keyring.open(key, { table: 'ssh_key', row, column: 'value' }).toString('utf8');
}

/** The tools call registries only over TLS. */
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
    ...jobFiles(db, keyring, job),
  };
}

/** The files among the inputs. */
export function jobFiles(
  db: Database,
  keyring: Keyring,
  job: RunJob,
): Pick<JobInputs, 'configuration' | 'state' | 'planFile'> {
  const blob = (id: string | null | undefined) => (id ? readBlob(db, keyring, id) : Promise.resolve(undefined));
  return {
    configuration: () => blob(job.configurationBlobId),
    async state() {
      const [row] = await db.prisma.$queryRaw<{ raw_blob_id: string | null }[]>`
        SELECT s.raw_blob_id FROM workspace w JOIN state_version s ON s.id = w.current_state_version_id
         WHERE w.id = ${job.workspaceId}`;
      return blob(row?.raw_blob_id);
    },
    async planFile() {
      const plan = await db.prisma.runPhase.findUnique({ where: { id: job.planId }, select: { planBlobId: true } });
      return blob(plan?.planBlobId);
    },
  };
}
