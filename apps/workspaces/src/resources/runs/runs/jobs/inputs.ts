import type { Keyring } from '@keystead/keyring';
import { runToken } from '../../../../kernel/access/run-tokens';
import { readBlob } from '../../../../kernel/blobs/blobs';
import type { Database } from '../../../../kernel/database/database';
import { type Candidate, candidates, openValue } from '../../../workspaces/variable-sets/reaching';
import type { JobInputs, JobVariable, RegistryLogin, RunJob } from './job';

/** Where the values given to the run itself stand among the ranks below: only priority sets go before them. */
const runRank = 5;

function opened(keyring: Keyring, one: Candidate): JobVariable {
  const { key, hcl, sensitive } = one;
  return { key, value: openValue(keyring, one), hcl, sensitive };
}

async function sshKeyOf(db: Database, keyring: Keyring, workspaceId: string): Promise<string | undefined> {
  const workspace = await db.prisma.workspace.findUnique({ where: { id: workspaceId }, select: { sshKey: true } });
  const key = workspace?.sshKey;
  return key ? keyring.open(key.value, { table: 'ssh_key', row: key.id, column: 'value' }).toString('utf8') : undefined;
}

/** Whether a run plans a proposal from outside the repository's writers: it is given no secrets. */
export async function isOfFork(db: Database, runId: string): Promise<boolean> {
  const [row] = await db.prisma.$queryRaw<unknown[]>`
    SELECT 1 FROM run r JOIN ingress_attributes i ON i.configuration_version_id = r.configuration_version_id
     WHERE r.id = ${runId} AND i.from_fork`;
  return row !== undefined;
}

/** The tools speak to a registry over TLS only. */
function registryOf(keyring: Keyring, job: RunJob, publicUrl: string): RegistryLogin | undefined {
  const { protocol, host } = new URL(publicUrl);
  return protocol === 'https:' ? { host, token: runToken(keyring, job) } : undefined;
}

/** Everything a job works with, opened; large things as streams when they are asked for. */
export async function jobInputs(db: Database, keyring: Keyring, job: RunJob, publicUrl: string): Promise<JobInputs> {
  const forked = await isOfFork(db, job.runId);
  const found = (await candidates(db, job.workspaceId)).filter(({ sensitive }) => !(forked && sensitive));
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
    sshKey: forked ? undefined : await sshKeyOf(db, keyring, job.workspaceId),
    registry: forked ? undefined : registryOf(keyring, job, publicUrl),
    ...jobFiles(db, keyring, job),
  };
}

/** The files among them. */
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
