import { createHash } from 'node:crypto';
import { Refusal } from '@keystead/refusal';
import { createMessage, readKey, readSignature, verify } from 'openpgp';
import { type Actor, recordChange } from '../../../kernel/audit/audit';
import { BlobTooLarge, keepBlob, readBlob, removeBlob, writeBlob } from '../../../kernel/blobs/blobs';
import type { Database } from '../../../kernel/database/database';
import { lockRow } from '../../../kernel/database/lock-row';
import type { Environment } from '../../../kernel/endpoints/environment';
import { hashOfFiles, Tail, UnreadableArchive } from './archive-hash';
import type { ProviderPlatform, ProviderVersion } from './provider';
import { partChange } from './service';
import { contradicted, sumsIn } from './sums';

/** The maximum size of a list of checksums or a signature, in bytes. */
export const mostSums = 256 * 1024;
const mostArchive = 512 * 1024 * 1024;
const keyIdDigits = 16;

const refuse = (reason: string) => new Refusal('invalid', reason);

/** One of the two files that sign a version. */
export type SignedPart = { readonly sums: string } | { readonly signature: Buffer };

/**
 * Stores the list of checksums of a version, or its signature, in any order. The second of the two is accepted only if
 * the version's key made the signature. After that, neither can change. Throws `invalid` and `conflict`.
 */
export async function uploadPart(
  db: Database,
  actor: Actor,
  version: ProviderVersion,
  part: SignedPart,
): Promise<void> {
  await db.transaction(async (tx) => {
    await lockRow(tx, 'registry_provider', version.providerId);
    const where = { id: version.id };
    const row = await tx.prisma.registryProviderVersion.findUnique({ where, include: { platforms: true } });
    if (!row) throw new Refusal('missing', '');
    const sums = 'sums' in part ? part.sums : row.sums;
    const stored = row.signature && Buffer.from(row.signature);
    const signature = 'signature' in part ? part.signature : stored;
    // The same file was uploaded before.
    if (sums === row.sums && (signature === stored || (stored && signature?.equals(stored)))) return;
    if (row.signedBy !== null) {
      throw new Refusal('conflict', 'the checksums of this version are signed and can no longer be changed');
    }
    for (const platform of row.platforms) {
      const wrong = contradicted(sums, platform);
      if (wrong) throw refuse(`SHA256SUMS contradicts the ${wrong} of the platform ${platform.os}_${platform.arch}`);
    }
    const signedBy = sums !== null && signature ? await requireSigned(tx, version, sums, signature) : null;
    const data = { sums, signature: signature && new Uint8Array(signature), signedBy, updatedAt: new Date() };
    await tx.prisma.registryProviderVersion.update({ where, data });
    await recordChange(tx, actor, partChange(version, 'upload', 'sums' in part ? 'SHA256SUMS' : 'SHA256SUMS.sig'));
  });
}

/** The id of the key that made a signature. Throws `invalid` if it is not the key of the version. */
async function requireSigned(tx: Database, version: ProviderVersion, sums: string, signature: Buffer): Promise<string> {
  const { organizationId } = version;
  const keyId = version.keyId.slice(-keyIdDigits).toUpperCase();
  // The key is locked, so that it is neither deleted nor moved before the signature is stored.
  await tx.prisma.$queryRaw`
    SELECT 1 FROM gpg_key WHERE organization_id = ${organizationId} AND key_id = ${keyId} FOR SHARE`;
  const key = await tx.prisma.gpgKey.findFirst({ where: { organizationId, keyId } });
  if (!key) throw refuse(`the organization has no GPG key with the key-id of this version, ${version.keyId}`);
  try {
    const { signatures } = await verify({
      message: await createMessage({ binary: new Uint8Array(Buffer.from(sums)) }),
      signature: await readSignature({ binarySignature: new Uint8Array(signature) }),
      verificationKeys: await readKey({ armoredKey: key.asciiArmor }),
    });
    await Promise.any(signatures.map(({ verified }) => verified));
  } catch {
    throw refuse(
      `SHA256SUMS.sig is not a valid signature of SHA256SUMS by the key-id of this version, ${version.keyId}`,
    );
  }
  return key.id;
}

/** A list of checksums. Throws `invalid` for any other text. */
export function sumsOf(bytes: Buffer): SignedPart {
  const sums = bytes.toString('utf8');
  if (!Buffer.from(sums).equals(bytes) || sums.includes('\0') || sumsIn(sums).size === 0) {
    throw refuse('SHA256SUMS must have lines with a SHA-256 checksum and a file name');
  }
  return { sums };
}

/** A signature in the form that the tools read. Throws `invalid` for an armored signature. */
export function signatureOf(signature: Buffer): SignedPart {
  if (signature.length === 0) throw refuse('SHA256SUMS.sig is empty');
  if (signature.subarray(0, 5).toString('latin1') === '-----') throw refuse('SHA256SUMS.sig must not be armored');
  return { signature };
}

/**
 * Stores the archive of a platform. Throws `invalid` if its checksum differs from that of the platform or in the list
 * of its version.
 */
export async function uploadArchive(
  db: Database,
  { keyring }: Pick<Environment, 'keyring'>,
  actor: Actor,
  { id, version, shasum, os, arch }: ProviderPlatform,
  source: AsyncIterable<Uint8Array>,
): Promise<void> {
  const digest = createHash('sha256');
  const tail = new Tail();
  const onPiece = async (piece: Uint8Array) => {
    digest.update(piece);
    tail.add(piece);
  };
  const blob = await writeBlob(db, keyring, source, { limit: mostArchive, provisional: true, onPiece }).catch(
    (error) => {
      throw error instanceof BlobTooLarge
        ? new Refusal('too-large', `the archive is larger than ${mostArchive} bytes`)
        : error;
    },
  );
  try {
    const sum = digest.digest('hex');
    if (sum !== shasum)
      throw refuse(`the SHA-256 checksum of the archive is ${sum}, which is not the shasum of the platform`);
    const pieces = (await readBlob(db, keyring, blob.id)) as AsyncIterable<Buffer> | undefined;
    if (!pieces) throw new Refusal('unavailable', 'the upload took too long; try again');
    const filesHash = await hashOfFiles(pieces, tail).catch((error) => {
      throw error instanceof UnreadableArchive ? refuse(error.message) : error;
    });
    const isNew = await db.transaction(async (tx) => {
      await lockRow(tx, 'registry_provider', version.providerId);
      const row = await tx.prisma.registryProviderPlatform.findUnique({ where: { id } });
      if (!row) throw new Refusal('missing', '');
      // The same archive was uploaded before.
      if (row.blobId !== null) return false;
      await keepBlob(tx, blob.id);
      await tx.prisma.registryProviderPlatform.update({ where: { id }, data: { blobId: blob.id, filesHash } });
      await recordChange(tx, actor, partChange(version, 'upload', `${os}_${arch}`));
      return true;
    });
    if (!isNew) await removeBlob(db, blob.id);
  } catch (error) {
    await removeBlob(db, blob.id);
    throw error;
  }
}
