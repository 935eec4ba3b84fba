import { createHash } from 'node:crypto';
import { Readable } from 'node:stream';
import { invalid, type Page } from '@keystead/jsonapi';
import { isRefusal, Refusal } from '@keystead/refusal';
import { Prisma, type PolicySetVersion as Row } from '../../../generated/prisma/client';
import { type Actor, recordChange } from '../../../kernel/audit/audit';
import { keepBlob, removeBlob, writeBlob } from '../../../kernel/blobs/blobs';
import { type Database, still } from '../../../kernel/database/database';
import { deleteOlder } from '../../../kernel/database/delete-older';
import { newId } from '../../../kernel/database/ids';
import { lockRow } from '../../../kernel/database/lock-row';
import type { Environment } from '../../../kernel/endpoints/environment';
import { ArchiveCheck, type ArchiveLimits, BadArchive } from '../../runs/configuration-versions/archive-check';
import type { PolicyKind } from '../../runs/runs/stages/policies';
import { stampNow } from '../../runs/runs/transition';
import { isPolicyFile, readPolicyFiles } from './policy-files';
import { findSets, type PolicySet, setChange } from './policy-set';

/** The files of a set, from one upload. */
export interface SetVersion extends Row {
  readonly organizationId: string;
  readonly set: PolicySet;
  /** Only for callers who may upload. */
  readonly uploadUrl?: string;
}

const mostVersions = 1000;
/** The number of versions that are kept for a set that follows a repository. Older ones are deleted. */
const mostFollowed = 100;
const uploaded: ArchiveLimits = { bytes: 10 * 1024 * 1024, entries: 5000 };
/** The limit for the size of all files together. */
const mostText = 10 * 1024 * 1024;

/** Versions by id, in no particular order; unknown ids are left out. */
export async function findVersions(db: Database, ids: readonly string[]): Promise<SetVersion[]> {
  const rows = await db.prisma.policySetVersion.findMany({ where: { id: { in: [...ids] } } });
  const sets = await findSets(
    db,
    rows.map(({ policySetId }) => policySetId),
  );
  return rows.flatMap((row) => {
    const set = sets.find(({ id }) => id === row.policySetId);
    return set ? { ...row, organizationId: set.organizationId, set } : [];
  });
}

/** A page of the versions of a set, newest first. */
export async function listVersions(db: Database, set: PolicySet, { offset, size }: Page) {
  const where = { policySetId: set.id };
  const orderBy: Prisma.PolicySetVersionOrderByWithRelationInput[] = [{ createdAt: 'desc' }, { id: 'desc' }];
  const rows = await db.prisma.policySetVersion.findMany({ where, orderBy, skip: offset, take: size });
  const { organizationId } = set;
  const items = rows.map((row): SetVersion => ({ ...row, organizationId, set }));
  return { items, total: await db.prisma.policySetVersion.count({ where }) };
}

/** Adds a version without files. Throws `invalid` for a set whose policies are managed individually. */
export async function createVersion(db: Database, actor: Actor, { id: policySetId }: PolicySet): Promise<SetVersion> {
  const id = newId('polsetver');
  return db.transaction(async (tx) => {
    await lockRow(tx, 'policy_set', policySetId);
    const [set] = await findSets(tx, [policySetId]);
    if (still(set).oauthTokenId !== null) throw invalid('version', 'comes from the repository of the set');
    if (still(set).policyIds.length > 0) throw invalid('policies', 'must be removed from the set first');
    if ((await tx.prisma.policySetVersion.count({ where: { policySetId } })) >= mostVersions) {
      throw invalid('version', `has reached its limit: a policy set can have at most ${mostVersions} versions`);
    }
    await tx.prisma.policySetVersion.create({ data: { id, policySetId } });
    await stampVersion(tx, id, 'pending-at');
    await recordChange(tx, actor, { ...setChange(still(set), 'version-create'), after: { version: id } });
    return still((await findVersions(tx, [id]))[0]);
  });
}

/** Records when a version reached a status. */
export const stampVersion = (tx: Database, id: string, name: string) => tx.prisma.$executeRaw`
  UPDATE policy_set_version SET timestamps = timestamps || jsonb_build_object(${name}::text, ${stampNow}), updated_at = now()
   WHERE id = ${id}`;

/**
 * Deletes the oldest versions of a set that follows a repository, but not the current one, to make room for another
 * version.
 */
export function pruneVersions(tx: Database, { id, currentVersionId }: PolicySet): Promise<void> {
  const others = Prisma.sql`t.policy_set_id = ${id} AND t.id <> ${currentVersionId ?? ''}`;
  return deleteOlder(tx, 'policy_set_version', others, mostFollowed - 1);
}

/** Records why a version has no files. The set keeps its current version. */
export async function failVersion(db: Database, id: string, error: string): Promise<void> {
  const where = { id, blobId: null };
  const { count } = await db.prisma.policySetVersion.updateMany({ where, data: { status: 'errored', error } });
  if (count > 0) await stampVersion(db, id, 'errored-at');
}

/** Takes the archive that someone uploads for a version. */
export async function uploadVersion(
  db: Database,
  env: Pick<Environment, 'keyring' | 'largeUploads'>,
  actor: Actor,
  version: SetVersion,
  source: AsyncIterable<Uint8Array>,
): Promise<void> {
  if (version.commitSha !== null) throw new Refusal('conflict', 'this version comes from a repository');
  await takeArchive(db, env, actor, version, source, uploaded);
}

/**
 * Stores the archive of a version, which is possible only once. Uploading the same archive again changes nothing. If
 * its policies cannot be read, the version gets the status `errored` with the reason, and the set keeps its current
 * version.
 */
export async function takeArchive(
  db: Database,
  env: Pick<Environment, 'keyring' | 'largeUploads'>,
  actor: Actor,
  version: SetVersion,
  source: AsyncIterable<Uint8Array>,
  limits: ArchiveLimits,
): Promise<void> {
  const kind = version.set.kind as PolicyKind;
  const digest = createHash('sha256');
  let text = 0;
  let size = 0;
  const root = version.policiesPath === '' ? '' : `${version.policiesPath}/`;
  const check = new ArchiveCheck({ ...limits, bytes: 4 * limits.bytes }, (name, bytes) => {
    if (!name.startsWith(root) || !isPolicyFile(kind, name.slice(root.length))) return false;
    text += bytes;
    if (text > mostText) throw new BadArchive(`the policies have more than ${mostText} bytes`);
    return true;
  });
  try {
    for await (const piece of source) {
      size += piece.length;
      if (size > limits.bytes) throw new Refusal('too-large', `the archive is larger than ${limits.bytes} bytes`);
      digest.update(piece);
      await check.write(piece);
    }
    await check.end();
    const files = new Map([...check.files].map(([name, bytes]) => [name.slice(root.length), bytes]));
    const read = await env.largeUploads.run(() => readPolicyFiles(kind, files, root), version.organizationId);
    const about = Buffer.from(JSON.stringify(read));
    const { id } = await writeBlob(db, env.keyring, Readable.from([about]), { limit: about.length, provisional: true });
    if (!(await publish(db, actor, version, id, digest.digest()))) await removeBlob(db, id);
  } catch (error) {
    check.close();
    const isTooLarge = isRefusal(error) && error.kind === 'too-large';
    if (isTooLarge && version.commitSha !== null) await failVersion(db, version.id, error.message);
    if (!(error instanceof BadArchive)) throw error;
    await failVersion(db, version.id, error.message);
    throw new Refusal('invalid', error.message);
  }
}

/**
 * Publishes the files of a version. Returns false if it already has these files. Throws `conflict` if it has other
 * files.
 */
async function publish(db: Database, actor: Actor, version: SetVersion, blobId: string, newDigest: Buffer) {
  const { id, policySetId } = version;
  return db.transaction(async (tx) => {
    await lockRow(tx, 'policy_set', policySetId);
    const [set] = await findSets(tx, [policySetId]);
    if (!set) throw new Refusal('missing', '');
    if (version.commitSha !== null && (set.oauthTokenId === null || set.vcsIdentifier !== version.vcsIdentifier)) {
      throw new BadArchive('the policy set is no longer connected to the repository');
    }
    const before = await tx.prisma.policySetVersion.findUnique({ where: { id } });
    if (!before) throw new Refusal('missing', '');
    if (before.digest && newDigest.equals(before.digest)) return false;
    if (before.blobId) throw new Refusal('conflict', 'this version has its files already and can no longer be changed');
    await keepBlob(tx, blobId);
    const data = { blobId, digest: new Uint8Array(newDigest), status: 'ready', error: null };
    await tx.prisma.policySetVersion.update({ where: { id }, data });
    await stampVersion(tx, id, 'ready-at');
    const digest = newDigest.toString('hex');
    await recordChange(tx, actor, { ...setChange(set, 'version-publish'), after: { version: id, digest } });
    return true;
  });
}
