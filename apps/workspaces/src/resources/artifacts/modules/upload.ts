import { createHash } from 'node:crypto';
import { Readable } from 'node:stream';
import { Refusal } from '@keystead/refusal';
import { type Actor, recordChange } from '../../../kernel/audit/audit';
import { BlobTooLarge, keepBlob, removeBlob, writeBlob } from '../../../kernel/blobs/blobs';
import type { Database } from '../../../kernel/database/database';
import type { Environment } from '../../../kernel/endpoints/environment';
import { ArchiveCheck, BadArchive } from '../../runs/configuration-versions/archive-check';
import { BadModule, isDescribed, readModule } from './docs';
import type { ModuleVersion } from './module';
import { type Publisher, provenanceKey, signedStatement } from './provenance';
import { versionChange } from './service';

const mostEntries = 20_000;
/** How many times larger an archive may be after unpacking. */
const growth = 4;
/** The size of all files that are read for a module's declarations. */
const mostText = 4 * 1024 * 1024;

const alreadyDownloaded = () =>
  new Refusal('conflict', 'this version has already been downloaded and can no longer be changed');

/**
 * Stores the archive of a version. Until someone downloads it, another archive can replace it. Uploading the same
 * archive again changes nothing. Throws `invalid` if it is not an archive of a module, and for archives with paths
 * outside their folder.
 */
export async function upload(
  db: Database,
  env: Pick<Environment, 'keyring' | 'configurationBytes' | 'largeUploads' | 'publicUrl'>,
  actor: Actor,
  version: ModuleVersion,
  source: AsyncIterable<Uint8Array>,
): Promise<void> {
  const limit = env.configurationBytes;
  const digest = createHash('sha256');
  let text = 0;
  const root = version.sourceDirectory === '' ? '' : `${version.sourceDirectory}/`;
  const check = new ArchiveCheck({ bytes: growth * limit, entries: mostEntries }, (name, bytes) => {
    if (!name.startsWith(root) || !isDescribed(name.slice(root.length))) return false;
    text += bytes;
    if (text > mostText)
      throw new BadArchive(`the documentation and variables of the module are larger than ${mostText} bytes`);
    return true;
  });
  const written: string[] = [];
  const keep = async (bytes: AsyncIterable<Uint8Array>, most: number) => {
    const blob = await writeBlob(db, env.keyring, bytes, { limit: most, provisional: true });
    written.push(blob.id);
    return blob;
  };
  try {
    const pieces = async function* () {
      for await (const piece of source) {
        digest.update(piece);
        await check.write(piece);
        yield piece;
      }
      await check.end();
    };
    const { id: blobId, size } = await keep(pieces(), limit);
    const files = new Map([...check.files].map(([name, bytes]) => [name.slice(root.length), bytes]));
    const docs = await env.largeUploads.run(() => readModule(files), version.organizationId);
    const about = Buffer.from(JSON.stringify(docs));
    const { id: docsBlobId } = await keep(Readable.from([about]), about.length);
    const content = { blobId, docsBlobId, size: BigInt(size), digest: digest.digest(), updatedAt: new Date() };
    const publisher = publisherOf(version, actor);
    const subject = { publisher, digest: content.digest, at: content.updatedAt };
    const key = await provenanceKey(db, env.keyring);
    const provenance = signedStatement(version, subject, key, env.publicUrl);
    await publish(db, actor, version, { ...content, provenance });
  } catch (error) {
    check.close();
    for (const id of written) await removeBlob(db, id);
    if (error instanceof BlobTooLarge) {
      throw await failed(db, version, new Refusal('too-large', `the archive is larger than ${limit} bytes`));
    }
    if (!(error instanceof BadArchive || error instanceof BadModule)) throw error;
    throw await failed(db, version, new Refusal('invalid', error.message));
  }
}

/** Records why publishing a version failed, unless the version already has files. */
async function failed(db: Database, { id }: ModuleVersion, refusal: Refusal): Promise<Refusal> {
  const data = { status: 'reg_ingress_failed', error: refusal.message, updatedAt: new Date() };
  await db.prisma.registryModuleVersion.updateMany({ where: { id, blobId: null }, data });
  return refusal;
}

/**
 * The publisher of a version: the caller who uploads it or requested the commit; absent if the version comes from a tag
 * of its repository.
 */
function publisherOf({ createdBy }: ModuleVersion, { type, id, name }: Actor): Publisher {
  return type === 'system' && createdBy !== null ? (createdBy as unknown as Publisher) : { type, id, name };
}

interface Content {
  readonly blobId: string;
  readonly docsBlobId: string;
  readonly size: bigint;
  readonly digest: Buffer;
  readonly updatedAt: Date;
  readonly provenance: string;
}

async function publish(db: Database, actor: Actor, { id, module, version }: ModuleVersion, content: Content) {
  const digest = new Uint8Array(content.digest);
  const stored = await db.transaction(async (tx) => {
    const [before] = await tx.prisma.$queryRaw<{ digest: Uint8Array | null; read_at: Date | null }[]>`
      SELECT digest, read_at FROM registry_module_version WHERE id = ${id} FOR UPDATE`;
    if (!before) throw new Refusal('missing', '');
    if (before.digest && content.digest.equals(before.digest)) return false;
    if (before.read_at) throw alreadyDownloaded();
    await keepBlob(tx, content.blobId, content.docsBlobId);
    const data = { ...content, digest, status: 'ok', error: null };
    await tx.prisma.registryModuleVersion.update({ where: { id }, data });
    await tx.prisma.registryModule.update({ where: { id: module.id }, data: { updatedAt: new Date() } });
    await recordChange(tx, actor, versionChange(module, version, 'publish'));
    return true;
  });
  if (!stored) for (const one of [content.blobId, content.docsBlobId]) await removeBlob(db, one);
}

/** The archive of a version, which can no longer change; undefined if there is none. */
export async function handOut(
  { prisma }: Database,
  { id, blobId, isRead }: { readonly id: string; readonly blobId: string | null; readonly isRead: boolean },
): Promise<string | undefined> {
  if (isRead) return blobId ?? undefined;
  const [row] = await prisma.$queryRaw<{ blob_id: string }[]>`
    UPDATE registry_module_version SET read_at = coalesce(read_at, now()) WHERE id = ${id} AND status = 'ok'
    RETURNING blob_id`;
  return row?.blob_id;
}
