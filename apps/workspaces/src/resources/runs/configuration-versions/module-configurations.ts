import { createHash } from 'node:crypto';
import type { Keyring } from '@keystead/keyring';
import { Refusal } from '@keystead/refusal';
import type { Access } from '../../../kernel/access/access';
import { type Actor, recordChange } from '../../../kernel/audit/audit';
import { BlobTooLarge, keepBlob, removeBlob, writeBlob } from '../../../kernel/blobs/blobs';
import { type Database, still } from '../../../kernel/database/database';
import { newId } from '../../../kernel/database/ids';
import { lockRow } from '../../../kernel/database/lock-row';
import type { Environment } from '../../../kernel/endpoints/environment';
import { stamp } from '../runs/configuration';
import { ArchiveCheck, BadArchive } from './archive-check';
import { findOfModule, type ModuleConfiguration } from './configuration-version';
import { checked, growth, mostEntries } from './upload';

/** The maximum number of configurations of a module: those of stored tests, plus some that are not tested yet. */
const mostOfModule = 200;

/** Callers who manage a module may test it. */
export const testsModules = (access: Access, { organizationId }: { readonly organizationId: string }): boolean =>
  access.can(organizationId, 'manage-modules');

const changeOf = ({ id, organizationId, moduleId }: ModuleConfiguration, verb: string) => ({
  organizationId,
  action: `configuration-version.${verb}`,
  target: { type: 'configuration-versions', id, name: moduleId },
});

/** Creates a configuration of a module without files, to upload and test. Throws `conflict` beyond the limit. */
export function announce(db: Database, actor: Actor, module: { readonly id: string }): Promise<ModuleConfiguration> {
  const { id: moduleId } = module;
  return db.transaction(async (tx) => {
    await lockRow(tx, 'registry_module', moduleId);
    if ((await tx.prisma.configurationVersion.count({ where: { moduleId } })) >= mostOfModule) {
      throw new Refusal(
        'conflict',
        `the module already has ${mostOfModule} configuration versions for tests: those that are not tested are deleted after a day`,
      );
    }
    const id = newId('cv');
    const by = { createdByType: actor.type, createdById: actor.id };
    await tx.prisma.configurationVersion.create({
      data: { id, moduleId, status: 'pending', autoQueueRuns: false, speculative: true, ...by },
    });
    await stamp(tx, id, 'queued-at');
    const version = still(await findOfModule(tx, id));
    await recordChange(tx, actor, changeOf(version, 'create'));
    return version;
  });
}

const usedAlready = () => new Refusal('conflict', 'this upload URL was already used');

/**
 * Stores the archive of a module's configuration, which is possible only once. The same bytes are accepted again. If
 * the archive is invalid, the configuration gets the status `errored`, with the reason.
 */
export async function uploadOfModule(
  db: Database,
  { keyring, configurationBytes: limit }: { readonly keyring: Keyring } & Pick<Environment, 'configurationBytes'>,
  configuration: ModuleConfiguration,
  source: AsyncIterable<Uint8Array>,
): Promise<void> {
  const { id } = configuration;
  const digest = createHash('sha256');
  const check = new ArchiveCheck({ bytes: growth * limit, entries: mostEntries });
  const settle = (data: object) =>
    db.transaction(async (tx) => {
      const { count } = await tx.prisma.configurationVersion.updateMany({ where: { id, status: 'pending' }, data });
      if (count === 0) return false;
      if ('blobId' in data) await keepBlob(tx, String(data.blobId));
      await stamp(tx, id, 'finished-at');
      const { createdByType, createdById } = configuration;
      const by = { type: createdByType as Actor['type'], id: createdById ?? '', name: createdById ?? '' };
      await recordChange(tx, by, changeOf(configuration, 'upload'));
      return true;
    });
  try {
    const blob = await writeBlob(db, keyring, checked(source, check, digest), { limit, provisional: true });
    const sum = new Uint8Array(digest.digest());
    if (await settle({ status: 'uploaded', blobId: blob.id, size: BigInt(blob.size), digest: sum })) return;
    await removeBlob(db, blob.id);
    const before = await db.prisma.configurationVersion.findUnique({ where: { id }, select: { digest: true } });
    if (before?.digest && Buffer.from(before.digest).equals(sum)) return;
    throw usedAlready();
  } catch (error) {
    check.close();
    const tooLarge = error instanceof BlobTooLarge;
    if (!tooLarge && !(error instanceof BadArchive)) throw error;
    const errorMessage = tooLarge ? `the archive is larger than ${limit} bytes` : error.message;
    const isFirst = await settle({ status: 'errored', error: 'invalid archive', errorMessage });
    if (!isFirst) throw usedAlready();
    if (tooLarge) throw new Refusal('too-large', errorMessage);
  }
}
