import { createHash } from 'node:crypto';
import { Prisma } from '../../../../generated/prisma/client';
import type { Database } from '../../../../kernel/database/database';
import { newId } from '../../../../kernel/database/ids';
import { workspaceHasBinding } from '../../../workspaces/projects/tag-filters';
import { stampNow } from '../transition';

/** The languages of policies. Sentinel policies are stored but not run. */
export const policyKinds = ['opa', 'sentinel'] as const;
export type PolicyKind = (typeof policyKinds)[number];

/**
 * A tag that selects the workspaces of a set or excludes workspaces; without a value, only tags without a value match.
 */
export interface TagSelector {
  readonly key: string;
  readonly value: string | null;
  readonly isExclude: boolean;
}

/** A policy in the form in which it is evaluated. */
export interface JudgingPolicy {
  readonly name: string;
  readonly query: string;
  readonly enforcementLevel: string;
  readonly description: string;
  readonly digest: string;
  /** The text of a policy that is managed individually. */
  readonly text?: string | null;
}

/** A policy's verdict on a plan, under the names of the API. */
export interface PolicyOutcome {
  readonly policy_name: string;
  readonly query: string;
  readonly enforcement_level: string;
  readonly description: string;
  readonly digest: string;
  readonly status: 'passed' | 'failed' | 'errored';
  readonly output: readonly { readonly print: string }[];
}

/** The verdicts of a set's policies; `error` is the reason why the whole set could not be evaluated. */
export interface SetVerdict {
  readonly id: string;
  readonly error: string;
  readonly outcomes: readonly PolicyOutcome[];
}

/** The status of an evaluation. */
type EvaluationStatus =
  | 'pending'
  | 'running'
  | 'passed'
  | 'failed'
  | 'errored'
  | 'overridden'
  | 'canceled'
  | 'unreachable';

/** The recorded hash of a policy's text: SHA-256. */
export const digestOf = (text: string): string => createHash('sha256').update(text).digest('hex');

/** How long an evaluation may wait for a worker, and how long it may take. */
const longest = Prisma.raw("interval '10 minutes'");

const selected = (isExclude: boolean): Prisma.Sql => Prisma.sql`EXISTS (
  SELECT 1 FROM jsonb_to_recordset(s.tag_selectors) AS t(key text, value text, "isExclude" boolean)
   WHERE t."isExclude" = ${isExclude} AND ${workspaceHasBinding(Prisma.sql`t.key`, Prisma.sql`coalesce(t.value, '')`)})`;

const named = (of: 'workspace' | 'project', id: string, excluded: boolean): Prisma.Sql => Prisma.sql`EXISTS (
  SELECT 1 FROM ${Prisma.raw(`policy_set_${of}`)} x
   WHERE x.policy_set_id = s.id AND x.${Prisma.raw(`${of}_id`)} = ${Prisma.raw(id)} AND x.excluded = ${excluded})`;

/** SQL: whether the set s applies to the workspace w. An exclusion by a list or tag overrides everything else. */
const reaches = Prisma.sql`s.organization_id = w.organization_id
  AND NOT ${named('workspace', 'w.id', true)} AND NOT ${named('project', 'w.project_id', true)} AND NOT ${selected(true)}
  AND (s.global OR ${named('workspace', 'w.id', false)} OR ${named('project', 'w.project_id', false)} OR ${selected(false)})`;

const current = Prisma.sql`(SELECT v.id FROM policy_set_version v WHERE v.policy_set_id = s.id AND v.status = 'ready'
  ORDER BY v.created_at DESC, v.id DESC LIMIT 1)`;

/**
 * SQL: the version of the set s that is evaluated. If a set follows a repository and has no readable version, this is a
 * version without files, and every plan fails.
 */
const judgingVersion = Prisma.sql`coalesce(${current}, CASE WHEN s.vcs_identifier IS NOT NULL THEN coalesce((
  SELECT v.id FROM policy_set_version v WHERE v.policy_set_id = s.id ORDER BY v.created_at DESC, v.id DESC LIMIT 1), '') END)`;

/** SQL: whether the set s has a version or policies. */
const judges = Prisma.sql`(${judgingVersion} IS NOT NULL OR EXISTS (SELECT 1 FROM policy_set_policy m WHERE m.policy_set_id = s.id))`;

/** Adds an evaluation after the plan of a run for each kind of policies that currently apply to its workspace. */
export async function preparePolicies(
  tx: Database,
  { id: runId, organizationId }: { readonly id: string; readonly organizationId: string },
): Promise<void> {
  // Most organizations have no sets, and planning the statement below takes milliseconds.
  const sets = await tx.prisma.$queryRaw<unknown[]>`
    SELECT 1 FROM policy_set WHERE organization_id = ${organizationId} LIMIT 1`;
  if (sets.length === 0) return;
  const found = await tx.prisma.$queryRaw<{ kind: PolicyKind }[]>`
    SELECT DISTINCT s.kind FROM run r JOIN workspace w ON w.id = r.workspace_id JOIN policy_set s ON ${reaches}
     WHERE r.id = ${runId} AND NOT r.is_assessment AND ${judges}`;
  if (found.length === 0) return;
  const at = { runId, stage: 'post_plan' };
  await tx.prisma.taskStage.createMany({ data: { id: newId('ts'), ...at }, skipDuplicates: true });
  const { id: taskStageId } = await tx.prisma.taskStage.findFirstOrThrow({ where: at, select: { id: true } });
  const data = found.map(({ kind }) => ({ id: newId('poleval'), organizationId, taskStageId, kind }));
  await tx.prisma.policyEvaluation.createMany({ data, skipDuplicates: true });
}

interface ReachingSet {
  readonly id: string;
  readonly name: string;
  readonly description: string;
  readonly kind: string;
  readonly overridable: boolean;
  readonly tool_version: string | null;
  readonly version_id: string | null;
  readonly policies: readonly Omit<JudgingPolicy, 'digest'>[];
}

/** SQL: the columns of the set s, with the code of its policies. */
const ofSet = Prisma.sql`s.id, s.name, s.description, s.kind, s.overridable OR (s.kind = 'sentinel' AND NOT s.agent_enabled) AS overridable,
           s.policy_tool_version AS tool_version, ${judgingVersion} AS version_id,
           (SELECT coalesce(json_agg(json_build_object('name', p.name, 'query', coalesce(p.query, ''), 'enforcementLevel',
                     p.enforcement_level, 'description', p.description, 'text', p.content) ORDER BY p.name), '[]')
              FROM policy_set_policy m JOIN policy p ON p.id = m.policy_id WHERE m.policy_set_id = s.id) AS policies`;

/** The sets that apply to a workspace now, with the code of their policies. */
const reachingSets = (db: Database, workspaceId: string): Promise<ReachingSet[]> =>
  db.prisma.$queryRaw<ReachingSet[]>`
    SELECT ${ofSet} FROM workspace w JOIN policy_set s ON ${reaches}
     WHERE w.id = ${workspaceId} AND ${judges} ORDER BY s.name`;

/** The sets with these ids that have a version or policies, regardless of the workspaces they apply to. */
const namedSets = (db: Database, ids: readonly string[]): Promise<ReachingSet[]> =>
  db.prisma.$queryRaw<ReachingSet[]>`
    SELECT ${ofSet} FROM policy_set s WHERE s.id = ANY(${[...ids]}) AND ${judges} ORDER BY s.name`;

/** Begins the evaluations of a stage with the current policies. Later changes of the policies have no effect. */
export async function beginPolicies(tx: Database, taskStageId: string, runId: string): Promise<void> {
  const evaluations = await tx.prisma.policyEvaluation.findMany({ where: { taskStageId, status: 'pending' } });
  if (evaluations.length === 0) return;
  const { workspaceId } = await tx.prisma.run.findUniqueOrThrow({
    where: { id: runId },
    select: { workspaceId: true },
  });
  const sets = await reachingSets(tx, workspaceId);
  for (const { id, kind } of evaluations) {
    await copySets(
      tx,
      id,
      sets.filter((set) => set.kind === kind),
    );
    await moveEvaluation(tx, id, 'running', Prisma.sql`next_at = now(), ends_at = now() + ${longest}`);
  }
}

/** Copies the current policies of sets for an evaluation. */
async function copySets(tx: Database, policyEvaluationId: string, sets: readonly ReachingSet[]): Promise<void> {
  await tx.prisma.policySetOutcome.createMany({
    data: sets.map((set) => ({
      id: newId('psout'),
      policyEvaluationId,
      policySetId: set.id,
      policySetName: set.name,
      policySetDescription: set.description,
      policySetVersionId: set.version_id,
      toolVersion: set.tool_version,
      overridable: set.overridable,
      policies: set.policies.map((one) => ({ ...one, digest: digestOf(one.text ?? '') })),
    })),
  });
}

/**
 * Starts the evaluation of a dry run, with the current OPA sets and single policies. Returns how many sets have a
 * version or policies.
 */
export async function beginDryRun(
  tx: Database,
  dryRun: { readonly id: string; readonly organizationId: string },
  setIds: readonly string[],
  policies: readonly Omit<JudgingPolicy, 'digest'>[],
): Promise<number> {
  const sets = await namedSets(tx, setIds);
  const id = newId('poleval');
  await tx.prisma.policyEvaluation.create({
    data: { id, organizationId: dryRun.organizationId, policyDryRunId: dryRun.id, kind: 'opa' },
  });
  const single = {
    id: '',
    name: '',
    description: '',
    kind: 'opa',
    overridable: false,
    tool_version: null,
    version_id: null,
  };
  await copySets(tx, id, policies.length === 0 ? sets : [...sets, { ...single, policies }]);
  await moveEvaluation(tx, id, 'running', Prisma.sql`next_at = now(), ends_at = now() + ${longest}`);
  return sets.length;
}

/** Moves an evaluation to a status, with its timestamp. */
export async function moveEvaluation(
  tx: Database,
  id: string,
  status: EvaluationStatus,
  also = Prisma.sql`next_at = NULL, claim = claim + 1`,
): Promise<void> {
  await tx.prisma.$executeRaw`
    UPDATE policy_evaluation SET status = ${status}, updated_at = now(), ${also},
           timestamps = timestamps || jsonb_build_object(${`${status}-at`}::text, ${stampNow}) WHERE id = ${id}`;
}

/** Whether the outcome of a policy stops a run. */
const isAgainst = ({ enforcement_level: level, status }: PolicyOutcome): boolean =>
  level !== 'advisory' && status !== 'passed';

/** One set of an evaluation, with the data that its outcome depends on. */
interface JudgedSet {
  readonly overridable: boolean;
  readonly outcomes: unknown;
  readonly error: string;
}

const outcomesOf = ({ outcomes }: Pick<JudgedSet, 'outcomes'>) => outcomes as readonly PolicyOutcome[];
const blocks = (set: JudgedSet): boolean =>
  outcomesOf(set).some(isAgainst) || (set.error !== '' && outcomesOf(set).length === 0);

/** The outcome of an evaluation, from the outcomes of its sets. */
export function verdictOf(sets: readonly JudgedSet[]): 'passed' | 'failed' | 'errored' {
  const against = sets.filter(blocks);
  if (against.length === 0) return 'passed';
  const failed = against.some((set) => outcomesOf(set).some((one) => isAgainst(one) && one.status === 'failed'));
  return failed ? 'failed' : 'errored';
}

/** Whether users may let a run continue: every failed set can be overridden. */
export const isOverridable = (sets: readonly JudgedSet[]): boolean =>
  sets
    .filter(blocks)
    .every(
      (set) =>
        set.overridable && !outcomesOf(set).some((one) => isAgainst(one) && one.enforcement_level === 'hard-mandatory'),
    );

/** The names of the policies that stopped a run, each with the name of its set. */
export const namesAgainst = (sets: readonly (JudgedSet & { readonly policySetName: string })[]): string[] =>
  sets.filter(blocks).flatMap((set) => {
    const names = outcomesOf(set).filter(isAgainst);
    return names.length === 0 ? set.policySetName : names.map((one) => `${set.policySetName}/${one.policy_name}`);
  });

/** The number of policies by outcome. */
export function countsOf(sets: readonly Pick<JudgedSet, 'outcomes'>[]) {
  const all = sets.flatMap(outcomesOf);
  const failed = (isAdvisory: boolean) =>
    all.filter((one) => one.status === 'failed' && (one.enforcement_level === 'advisory') === isAdvisory).length;
  return {
    'advisory-failed': failed(true),
    'mandatory-failed': failed(false),
    passed: all.filter(({ status }) => status === 'passed').length,
    errored: all.filter(({ status }) => status === 'errored').length,
  };
}
