import { invalid, invalidAll } from '@keystead/jsonapi';
import type { Keyring } from '@keystead/keyring';
import type { Issue } from '@keystead/refusal';
import { currentCourse } from '@keystead/tracing';
import { type Actor, recordChange } from '../../../kernel/audit/audit';
import { type Database, still } from '../../../kernel/database/database';
import { newId } from '../../../kernel/database/ids';
import { lockRow } from '../../../kernel/database/lock-row';
import { isPoolOpen } from '../../workspaces/projects/allowed';
import { requireVersion, resolveVersion } from '../../workspaces/workspaces/infra-version';
import { effectiveMode, requireWorkspace, type Workspace } from '../../workspaces/workspaces/workspace';
import { type Configuration, configurationToDestroy, requireConfiguration } from './configuration';
import { advance, finish, yieldAssessment } from './queue';
import { find as findRun, type ModuleVersion, type Run, type RunVariable, variablesCell } from './run';
import { preparePolicies } from './stages/policies';
import { prepareStages } from './stages/stages';
import { movePhase, moveRun } from './transition';

/** The settings of a new run in a request; omitted settings have the workspace's values. */
export interface NewRun {
  readonly message?: string | null;
  readonly autoApply?: boolean | null;
  readonly allowConfigGeneration?: boolean | null;
  readonly allowEmptyApply?: boolean | null;
  readonly debuggingMode?: boolean | null;
  readonly isDestroy?: boolean | null;
  readonly planOnly?: boolean | null;
  readonly refresh?: boolean | null;
  readonly refreshOnly?: boolean | null;
  readonly replaceAddrs?: readonly string[] | null;
  readonly savePlan?: boolean | null;
  readonly targetAddrs?: readonly string[] | null;
  readonly infraVersion?: string | null;
  readonly moduleVersions?: readonly ModuleVersion[] | null;
  readonly variables?: readonly RunVariable[] | null;
  readonly configurationVersion?: string | null;
}

/** The starter and source of a run, and whether it may apply without confirmation. */
export interface Starter {
  readonly actor: Actor;
  readonly applies: boolean;
  readonly source: string;
}

const issue = (name: string, message: string): Issue => ({ path: [name], message });

/** Whether a variable occurs more than once. */
export function namesTwice(variables: readonly RunVariable[] | null | undefined): boolean {
  const keys = (variables ?? []).map(({ key }) => key);
  return new Set(keys).size < keys.length;
}

/** Throws `invalid` for requests that contradict themselves or the workspace's settings. */
export function requireSense(workspace: Workspace, input: NewRun): void {
  const { mode } = effectiveMode(workspace);
  const issues: Issue[] = [];
  if (mode === 'local') {
    issues.push(issue('workspace', 'has the execution mode local: runs happen where the tool is executed'));
  }
  if (input.isDestroy && !workspace.allowDestroyPlan && !input.planOnly) {
    issues.push(issue('isDestroy', 'is not allowed: the workspace does not allow destroy plans'));
  }
  if (input.refreshOnly) {
    if (input.isDestroy) issues.push(issue('refreshOnly', 'cannot be combined with is-destroy'));
    if (input.refresh === false) issues.push(issue('refreshOnly', 'cannot be combined with refresh false'));
    if (input.replaceAddrs?.length) issues.push(issue('refreshOnly', 'cannot be combined with replace-addrs'));
    if (input.targetAddrs?.length) issues.push(issue('refreshOnly', 'cannot be combined with target-addrs'));
  }
  if (input.isDestroy && input.replaceAddrs?.length) {
    issues.push(issue('replaceAddrs', 'cannot be combined with is-destroy'));
  }
  if (input.planOnly && input.savePlan) issues.push(issue('savePlan', 'cannot be combined with plan-only'));
  if (input.infraVersion && !input.planOnly) {
    issues.push(issue('infraVersion', 'can only be set for plan-only runs'));
  }
  if (input.moduleVersions?.length && !input.planOnly) {
    issues.push(issue('moduleVersions', 'can only be set for plan-only runs'));
  }
  if (namesTwice(input.variables)) issues.push(issue('variables', 'must not contain the same variable twice'));
  if (issues.length > 0) throw invalidAll(issues);
}

function sealed(keyring: Keyring, id: string, variables: readonly RunVariable[]) {
  if (variables.length === 0) return null;
  return new Uint8Array(keyring.seal(Buffer.from(JSON.stringify(variables)), variablesCell(id)));
}

/**
 * Creates a run. It starts when its turn comes and a worker is available. `commit` is a configuration that must still
 * be fetched; the run waits for it. A destroy run of an empty workspace ends immediately. Throws `invalid` for a
 * contradictory request, for a workspace without remote runs, and for a missing configuration.
 */
export async function create(
  db: Database,
  keyring: Keyring,
  { actor, applies, source }: Starter,
  workspace: Workspace,
  input: NewRun,
  commit?: Configuration,
): Promise<Run> {
  requireSense(workspace, input);
  const { mode, poolId } = effectiveMode(workspace);
  if (mode === 'agent' && poolId !== null && (await isPoolOpen(db, workspace, poolId)) !== true) {
    throw invalid('workspace', 'has the execution mode agent, but may not use its agent pool');
  }
  const find = input.isDestroy ? configurationToDestroy : requireConfiguration;
  const found = commit ?? (await find(db, workspace, input.configurationVersion));
  const version = input.infraVersion ? await requireVersion(db, input.infraVersion, workspace) : workspace.infraVersion;
  const infraVersion = await resolveVersion(db, version);
  const id = newId('run');
  await db.transaction(async (tx) => {
    await lockRow(tx, 'workspace', workspace.id);
    const configuration = found ?? (await configurationToDestroy(tx, await requireWorkspace(tx, workspace.id), null));
    const planOnly = input.planOnly === true || configuration?.speculative === true;
    const savePlan = input.savePlan === true && !planOnly;
    if (!planOnly) await yieldAssessment(tx, workspace.id);
    await tx.prisma.run.createMany({
      data: {
        id,
        workspaceId: workspace.id,
        configurationVersionId: configuration?.id,
        status: 'pending',
        message: input.message ?? 'Queued manually via the API',
        source,
        isDestroy: input.isDestroy === true,
        planOnly,
        savePlan,
        autoApply: (input.autoApply ?? workspace.autoApply) && applies && !planOnly && !savePlan,
        allowEmptyApply: input.allowEmptyApply === true,
        allowConfigGeneration: input.allowConfigGeneration === true,
        refresh: input.refresh !== false,
        refreshOnly: input.refreshOnly === true,
        debuggingMode: input.debuggingMode === true,
        targetAddrs: [...(input.targetAddrs ?? [])],
        replaceAddrs: [...(input.replaceAddrs ?? [])],
        variables: sealed(keyring, id, input.variables ?? []),
        moduleVersions: (input.moduleVersions ?? []).map(({ source, version }) => ({ source, version })),
        infraVersion,
        traceparent: currentCourse()?.span?.traceparent,
        createdByType: actor.type,
        createdById: actor.id,
      },
    });
    const [planId, applyId] = [newId('plan'), newId('apply')];
    const phases = [
      { id: planId, runId: id, kind: 'plan' },
      { id: applyId, runId: id, kind: 'apply' },
    ];
    await tx.prisma.runPhase.createMany({ data: phases });
    if (configuration) {
      await prepareStages(tx, id, planOnly);
      await preparePolicies(tx, { id, organizationId: workspace.organizationId });
    }
    await moveRun(tx, id, 'pending', { actor, event: 'created' });
    await tx.prisma.workspace.updateMany({ where: { id: workspace.id }, data: { latestRunId: id } });
    await recordChange(tx, actor, {
      organizationId: workspace.organizationId,
      action: 'run.create',
      target: { type: 'runs', id, name: workspace.name },
      after: { isDestroy: input.isDestroy === true, planOnly, savePlan, configurationVersionId: configuration?.id },
    });
    if (configuration) await advance(tx, workspace.id);
    else await endEmpty(tx, { id, workspaceId: workspace.id, planId, applyId });
  });
  // After the commit, runs that are created at the same time are read by one statement.
  return still(await findRun(db, keyring, id));
}

/** Ends a destroy run without a plan, because the workspace is empty. */
async function endEmpty(tx: Database, run: Parameters<typeof finish>[1]): Promise<void> {
  const noChanges = { additions: 0, changes: 0, destructions: 0, imports: 0, hasChanges: false };
  await movePhase(tx, run.planId, 'finished', noChanges);
  await finish(tx, run, 'planned_and_finished', { reason: 'The workspace is empty: there is nothing to destroy' });
}
