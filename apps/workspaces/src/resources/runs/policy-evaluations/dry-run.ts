import { accessNow } from '../../../kernel/access/current-access';
import { type Actor, recordChange, system } from '../../../kernel/audit/audit';
import type { Database } from '../../../kernel/database/database';
import { type PolicyOutcome, type SetVerdict, verdictOf } from '../runs/stages/policies';

/** The limits on the stored outcomes of one run: the first policies, their first messages, and the length of each. */
const limits = { policies: 10, messages: 3, characters: 500 };

/** A policy that did not pass, with its messages. */
export interface DryRunOutcome {
  readonly policySet: string;
  readonly policy: string;
  readonly enforcementLevel: string;
  readonly status: 'failed' | 'errored';
  readonly output: readonly string[];
}

/** The plan of an earlier run. */
interface EarlierPlan {
  readonly run_id: string;
  readonly blob_id: string | null;
}

interface Next extends EarlierPlan {
  readonly position: number;
}

/** The evaluation of a dry run, under a claim. */
interface DryEvaluation {
  readonly id: string;
  readonly claim: number;
  readonly policy_dry_run_id: string;
}

/** The next run to evaluate; with `at`, the run at that position. */
function waiting({ prisma }: Database, id: string, at: number | null = null): Promise<Next[]> {
  return prisma.$queryRaw<Next[]>`
    SELECT x.position, x.run_id, p.json_blob_id AS blob_id
      FROM policy_dry_run_result x JOIN run_phase p ON p.run_id = x.run_id AND p.kind = 'plan'
     WHERE x.policy_dry_run_id = ${id} AND x.status IS NULL AND (${at}::int IS NULL OR x.position = ${at})
     ORDER BY x.position LIMIT 1`;
}

/** The position of the run that is assigned to a claim; undefined if no run is assigned. */
async function givenOut({ prisma }: Database, { id, claim }: DryEvaluation): Promise<number | undefined> {
  const [found] = await prisma.$queryRaw<{ judged_position: number }[]>`
    SELECT judged_position FROM policy_evaluation WHERE id = ${id} AND judged_claim = ${claim}`;
  return found?.judged_position;
}

/** Assigns a run under a claim. Returns the number of attempts; undefined if the claim is lost. */
async function giveOut({ prisma }: Database, { id, claim }: DryEvaluation, at: number): Promise<number | undefined> {
  const [updated] = await prisma.$queryRaw<{ attempts: number }[]>`
    UPDATE policy_evaluation SET attempts = CASE WHEN judged_position = ${at} THEN attempts ELSE 1 END,
           judged_position = ${at}, judged_claim = ${claim}
     WHERE id = ${id} AND claim = ${claim} RETURNING attempts`;
  return updated?.attempts;
}

/**
 * The plan to evaluate for a claim. Each call returns the same plan. Runs whose plans no longer exist are skipped.
 * Undefined if the run was deleted in the meantime, or if the dry run has ended. It ends when no runs are left, or when
 * its creator may no longer manage policies and so may not see all runs.
 */
export async function nextPlan(
  db: Database,
  due: DryEvaluation,
): Promise<(EarlierPlan & { readonly attempts?: number }) | undefined> {
  const { policy_dry_run_id: id } = due;
  const dryRun = await db.prisma.policyDryRun.findUnique({ where: { id } });
  if (dryRun?.status !== 'running') return undefined;
  const { organizationId, createdByType: type, createdById } = dryRun;
  const access = await accessNow(db, { type, id: createdById }, organizationId);
  if (!access?.can(organizationId, 'manage-policies')) {
    const reason = 'The user who started it may no longer manage policies';
    await db.transaction((tx) => endDryRun(tx, id, 'canceled', { reason }));
    return undefined;
  }
  const assigned = await givenOut(db, due);
  if (assigned !== undefined) return (await waiting(db, id, assigned))[0];
  for (;;) {
    const [found] = await waiting(db, id);
    if (!found) {
      await db.transaction((tx) => endDryRun(tx, id, 'finished'));
      return undefined;
    }
    if (found.blob_id !== null) {
      const attempts = await giveOut(db, due, found.position);
      return attempts === undefined ? undefined : { ...found, attempts };
    }
    const where = { policyDryRunId: id, position: found.position, status: null };
    await db.prisma.policyDryRunResult.updateMany({ where, data: { status: 'skipped' } });
  }
}

/** Ends a dry run and deletes its evaluation. Returns false if it had already ended. */
export async function endDryRun(
  tx: Database,
  id: string,
  status: 'finished' | 'canceled' | 'errored',
  { actor = system, reason = null }: { readonly actor?: Actor; readonly reason?: string | null } = {},
): Promise<boolean> {
  const where = { id, status: 'running' };
  const { count } = await tx.prisma.policyDryRun.updateMany({
    where,
    data: { status, reason, finishedAt: new Date() },
  });
  if (count === 0) return false;
  await tx.prisma.policyEvaluation.deleteMany({ where: { policyDryRunId: id } });
  const { organizationId } = await tx.prisma.policyDryRun.findUniqueOrThrow({ where: { id } });
  const target = { type: 'policy-dry-runs', id, name: id };
  await recordChange(tx, actor, { organizationId, action: 'policy-dry-run.end', target, after: { status, reason } });
  return true;
}

/** A policy set of a dry run with its verdicts. */
interface SaidBySet {
  readonly policySetName: string;
  readonly overridable: boolean;
  readonly outcomes: readonly PolicyOutcome[];
  readonly error: string;
}

function outcomesOf(sets: readonly SaidBySet[]): DryRunOutcome[] {
  const clipped = (messages: readonly string[]) =>
    messages.slice(0, limits.messages).map((text) => text.slice(0, limits.characters));
  const of = ({ policySetName: policySet, outcomes, error }: SaidBySet): DryRunOutcome[] => {
    const against = outcomes.flatMap((one): DryRunOutcome[] => {
      const { policy_name: policy, enforcement_level: enforcementLevel, status, output } = one;
      if (status === 'passed') return [];
      const messages = error === '' ? output.map(({ print }) => print) : [error];
      return [{ policySet, policy, enforcementLevel, status, output: clipped(messages) }];
    });
    if (against.length > 0 || error === '') return against;
    return [{ policySet, policy: '', enforcementLevel: 'mandatory', status: 'errored', output: clipped([error]) }];
  };
  return sets.flatMap(of).slice(0, limits.policies);
}

/**
 * Stores the verdicts on the assigned run, unless the run was deleted in the meantime. After the last run, the dry run
 * ends. Call it after the claim has ended.
 */
export async function takeDryVerdicts(
  tx: Database,
  due: DryEvaluation,
  verdicts: readonly SetVerdict[],
): Promise<void> {
  const { id: policyEvaluationId, policy_dry_run_id: id } = due;
  const position = await givenOut(tx, due);
  if (position === undefined) return;
  const rows = await tx.prisma.policySetOutcome.findMany({ where: { policyEvaluationId } });
  const sets = rows.map(({ id: setId, policySetName, overridable }): SaidBySet => {
    const { outcomes = [], error = '' } = verdicts.find((one) => one.id === setId) ?? {};
    return { policySetName, overridable, outcomes, error };
  });
  const outcomes = outcomesOf(sets);
  const has = (status: string) => outcomes.some((one) => one.status === status);
  const status = has('failed') ? 'failed' : has('errored') ? 'errored' : 'passed';
  const wouldStop = verdictOf(sets) !== 'passed';
  await tx.prisma.policyDryRunResult.updateMany({
    where: { policyDryRunId: id, position, status: null },
    data: { status, wouldStop, outcomes: outcomes.map((one) => ({ ...one, output: [...one.output] })) },
  });
  if ((await waiting(tx, id)).length === 0) await endDryRun(tx, id, 'finished');
}
