import { createHash, type Hash } from 'node:crypto';
import { Readable } from 'node:stream';
import type { Keyring } from '@keystead/keyring';
import { Refusal } from '@keystead/refusal';
import { type Actor, recordChange } from '../../../kernel/audit/audit';
import { BlobTooLarge, keepBlob, removeBlob, writeBlob } from '../../../kernel/blobs/blobs';
import type { Database } from '../../../kernel/database/database';
import { lockRow } from '../../../kernel/database/lock-row';
import type { Environment } from '../../../kernel/endpoints/environment';
import { effectiveMode, requireWorkspace } from '../../workspaces/workspaces/workspace';
import { newestUsable, stamp } from '../runs/configuration';
import { create as createRun } from '../runs/create';
import { advance, finish } from '../runs/queue';
import { ArchiveCheck, BadArchive } from './archive-check';
import type { ConfigurationVersion } from './configuration-version';

/** The limits of an archive. */
export const mostEntries = 100_000;
/** Statuses of a configuration without files. */
const awaited = ['pending', 'fetching'];
/** How many times larger an archive may be after unpacking. */
export const growth = 4;

const uploadedAlready = () =>
  new Refusal(
    'conflict',
    'this upload URL can no longer be used: a run uses the configuration, or someone has read it',
  );

/** The pieces of an upload, each checked before it is passed on. */
export async function* checked(
  source: AsyncIterable<Uint8Array>,
  check: ArchiveCheck,
  digest: Hash,
): AsyncGenerator<Uint8Array> {
  for await (const piece of source) {
    digest.update(piece);
    await check.write(piece);
    yield piece;
  }
  await check.end();
}

/**
 * Stores the archive of a configuration without files. Until a run uses it or someone else has read it, another archive
 * can replace it. Uploading the same archive again changes nothing. If the first archive is invalid, too large, or has
 * paths outside its folder, the configuration becomes errored, with the reason, and later archives are refused. After a
 * valid archive, runs of the workspace use the configuration, and its run starts. With `replaces`, the archive may
 * replace another archive that arrived during the upload.
 */
export async function upload(
  db: Database,
  { keyring, configurationBytes: limit }: Pick<Environment, 'keyring' | 'configurationBytes'>,
  configuration: ConfigurationVersion,
  source: AsyncIterable<Uint8Array>,
  replaces = true,
): Promise<void> {
  const first = awaited.includes(configuration.status);
  if (!first && !(await isReplaceable(db, configuration.id))) return requireSame(db, configuration, source, limit);
  const digest = createHash('sha256');
  const check = new ArchiveCheck({ bytes: growth * limit, entries: mostEntries });
  let blob: { id: string; size: number };
  try {
    blob = await writeBlob(db, keyring, checked(source, check, digest), { limit, provisional: true });
  } catch (error) {
    check.close();
    const tooLarge = error instanceof BlobTooLarge;
    if (!tooLarge && !(error instanceof BadArchive)) throw error;
    const reason = tooLarge ? `the archive is larger than ${limit} bytes` : error.message;
    if (first) await refuse(db, configuration, reason);
    if (tooLarge) throw new Refusal('too-large', reason);
    if (!first) throw new Refusal('invalid', reason);
    return;
  }
  const readmeBlobId = await keepReadme(db, keyring, check.readme);
  const queues = first && configuration.autoQueueRuns;
  const content = { ...blob, readmeBlobId, digest: digest.digest(), replaces };
  let refused: unknown;
  let outcome = await take(db, keyring, configuration, content, queues).catch((error: unknown) => {
    if (!queues || !(error instanceof Refusal)) throw error;
    refused = error;
    return undefined;
  });
  // The configuration still exists, and a run may be started by hand.
  outcome ??= await take(db, keyring, configuration, content, false);
  if (outcome !== 'taken') {
    await removeBlob(db, blob.id);
    if (readmeBlobId) await removeBlob(db, readmeBlobId);
    if (outcome === 'same') return;
    throw uploadedAlready();
  }
  if (refused !== undefined) throw refused;
}

/** Whether another archive may replace the existing one: no run uses it, and no one else has read it. */
async function isReplaceable(db: Database, id: string): Promise<boolean> {
  const uploaded = await db.prisma.configurationVersion.count({ where: { id, status: 'uploaded', readAt: null } });
  return uploaded === 1 && (await db.prisma.run.count({ where: { configurationVersionId: id } })) === 0;
}

/**
 * Accepts the same bytes as before and refuses others, because a client that never received the response sends its
 * archive again.
 */
async function requireSame(
  db: Database,
  { id }: ConfigurationVersion,
  source: AsyncIterable<Uint8Array>,
  limit: number,
): Promise<void> {
  const { digest } = await db.prisma.configurationVersion.findUniqueOrThrow({
    where: { id },
    select: { digest: true },
  });
  if (digest === null) throw uploadedAlready();
  const again = createHash('sha256');
  let size = 0;
  for await (const piece of source) {
    size += piece.length;
    if (size > limit) throw uploadedAlready();
    again.update(piece);
  }
  if (!again.digest().equals(digest)) throw uploadedAlready();
}

/** Stores the README, so that showing a workspace does not require unpacking an archive. */
async function keepReadme(db: Database, keyring: Keyring, readme: Buffer | undefined): Promise<string | undefined> {
  if (readme === undefined) return undefined;
  const { id } = await writeBlob(db, keyring, Readable.from([readme]), { limit: readme.length, provisional: true });
  return id;
}

/** Ends the wait for the files of a configuration that will never come, and records the reason. */
export async function refuse(
  db: Database,
  { id, workspaceId }: Pick<ConfigurationVersion, 'id' | 'workspaceId'>,
  reason: string,
  error = 'invalid archive',
): Promise<void> {
  await db.transaction(async (tx) => {
    await lockRow(tx, 'workspace', workspaceId);
    const { count } = await tx.prisma.configurationVersion.updateMany({
      where: { id, status: { in: awaited } },
      data: { status: 'errored', error, errorMessage: reason },
    });
    if (count === 0) return;
    await stamp(tx, id, 'finished-at');
    // The workspace uses the last configuration that can be used.
    const currentConfigurationId = (await newestUsable(tx, workspaceId)) ?? null;
    const where = { id: workspaceId, currentConfigurationId: id };
    await tx.prisma.workspace.updateMany({ where, data: { currentConfigurationId } });
    await endWaiting(tx, id, workspaceId, reason);
  });
}

/** Ends the runs that waited for files which will never come. */
async function endWaiting(tx: Database, configurationVersionId: string, workspaceId: string, reason: string) {
  const waiting = await tx.prisma.run.findMany({
    where: { configurationVersionId, finishedAt: null },
    select: { id: true, phases: { select: { id: true, kind: true } } },
    orderBy: { number: 'asc' },
  });
  for (const { id, phases } of waiting) {
    const [planId = '', applyId = ''] = ['plan', 'apply'].map((kind) => phases.find((one) => one.kind === kind)?.id);
    await finish(tx, { id, workspaceId, planId, applyId }, 'errored', { reason });
  }
}

const creatorOf = ({ createdByType, createdById }: ConfigurationVersion): Actor => ({
  type: createdByType as Actor['type'],
  id: createdById ?? '',
  name: createdById ?? '',
});

interface UploadedContent {
  readonly id: string;
  readonly size: number;
  readonly readmeBlobId: string | undefined;
  readonly digest: Buffer;
  readonly replaces: boolean;
}

async function take(
  db: Database,
  keyring: Keyring,
  configuration: ConfigurationVersion,
  blob: UploadedContent,
  queues: boolean,
): Promise<'taken' | 'same' | 'late'> {
  const { id, workspaceId, organizationId, speculative, provisional } = configuration;
  return db.transaction(async (tx) => {
    await lockRow(tx, 'workspace', workspaceId);
    const status = { in: blob.replaces && (await isReplaceable(tx, id)) ? ['uploaded'] : awaited };
    const before = await tx.prisma.configurationVersion.findFirst({
      where: { id, status },
      select: { blobId: true, readmeBlobId: true, digest: true },
    });
    if (before?.digest && blob.digest.equals(before.digest)) return 'same';
    const { count } = await tx.prisma.configurationVersion.updateMany({
      where: { id, status, readAt: null },
      data: {
        status: 'uploaded',
        blobId: blob.id,
        size: BigInt(blob.size),
        readmeBlobId: blob.readmeBlobId,
        digest: new Uint8Array(blob.digest),
      },
    });
    if (count === 0) return 'late';
    for (const old of [before?.blobId, before?.readmeBlobId]) if (old) await removeBlob(tx, old);
    await keepBlob(tx, blob.id, ...(blob.readmeBlobId ? [blob.readmeBlobId] : []));
    await stamp(tx, id, 'finished-at');
    if (!speculative && !provisional) {
      const readmeId = blob.readmeBlobId ? id : null;
      await tx.prisma.workspace.update({ where: { id: workspaceId }, data: { currentConfigurationId: id, readmeId } });
    }
    await recordChange(tx, creatorOf(configuration), {
      organizationId,
      action: 'configuration-version.upload',
      target: { type: 'configuration-versions', id, name: workspaceId },
      after: { size: blob.size },
    });
    // A run may be waiting for this commit.
    if (configuration.status === 'fetching') await advance(tx, workspaceId);
    // The run is created in the same transaction as its inputs, because no later job would create a missing run.
    if (queues) await queueRun(tx, keyring, configuration);
    return 'taken';
  });
}

async function queueRun(db: Database, keyring: Keyring, configuration: ConfigurationVersion): Promise<void> {
  const workspace = await requireWorkspace(db, configuration.workspaceId);
  if (effectiveMode(workspace).mode === 'local') return;
  const starter = {
    actor: creatorOf(configuration),
    applies: configuration.creatorApplies,
    source: 'tfe-configuration-version',
  };
  const ingress = await db.prisma.ingressAttributes.findUnique({ where: { configurationVersionId: configuration.id } });
  const message = ingress?.commitMessage || 'Queued by the upload of a configuration';
  await createRun(db, keyring, starter, workspace, { configurationVersion: configuration.id, message });
}
