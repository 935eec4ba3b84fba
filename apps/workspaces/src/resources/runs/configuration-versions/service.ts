import { invalid } from '@keystead/jsonapi';
import { Refusal } from '@keystead/refusal';
import { type Actor, recordChange } from '../../../kernel/audit/audit';
import { type BackingDataAction, changeBackingData, deletedStatus } from '../../../kernel/blobs/backing-data';
import { removeBlob } from '../../../kernel/blobs/blobs';
import { type Database, still } from '../../../kernel/database/database';
import { newId } from '../../../kernel/database/ids';
import { lockRow } from '../../../kernel/database/lock-row';
import type { Workspace } from '../../workspaces/workspaces/workspace';
import { stamp } from '../runs/configuration';
import { type ConfigurationVersion, find } from './configuration-version';

/** The settings of a new configuration version in a request. */
export interface NewConfiguration {
  readonly autoQueueRuns?: boolean | null;
  readonly speculative?: boolean | null;
  readonly provisional?: boolean | null;
}

const changeOf = ({ id, organizationId, workspaceId }: ConfigurationVersion, verb: string) => ({
  organizationId,
  action: `configuration-version.${verb}`,
  target: { type: 'configuration-versions', id, name: workspaceId },
});

/** Creates a configuration that will be uploaded. With `applies`, the resulting run may apply without confirmation. */
export async function create(
  db: Database,
  by: { actor: Actor; applies: boolean; source: string },
  workspace: Workspace,
  input: NewConfiguration,
): Promise<ConfigurationVersion> {
  const speculative = input.speculative === true;
  if (workspace.vcsIdentifier !== null && !speculative) {
    throw invalid('speculative', 'must be true: the configuration of the workspace comes from a repository');
  }
  const id = newId('cv');
  return db.transaction(async (tx) => {
    await tx.prisma.configurationVersion.create({
      data: {
        id,
        workspaceId: workspace.id,
        status: 'pending',
        source: by.source,
        autoQueueRuns: input.autoQueueRuns !== false,
        speculative,
        provisional: input.provisional === true,
        createdByType: by.actor.type,
        createdById: by.actor.id,
        creatorApplies: by.applies,
      },
    });
    await stamp(tx, id, 'queued-at');
    if (!speculative && input.provisional !== true) {
      await tx.prisma.workspace.update({ where: { id: workspace.id }, data: { currentConfigurationId: id } });
    }
    const version = still(await find(tx, id));
    const { autoQueueRuns, provisional } = version;
    await recordChange(tx, by.actor, {
      ...changeOf(version, 'create'),
      after: { autoQueueRuns, speculative, provisional },
    });
    return version;
  });
}

/** Records that someone other than its creator reads an archive. From then on, the archive cannot be replaced. */
export async function noteRead(
  { prisma }: Database,
  { id, createdByType: type, createdById }: ConfigurationVersion,
  reader: Pick<Actor, 'type' | 'id'>,
): Promise<void> {
  if (reader.type === type && reader.id === createdById) return;
  await prisma.$executeRaw`UPDATE configuration_version SET read_at = now() WHERE id = ${id} AND read_at IS NULL`;
}

async function isCurrent(tx: Database, { id, workspaceId }: ConfigurationVersion): Promise<boolean> {
  await lockRow(tx, 'workspace', workspaceId);
  return (await tx.prisma.workspace.count({ where: { id: workspaceId, currentConfigurationId: id } })) > 0;
}

const inUse = (tx: Database, { id }: ConfigurationVersion) =>
  tx.prisma.run.count({ where: { configurationVersionId: id, finishedAt: null } });

/** Removes the files of a configuration. Throws `transition` if it is current, in use, or not uploaded. */
export async function archive(db: Database, actor: Actor, configuration: ConfigurationVersion): Promise<void> {
  await db.transaction(async (tx) => {
    if (await isCurrent(tx, configuration)) {
      throw new Refusal(
        'transition',
        'transition not allowed: configuration could not be archived because it is current',
      );
    }
    if ((await inUse(tx, configuration)) > 0) {
      throw new Refusal('transition', 'transition not allowed: runs are still using the configuration');
    }
    const { count } = await tx.prisma.configurationVersion.updateMany({
      where: { id: configuration.id, status: 'uploaded' },
      data: { status: 'archived', blobId: null },
    });
    if (count === 0) {
      throw new Refusal('transition', `transition not allowed: the configuration is ${configuration.status}`);
    }
    await stamp(tx, configuration.id, 'archived-at');
    if (configuration.blobId) await removeBlob(tx, configuration.blobId);
    await recordChange(tx, actor, changeOf(configuration, 'archive'));
  });
}

/** Hides, restores or removes the files of a configuration that is not in use. */
export async function changeContent(
  db: Database,
  actor: Actor,
  configuration: ConfigurationVersion,
  action: BackingDataAction,
): Promise<ConfigurationVersion> {
  const { id, workspaceId, organizationId, status, blobId } = configuration;
  return db.transaction(async (tx) => {
    const item = {
      type: 'configuration-versions',
      id,
      name: workspaceId,
      organizationId,
      status,
      readable: 'uploaded',
      blobIds: [blobId],
      needed: async () =>
        (await isCurrent(tx, configuration)) || (await inUse(tx, configuration)) > 0
          ? 'the configuration is in use'
          : undefined,
      move: (from: string, change: { status: string }) =>
        tx.prisma.configurationVersion.updateMany({
          where: { id, status: from },
          data: { ...change, ...(change.status === deletedStatus ? { blobId: null } : {}) },
        }),
    } as const;
    await changeBackingData(tx, actor, item, action);
    return still(await find(tx, id));
  });
}
