import { mayStill } from '../../../kernel/access/current-access';
import { recordChange, system } from '../../../kernel/audit/audit';
import type { Database } from '../../../kernel/database/database';
import { canBeAssessed, find as findWorkspace, isAssessed } from '../../workspaces/workspaces/workspace';
import type { LockedRun } from './run';
import { runTriggerSource } from './statuses';

/**
 * Lets a run apply without confirmation, or requires a confirmation and records why. This is decided after the plan,
 * with the permissions at that time. The user who started the run must still be allowed to apply. The configuration
 * must come from a user who may apply, or from the branch or tags that the workspace follows, or a user must have
 * confirmed an earlier run that applied it. Call it while the workspace is locked.
 */
export async function decideUnattended(
  tx: Database,
  run: LockedRun,
): Promise<{ applies: boolean; reason: string | null }> {
  if (!run.autoApply) return { applies: false, reason: null };
  const why = await unattendedProblem(tx, run);
  if (why === undefined) return { applies: true, reason: null };
  await tx.prisma.run.update({ where: { id: run.id }, data: { autoApply: false } });
  const { id, workspaceName: name, organizationId } = run;
  const change = { organizationId, action: 'run.auto-apply-refuse', target: { type: 'runs', id, name } };
  await recordChange(tx, system, { ...change, after: { reason: why } });
  return { applies: false, reason: `Waits for confirmation: ${why}` };
}

/**
 * The reason why a requested plan or apply must not start: its requester no longer has permission. Call it when a
 * worker starts it, while the workspace is locked.
 */
export async function phaseProblem(tx: Database, run: LockedRun, kind: 'plan' | 'apply'): Promise<string | undefined> {
  const { createdByType: type, createdById: id, confirmedByType, confirmedById } = run;
  if (run.isAssessment) {
    const workspace = await findWorkspace(tx, run.workspaceId);
    const allows = type === system.type ? isAssessed : canBeAssessed;
    return workspace && allows(workspace) ? undefined : 'the workspace is no longer assessed';
  }
  if (kind === 'plan') {
    // Runs of run triggers, repositories and the clock depend on the workspace's settings.
    if (type === system.type || run.source === runTriggerSource) return undefined;
    if (await mayStill(tx, { type, id }, 'runs:plan', run.workspace)) return undefined;
    return 'the user who started it may no longer plan in this workspace';
  }
  if (confirmedById === null) return unattendedProblem(tx, run);
  if (await mayStill(tx, { type: confirmedByType, id: confirmedById }, 'runs:apply', run.workspace)) return undefined;
  return 'the user who confirmed it may no longer apply in this workspace';
}

const unattendedProblem = async (tx: Database, run: LockedRun): Promise<string | undefined> =>
  (await starterProblem(tx, run)) ?? (await retiredProblem(tx, run)) ?? (await configurationProblem(tx, run));

/** The reason why a run that no user started must not apply, because the setting that started it is off. */
async function starterProblem(tx: Database, run: LockedRun): Promise<string | undefined> {
  const { createdByType: type, createdById: id, source } = run;
  if (source === runTriggerSource) {
    const on = { id: run.workspaceId, autoApplyRunTrigger: true };
    if ((await tx.prisma.workspace.count({ where: on })) > 0) return undefined;
    return 'the workspace no longer applies runs of run triggers automatically';
  }
  if (type === system.type || (await mayStill(tx, { type, id }, 'runs:apply', run.workspace))) return undefined;
  return 'the user who started it may no longer apply in this workspace';
}

/**
 * The reason why a run that no user started must not apply a commit: the workspace now follows another branch or
 * repository, the host no longer has the branch or tag, or the tag names another commit. Scheduled destroy runs often
 * outlive their branch.
 */
async function retiredProblem(tx: Database, run: LockedRun): Promise<string | undefined> {
  if ((run.createdByType !== system.type && run.source !== runTriggerSource) || run.isDestroy) return undefined;
  const { configurationVersionId, workspaceId } = run;
  const from = await tx.prisma.ingressAttributes.findFirst({
    where: { configurationVersionId: configurationVersionId ?? '' },
  });
  const workspace = await findWorkspace(tx, workspaceId);
  if (!from || !workspace) return undefined;
  const { oauthTokenId, vcsIdentifier: identifier, vcsTagsRegex, vcsBranch } = workspace;
  if (identifier === null) return 'the workspace is no longer connected to a repository';
  const row = await tx.prisma.vcsRepository.findFirst({ where: { oauthTokenId: oauthTokenId ?? '', identifier } });
  const names: readonly unknown[] = [row?.displayIdentifier, identifier];
  if (row?.id !== from.repositoryId && !names.includes(from.identifier)) {
    return 'the workspace is connected to another repository now';
  }
  const { branch, tag } = from;
  const followed = vcsBranch ?? row?.defaultBranch ?? branch;
  if (tag === null ? vcsTagsRegex !== null || branch !== followed : vcsTagsRegex === null) {
    return `the workspace no longer follows ${tag === null ? `the branch ${branch}` : 'tags'}`;
  }
  const ref = tag === null ? `branch:${branch}` : `tag:${tag}`;
  const head = await tx.prisma.vcsHead.findUnique({ where: { workspaceId_ref: { workspaceId, ref } } });
  if (head?.goneSince)
    return `the ${tag === null ? `branch ${branch}` : `tag ${tag}`} no longer exists in the repository`;
  if (tag === null || head === null || head.commit === from.commitSha) return undefined;
  return `the tag ${tag} now points to another commit`;
}

/** A run whose plan showed everything in its configuration, so that the user who confirmed it has seen everything. */
const whole = {
  refreshOnly: false,
  isDestroy: false,
  planOnly: false,
  targetAddrs: { isEmpty: true },
  replaceAddrs: { isEmpty: true },
  variables: null,
};

async function configurationProblem(tx: Database, run: LockedRun): Promise<string | undefined> {
  const found = await tx.prisma.configurationVersion.findUnique({
    where: { id: run.configurationVersionId ?? '' },
    select: { createdByType: true, createdById: true, ingress: { select: { isPullRequest: true } } },
  });
  if (found?.ingress?.isPullRequest === false) return undefined;
  const by = { type: found?.createdByType ?? null, id: found?.createdById ?? null };
  if (await mayStill(tx, by, 'runs:apply', run.workspace)) return undefined;
  const { configurationVersionId } = run;
  const confirmed = { configurationVersionId, status: 'applied', confirmedById: { not: null } };
  if ((await tx.prisma.run.count({ where: { ...confirmed, ...whole } })) > 0) return undefined;
  return 'its configuration was uploaded by a user who may not apply in this workspace, and no confirmed run has applied all of it';
}
