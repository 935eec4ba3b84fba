import { invalid } from '@keystead/jsonapi';
import { type Actor, recordChange } from '../../../kernel/audit/audit';
import type { Database } from '../../../kernel/database/database';
import { newId } from '../../../kernel/database/ids';
import type { Workspace } from '../../workspaces/workspaces/workspace';

/** The properties of a configuration that runs need. */
export interface Configuration {
  readonly id: string;
  readonly speculative: boolean;
}

/** The newest configuration of a workspace that was uploaded for its ordinary runs. */
export async function newestUsable(db: Database, workspaceId: string): Promise<string | undefined> {
  const found = await db.prisma.configurationVersion.findFirst({
    where: { workspaceId, status: 'uploaded', speculative: false, provisional: false },
    orderBy: [{ createdAt: 'desc' }, { id: 'desc' }],
    select: { id: true },
  });
  return found?.id;
}

/**
 * The configuration of a run: the configuration in the request, otherwise the current configuration of the workspace,
 * otherwise the newest uploaded configuration. Throws `invalid`.
 */
export async function requireConfiguration(
  db: Database,
  { id: workspaceId, currentConfigurationId }: Workspace,
  named: string | null | undefined,
): Promise<Configuration> {
  const id = named ?? currentConfigurationId;
  const found = id ? await db.prisma.configurationVersion.findUnique({ where: { id } }) : null;
  if (named && found?.workspaceId !== workspaceId) {
    throw invalid('configurationVersion', 'was not found in the workspace');
  }
  if (found?.status === 'uploaded') return found;
  if (named && found) {
    throw invalid('configurationVersion', `is ${found.status.replace(/_/g, ' ')}; runs need an uploaded one`);
  }
  const newest = await newestUsable(db, workspaceId);
  if (!newest)
    throw invalid('configurationVersion', 'is required: no configuration has been uploaded to the workspace');
  return { id: newest, speculative: false };
}

/**
 * The configuration of a destroy run. Undefined in a workspace without a configuration and a state, because there is
 * nothing to destroy.
 */
export async function configurationToDestroy(
  db: Database,
  workspace: Workspace,
  named: string | null | undefined,
): Promise<Configuration | undefined> {
  const isEmpty = !named && workspace.currentConfigurationId === null && workspace.currentStateVersionId === null;
  if (isEmpty && !(await newestUsable(db, workspace.id))) return undefined;
  return requireConfiguration(db, workspace, named);
}

/** Creates a configuration that a worker will fetch from a repository; returns its id. */
export async function createFetched(
  tx: Database,
  actor: Actor,
  workspace: Pick<Workspace, 'id' | 'organizationId'>,
  options: { source: string; speculative: boolean; autoQueueRuns: boolean },
): Promise<string> {
  const id = newId('cv');
  const data = { id, workspaceId: workspace.id, status: 'fetching', createdByType: actor.type, creatorApplies: true };
  await tx.prisma.configurationVersion.create({ data: { ...data, ...options } });
  await recordChange(tx, actor, {
    organizationId: workspace.organizationId,
    action: 'configuration-version.create',
    target: { type: 'configuration-versions', id, name: workspace.id },
    after: options,
  });
  return id;
}

/** Records when a configuration reached a status. */
export async function stamp(tx: Database, id: string, name: string): Promise<void> {
  await tx.prisma.$executeRaw`
    UPDATE configuration_version SET timestamps = timestamps || jsonb_build_object(${name}::text,
             to_char(now() AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"+00:00"'))
     WHERE id = ${id}`;
}
