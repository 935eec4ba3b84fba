import type { Readable } from 'node:stream';
import type { Keyring } from '@keystead/keyring';
import { Prisma } from '../../../generated/prisma/client';
import { readBlob, readWholeBlob } from '../../../kernel/blobs/blobs';
import type { Database } from '../../../kernel/database/database';
import { Claims, inSeconds, keptFor, type Taken } from '../../connections/git-hosts/claims';
import { Turns } from '../../connections/git-hosts/turns';
import { type Candidate, openValue } from '../../workspaces/variable-sets/effective-variables';
import type { JudgingPolicy, PolicyOutcome, SetVerdict } from '../runs/stages/policies';
import { takeVerdicts } from '../runs/stages/settle';
import { lockRunIfThere } from '../runs/transition';
import { endDryRun, nextPlan, takeDryVerdicts } from './dry-run';
import { runInput } from './run-input';

/** A policy set with everything needed to evaluate it. */
export interface JudgingSet {
  readonly id: string;
  /** An exact version of the engine; null means any version. */
  readonly toolVersion: string | null;
  /** Versions that site administrators have disabled. */
  readonly disabledVersions: readonly string[];
  readonly policies: readonly JudgingPolicy[];
  /** Contents by path. */
  readonly files: Readonly<Record<string, string>>;
  readonly parameters: readonly { readonly key: string; readonly value: string; readonly sensitive: boolean }[];
}

/** A plan to evaluate, with its run. */
export interface JudgedPlan {
  readonly run: object;
  /** The plan in JSON, as stored. */
  readonly plan: Readable;
}

/** Evaluates OPA policies for plans. Returns an outcome for every set; only faults are thrown. */
export interface PolicyEngine {
  judge(sets: readonly JudgingSet[], plan: JudgedPlan): Promise<SetVerdict[]>;
}

interface DueEvaluation {
  /** The stage of a run; null for a dry run. */
  readonly task_stage_id: string | null;
  readonly policy_dry_run_id: string | null;
  readonly kind: string;
  readonly is_late: boolean;
}

const base = { table: 'policy_evaluation', keys: ['id'], lease: keptFor, tieBreak: 'created_at' } as const;
const byWorkers = new Claims({ ...base, only: "x.status = 'running' AND x.kind = 'opa' AND x.ends_at > now()" });
/** Evaluations that need no worker, or that no worker has claimed in time. */
const byService = new Claims({
  ...base,
  only: `x.status = 'running' AND (x.kind <> 'opa' OR x.ends_at <= now()
    OR NOT EXISTS (SELECT 1 FROM policy_set_outcome o WHERE o.policy_evaluation_id = x.id))`,
});
const columns = Prisma.sql`x.task_stage_id, x.policy_dry_run_id, x.kind, x.ends_at <= now() AS is_late`;
/** After this number of failed attempts, an evaluation ends with an error. */
const mostAttempts = 5;

/** A waiting evaluation that someone has claimed. */
export type TakenEvaluation = Taken<'id', DueEvaluation>;
/** The dependencies of evaluations, apart from the engine. */
export interface JudgingParts {
  readonly db: Database;
  readonly keyring: Keyring;
}

/** Evaluates policies for waiting plans. Safe to call concurrently. */
export function performEvaluations(
  parts: JudgingParts & { readonly engine: PolicyEngine },
  turns = new Turns(),
): Promise<void> {
  return turns.each(
    50,
    (busy) => takeEvaluations(parts.db, busy),
    (due) => judge(parts, due),
    (due) => keepEvaluation(parts.db, due),
  );
}

/** Claims the evaluation that has waited longest, among organizations that are not busy. */
export const takeEvaluations = (db: Database, busy: readonly string[]): Promise<TakenEvaluation[]> =>
  byWorkers.take<DueEvaluation>(db, busy, columns);

/** Extends the claim; returns 0 if someone else has claimed it. */
export const keepEvaluation = (db: Database, due: TakenEvaluation): Promise<number> => byWorkers.keep(db, due);

/** Releases an evaluation that was not started. */
export async function returnEvaluation(db: Database, due: TakenEvaluation): Promise<void> {
  await byWorkers.end(db, due, Prisma.sql`now()`, Prisma.sql`attempts = attempts - 1`);
}

/** Releases an evaluation that failed, to be retried later. */
export async function postponeEvaluation(db: Database, due: TakenEvaluation): Promise<void> {
  await byWorkers.end(db, due, inSeconds(2 ** due.attempts));
}

/** Finds an evaluation, if the claim on it is still valid. */
export async function findEvaluation(
  { prisma }: Database,
  id: string,
  claim: number,
): Promise<TakenEvaluation | undefined> {
  const [found] = await prisma.$queryRaw<TakenEvaluation[]>`
    SELECT x.id, x.organization_id, x.claim, x.attempts, ${columns} FROM policy_evaluation x
     WHERE x.id = ${id} AND x.claim = ${claim} AND x.status = 'running' AND x.next_at > now()`;
  return found;
}

/**
 * Ends evaluations that no worker will perform: Sentinel policies, sets that no longer apply to the workspace, and late
 * evaluations.
 */
export function settleEvaluations(parts: JudgingParts, turns = new Turns()): Promise<void> {
  return turns.each(
    50,
    (busy) => byService.take<DueEvaluation>(parts.db, busy, columns),
    (due) =>
      due.policy_dry_run_id === null
        ? refuse(parts, due, due.is_late ? late : unserved)
        : endUnjudged(parts, due.policy_dry_run_id),
  );
}

/** Ends a dry run if no worker has evaluated its plan for too long. */
async function endUnjudged({ db }: JudgingParts, id: string): Promise<void> {
  await db.transaction((tx) => endDryRun(tx, id, 'errored', { reason: late }));
}

const late = 'No worker with an OPA binary evaluated the policies within ten minutes';
const unserved = 'Sentinel policies are stored but cannot be evaluated: rewrite them for OPA';

/** The run, its plan, and the sets to evaluate. */
interface PreparedEvaluation {
  readonly run: object;
  /** The files are read and decrypted at each call. */
  sets(): Promise<readonly LoadedSet[]>;
  plan(): Promise<Readable | undefined>;
}

/** The inputs of an evaluation. If there is nothing left to evaluate, sets its outcomes and returns undefined. */
export async function prepareEvaluation(
  parts: JudgingParts,
  due: TakenEvaluation,
): Promise<PreparedEvaluation | undefined> {
  const { db, keyring } = parts;
  const { policy_dry_run_id } = due;
  const plan =
    policy_dry_run_id === null
      ? await planOfStage(db, due.task_stage_id)
      : await nextPlan(db, { ...due, policy_dry_run_id });
  if (!plan && policy_dry_run_id !== null) return undefined;
  // For a dry run, attempts are counted per run.
  if ((plan?.attempts ?? due.attempts) > mostAttempts) {
    await refuse(parts, due, 'The worker failed several times during the evaluation; see its log');
    return undefined;
  }
  const run = plan && (await runInput(db, plan.run_id));
  const blobId = plan?.blob_id;
  if (!run || !blobId) {
    await refuse(parts, due, planGone);
    return undefined;
  }
  return { run, sets: () => setsOf(parts, due.id), plan: () => readBlob(db, keyring, blobId) };
}

async function planOfStage({ prisma }: Database, id: string | null) {
  const [plan] = await prisma.$queryRaw<{ run_id: string; blob_id: string | null; attempts?: undefined }[]>`
    SELECT s.run_id, p.json_blob_id AS blob_id FROM task_stage s JOIN run_phase p ON p.run_id = s.run_id AND p.kind = 'plan'
     WHERE s.id = ${id}`;
  return plan;
}

const planGone = 'The plan no longer exists';

async function judge(
  { engine, ...parts }: JudgingParts & { readonly engine: PolicyEngine },
  due: TakenEvaluation,
): Promise<void> {
  const prepared = await prepareEvaluation(parts, due);
  if (!prepared) return;
  const { run } = prepared;
  const loaded = await prepared.sets();
  const json = await prepared.plan();
  if (!json) return refuse(parts, due, planGone);
  const verdicts = await engine
    .judge(
      loaded.flatMap((one) => ('set' in one ? one.set : [])),
      { run, plan: json },
    )
    .catch(async (error: unknown) => {
      await postponeEvaluation(parts.db, due);
      throw error;
    })
    .finally(() => json.destroy());
  await conclude(parts, due, [...verdicts, ...loaded.flatMap((one) => ('verdict' in one ? one.verdict : []))]);
}

/** A set to evaluate, or the outcome of a set that cannot be used. */
type LoadedSet = { readonly set: JudgingSet } | { readonly verdict: SetVerdict };

async function setsOf({ db, keyring }: JudgingParts, policyEvaluationId: string): Promise<LoadedSet[]> {
  const rows = await db.prisma.policySetOutcome.findMany({ where: { policyEvaluationId } });
  const disabled = await db.prisma.infraVersion.findMany({ where: { tool: 'opa', enabled: false } });
  const disabledVersions = disabled.map(({ version }) => version);
  return Promise.all(
    rows.map(async (row): Promise<LoadedSet> => {
      const { id, policySetId, policySetVersionId, toolVersion } = row;
      if (toolVersion !== null && disabledVersions.includes(toolVersion)) {
        return {
          verdict: { id, error: `Version ${toolVersion} of OPA is disabled by site administrators`, outcomes: [] },
        };
      }
      const own = row.policies as unknown as readonly JudgingPolicy[];
      const found = policySetVersionId === null ? ownFiles(own) : await versionFiles(db, keyring, policySetVersionId);
      if (typeof found === 'string') return { verdict: { id, error: found, outcomes: [] } };
      const parameters = await db.prisma.$queryRaw<Candidate[]>`
        SELECT id, key, value, sealed, sensitive FROM variable WHERE policy_set_id = ${policySetId} ORDER BY key`;
      const opened = parameters.map((one) => ({
        key: one.key,
        value: openValue(keyring, one),
        sensitive: one.sensitive,
      }));
      return { set: { id, toolVersion, disabledVersions, ...found, parameters: opened } };
    }),
  );
}

const ownFiles = (policies: readonly JudgingPolicy[]) => ({
  policies,
  files: Object.fromEntries(policies.map(({ name, text }) => [`${name}.rego`, text ?? ''])),
});

/** The policies of a version and their files, or the reason why there are none. */
async function versionFiles(
  db: Database,
  keyring: Keyring,
  id: string,
): Promise<Pick<JudgingSet, 'policies' | 'files'> | string> {
  const version = await db.prisma.policySetVersion.findUnique({ where: { id }, select: { blobId: true, error: true } });
  const bytes = version?.blobId ? await readWholeBlob(db, keyring, version.blobId) : undefined;
  if (!bytes) return `No version of the set could be read${version?.error ? `: ${version.error}` : ' yet'}`;
  return JSON.parse(bytes.toString('utf8')) as Pick<JudgingSet, 'policies' | 'files'>;
}

/** The outcome of policies that were not run. */
export const unjudged = (policies: readonly JudgingPolicy[]): PolicyOutcome[] =>
  policies.map(({ name, query, enforcementLevel, description, digest }) => ({
    policy_name: name,
    query,
    enforcement_level: enforcementLevel,
    description,
    digest,
    status: 'errored',
    output: [],
  }));

const refuse = (parts: JudgingParts, due: TakenEvaluation, error: string): Promise<void> =>
  concludeEvaluation(parts, due, ({ id, policies }) => ({ id, error, outcomes: unjudged(policies) }));

/** Stores the outcome of each set. A set that cannot be used is always an error. */
export async function concludeEvaluation(
  parts: JudgingParts,
  due: TakenEvaluation,
  say: (set: JudgingSet) => SetVerdict,
): Promise<void> {
  const loaded = await setsOf(parts, due.id);
  await conclude(
    parts,
    due,
    loaded.map((one) => ('verdict' in one ? one.verdict : say(one.set))),
  );
}

/** Stores the verdicts, unless the evaluation ended in the meantime, or another worker has claimed it. */
async function conclude(
  { db, keyring }: JudgingParts,
  due: TakenEvaluation,
  verdicts: readonly SetVerdict[],
): Promise<void> {
  const { task_stage_id, policy_dry_run_id } = due;
  if (policy_dry_run_id !== null) {
    // The evaluation is queued again, behind waiting evaluations, with a new deadline for its next plan.
    const again = Prisma.sql`attempts = 0, ends_at = now() + interval '10 minutes'`;
    return db.transaction(async (tx) => {
      if (await byWorkers.end(tx, due, Prisma.sql`now()`, again))
        await takeDryVerdicts(tx, { ...due, policy_dry_run_id }, verdicts);
    });
  }
  if (task_stage_id === null) return;
  const [stage] = await db.prisma.$queryRaw<{ run_id: string }[]>`
    SELECT run_id FROM task_stage WHERE id = ${task_stage_id}`;
  if (!stage) return;
  await db.transaction(async (tx) => {
    const run = await lockRunIfThere(tx, keyring, stage.run_id);
    if (!run || !(await byWorkers.end(tx, due, Prisma.sql`NULL`))) return;
    await takeVerdicts(tx, run, { ...due, task_stage_id }, verdicts);
  });
}
