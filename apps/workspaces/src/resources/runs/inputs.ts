import type { Keyring } from '@keystead/keyring';
import { readBlob } from '../../kernel/blobs';
import type { Database } from '../../kernel/database';
import type { JobInputs, JobVariable, RunJob } from './job';

/** A stored variable, with what decides which of several with one key counts: higher ranks win. */
interface Candidate {
  readonly id: string;
  readonly key: string;
  readonly category: string;
  readonly value: string | null;
  readonly sealed: Uint8Array | null;
  readonly hcl: boolean;
  readonly sensitive: boolean;
  readonly rank: number;
}

/** Where the values given to the run itself stand among the ranks below: only priority sets go before them. */
const runRank = 5;

/**
 * All variables that reach a workspace. Ranks: global, project and workspace sets, the workspace itself, [the run], and
 * above them sets with priority: the wider, the stronger. Of sets of one rank the first by name counts.
 */
async function candidates(db: Database, workspaceId: string): Promise<Candidate[]> {
  return db.prisma.$queryRaw<Candidate[]>`
    WITH reaching AS (
      SELECT s.id, s.name, s.priority,
             CASE WHEN s.global THEN 1 WHEN vp.project_id IS NOT NULL AND vw.workspace_id IS NULL THEN 2 ELSE 3 END AS width
        FROM workspace w
        JOIN variable_set s ON s.organization_id = w.organization_id
        LEFT JOIN variable_set_workspace vw ON vw.variable_set_id = s.id AND vw.workspace_id = w.id
        LEFT JOIN variable_set_project vp ON vp.variable_set_id = s.id AND vp.project_id = w.project_id
       WHERE w.id = ${workspaceId} AND (s.global OR vw.workspace_id IS NOT NULL OR vp.project_id IS NOT NULL))
    SELECT v.id, v.key, v.category, v.value, v.sealed, v.hcl, v.sensitive,
           CASE WHEN v.workspace_id IS NOT NULL THEN 4 WHEN r.priority THEN 9 - r.width ELSE r.width END AS rank
      FROM variable v LEFT JOIN reaching r ON r.id = v.variable_set_id
     WHERE v.workspace_id = ${workspaceId} OR r.id IS NOT NULL
     ORDER BY rank, r.name COLLATE "C" DESC NULLS LAST, v.id`;
}

function opened(keyring: Keyring, { id, key, value, sealed, hcl, sensitive }: Candidate): JobVariable {
  const at = { table: 'variable', row: id, column: 'sealed' };
  const text = sealed === null ? (value ?? '') : keyring.open(sealed, at).toString('utf8');
  return { key, value: text, hcl, sensitive };
}

async function sshKeyOf(db: Database, keyring: Keyring, workspaceId: string): Promise<string | undefined> {
  const workspace = await db.prisma.workspace.findUnique({ where: { id: workspaceId }, select: { sshKey: true } });
  const key = workspace?.sshKey;
  return key ? keyring.open(key.value, { table: 'ssh_key', row: key.id, column: 'value' }).toString('utf8') : undefined;
}

/** Everything a job works with, opened; large things as streams when they are asked for. */
export async function jobInputs(db: Database, keyring: Keyring, job: RunJob): Promise<JobInputs> {
  const found = await candidates(db, job.workspaceId);
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
  const blob = (id: string | null | undefined) => (id ? readBlob(db, keyring, id) : Promise.resolve(undefined));
  return {
    variables: [...chosen.terraform.values()],
    environment: [...chosen.env.values()],
    sshKey: await sshKeyOf(db, keyring, job.workspaceId),
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
