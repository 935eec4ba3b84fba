import { choice, flag, hasMany, hasOne, instant, text, timestamps, toMany, toOne, whole } from '@keystead/jsonapi';
import { z } from 'zod';
import { abilities, permissions } from '../../../kernel/access/policy';
import { accountIdOf } from '../../../kernel/audit/audit';
import { serializerOf } from '../../../kernel/endpoints/endpoint';
import { runPolicy } from './policy';
import type { Run } from './run';
import { actionsOf, runStatuses, waitingStatuses } from './statuses';

/** The account for a kind of caller and its id, in the form that clients expect for authors. */
export function accountOf(type: string | null, id: string | null) {
  return toOne('users', id === null || type === 'users' ? id : accountIdOf({ id }));
}

/** Why a commit waits, and what to do if the wait does not end automatically. */
function fetchingReason({ failures, pool, forwards }: NonNullable<Run['fetching']>): string {
  if (pool !== null && !forwards) {
    return `Waiting for its commit: no agent of the connection’s agent pool ${pool} that forwards requests is connected. Start one with AGENT_REQUEST_FORWARDING`;
  }
  const by = pool === null ? 'a worker of the service' : `an agent of the pool ${pool}`;
  const times = failures === 1 ? 'once' : `${failures} times`;
  const failed = failures === 0 ? '' : `; fetching it from the Git host failed ${times} and is retried`;
  return `Waiting for ${by} to fetch its commit${failed}`;
}

/** The reason for a run's status: the recorded reason for its end, or the event that it waits for. */
function statusReason(run: Run): string | null {
  if (run.statusReason !== null || !waitingStatuses.includes(run.status)) return run.statusReason;
  if (run.executionMode === 'local') {
    return `The execution mode of the workspace is ${run.executionMode}: workers of this service do not carry out its runs`;
  }
  if (run.fetching) return fetchingReason(run.fetching);
  const { currentRunId } = run;
  const bypasses = run.planOnly || (run.savePlan && run.status === 'pending');
  if (run.lockedByType !== null && !bypasses && !(run.lockedByType === 'runs' && run.lockedById === run.id)) {
    return run.lockedByType === 'runs'
      ? `Waiting for ${run.lockedById} to end: a workspace has one run at a time`
      : 'Waiting for the lock of the workspace to be released';
  }
  if (run.status === 'pending' && !bypasses && currentRunId !== null && currentRunId !== run.id) {
    return `Waiting for ${currentRunId} to end: a workspace has one run at a time`;
  }
  const isOfAgents = run.executionMode === 'agent';
  if (!run.workersAlive) {
    return isOfAgents
      ? 'No agent of the workspace’s pool is connected: plans and applies start as soon as one is'
      : 'No worker is running: plans and applies start as soon as one does';
  }
  const one = isOfAgents ? 'an agent' : 'a worker';
  if (run.infraVersion !== null && !run.workerVersions.includes(run.infraVersion)) {
    const has =
      run.workerVersions.length === 0
        ? ''
        : ` ${isOfAgents ? 'Agents of the pool' : 'Workers'} have ${run.workerVersions.join(', ')}.`;
    return `Waiting for ${one} with version ${run.infraVersion} of the tool.${has}`;
  }
  return `Waiting for ${one} to become free`;
}

/** A run. */
export const runSerializer = serializerOf<Run>()({
  type: 'runs',
  shape: {
    actions: z.object({
      'is-cancelable': flag,
      'is-confirmable': flag,
      'is-discardable': flag,
      'is-force-cancelable': flag,
    }),
    permissions: permissions(runPolicy),
    status: choice(runStatuses),
    'status-reason': text.nullable(),
    'status-timestamps': timestamps,
    'auto-apply': flag,
    'allow-config-generation': flag,
    'allow-empty-apply': flag,
    'created-at': instant,
    'canceled-at': instant.nullable(),
    'force-cancel-available-at': instant.optional(),
    'debugging-mode': flag,
    'has-changes': flag,
    'infra-version': text.nullable(),
    'is-destroy': flag,
    message: text.nullable(),
    'module-versions': z.array(z.object({ source: text, version: text })),
    'plan-only': flag,
    'position-in-queue': whole,
    refresh: flag,
    'refresh-only': flag,
    'replace-addrs': z.array(text).nullable(),
    'save-plan': flag,
    'secrets-logins': z.array(z.object({ phase: choice(['plan', 'apply']), accessor: text, namespace: text })),
    source: text,
    'target-addrs': z.array(text).nullable(),
    'trigger-reason': text,
    variables: z.array(z.object({ key: text, value: text })),
  },
  relations: {
    workspace: hasOne('workspaces'),
    plan: hasOne('plans'),
    apply: hasOne('applies'),
    'configuration-version': hasOne('configuration-versions'),
    'created-by': hasOne('users'),
    'confirmed-by': hasOne('users'),
    'canceled-by': hasOne('users'),
    'cost-estimate': hasOne('cost-estimates'),
    'input-state-version': hasOne('state-versions'),
    'policy-checks': hasMany('policy-checks'),
    'task-stages': hasMany('task-stages'),
    'workspace-run-alerts': hasMany('workspace-run-alerts'),
    'run-events': hasMany('run-events'),
    comments: hasMany('comments'),
  },
  id: ({ id }) => id,
  self: ({ id }) => `/api/v2/runs/${id}`,
  aliases: { 'infra-version': 'terraform-version' },
  attributes: (run, { access }) => ({
    actions: actionsOf(run, run.readAt),
    permissions: abilities(runPolicy, access, run),
    status: run.status,
    'status-reason': statusReason(run),
    'status-timestamps': run.timestamps,
    'auto-apply': run.autoApply,
    'allow-config-generation': run.allowConfigGeneration,
    'allow-empty-apply': run.allowEmptyApply,
    'created-at': run.createdAt,
    'canceled-at': run.canceledAt,
    ...(run.forceCancelAt === null ? {} : { 'force-cancel-available-at': run.forceCancelAt }),
    'debugging-mode': run.debuggingMode,
    'has-changes': run.hasChanges === true,
    'infra-version': run.infraVersion,
    'is-destroy': run.isDestroy,
    message: run.message,
    'module-versions': run.moduleVersions,
    'plan-only': run.planOnly,
    'position-in-queue': run.position,
    refresh: run.refresh,
    'refresh-only': run.refreshOnly,
    'replace-addrs': run.replaceAddrs.length === 0 ? null : run.replaceAddrs,
    'save-plan': run.savePlan,
    'secrets-logins': run.secretsLogins,
    source: run.source,
    'target-addrs': run.targetAddrs.length === 0 ? null : run.targetAddrs,
    'trigger-reason': run.triggerReason,
    variables: run.variables,
  }),
  relationships: (run) => ({
    workspace: toOne('workspaces', run.workspaceId),
    plan: toOne('plans', run.planId, `/api/v2/runs/${run.id}/plan`),
    apply: toOne('applies', run.applyId, `/api/v2/runs/${run.id}/apply`),
    'configuration-version': toOne('configuration-versions', run.configurationVersionId),
    'created-by': accountOf(run.createdByType, run.createdById),
    'confirmed-by': accountOf(run.confirmedByType, run.confirmedById),
    'canceled-by': accountOf(run.canceledByType, run.canceledById),
    'cost-estimate': toOne('cost-estimates', null),
    'input-state-version': toOne('state-versions', run.inputStateVersionId),
    'policy-checks': toMany('policy-checks', []),
    'task-stages': toMany('task-stages', run.taskStageIds, `/api/v2/runs/${run.id}/task-stages`),
    'workspace-run-alerts': toMany('workspace-run-alerts', []),
    'run-events': toMany('run-events', run.eventIds, `/api/v2/runs/${run.id}/run-events`),
    comments: toMany('comments', run.commentIds, `/api/v2/runs/${run.id}/comments`),
  }),
});
