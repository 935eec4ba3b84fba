import { invalid } from '@keystead/jsonapi';
import type { Database } from '../../../kernel/database/database';

/** The default execution settings of a project's workspaces. A null mode means the mode of the organization. */
export interface Execution {
  readonly executionMode: string | null;
  readonly agentPoolId: string | null;
}

/** The settings in a request. The agent pool can be an attribute or a relationship. */
export interface ExecutionInput {
  readonly defaultExecutionMode?: string | null;
  readonly defaultAgentPoolId?: string | null;
  readonly defaultAgentPool?: string | null;
  readonly settingOverwrites?: {
    readonly defaultExecutionMode?: boolean | null;
    readonly defaultAgentPool?: boolean | null;
  } | null;
}

/** The setting after a request. Throws `invalid` for a pool without agent mode and for agent mode without a pool. */
export function settledExecution(current: Execution, input: ExecutionInput): Execution {
  const { defaultExecutionMode: ownMode, defaultAgentPool: ownPool } = input.settingOverwrites ?? {};
  if (typeof ownMode === 'boolean' && typeof ownPool === 'boolean' && ownMode !== ownPool) {
    const message =
      'If agent-pool and execution-mode are both included in setting-overwrites, their values must be the same.';
    throw invalid('settingOverwrites', message);
  }
  // A project has its own pool if and only if it has its own mode.
  const own = ownMode ?? ownPool;
  if (own === false) return { executionMode: null, agentPoolId: null };
  const mode = input.defaultExecutionMode ?? current.executionMode;
  if (own === true && mode === null) {
    throw invalid('defaultExecutionMode', "can't be blank when the setting is overwritten");
  }
  const sent = input.defaultAgentPoolId !== undefined ? input.defaultAgentPoolId : input.defaultAgentPool;
  const pool = sent === '' ? null : sent;
  if (mode !== 'agent') {
    if (pool) throw invalid('defaultAgentPool', "must not be specified unless using 'agent' execution mode");
    return { executionMode: mode, agentPoolId: null };
  }
  const agentPoolId = pool === undefined ? current.agentPoolId : pool;
  if (agentPoolId === null) throw invalid('defaultAgentPool', "must be specified when using 'agent' execution mode");
  return { executionMode: mode, agentPoolId };
}

/** Throws `invalid` unless the pool belongs to the organization and is open to all of it or to the project. */
export async function requirePool(
  db: Database,
  { organizationId, projectId }: { organizationId: string; projectId: string },
  agentPoolId: string | null,
): Promise<void> {
  if (agentPoolId === null) return;
  const pool = await db.prisma.agentPool.findFirst({
    where: { id: agentPoolId, organizationId },
    select: { organizationScoped: true, projects: { where: { projectId } } },
  });
  if (!pool) throw invalid('defaultAgentPool', 'was not found');
  if (!pool.organizationScoped && pool.projects.length === 0) {
    throw invalid('defaultAgentPool', 'is not open to the project');
  }
}
