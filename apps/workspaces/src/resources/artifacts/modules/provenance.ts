import { createPrivateKey, sign } from 'node:crypto';
import type { SigningKey } from '@keystead/auth';
import type { Keyring } from '@keystead/keyring';
import type { Prisma } from '../../../generated/prisma/client';
import type { Actor } from '../../../kernel/audit/audit';
import { type Database, still } from '../../../kernel/database/database';
import { newStoredKey, openedKey, type StoredKey } from '../../../kernel/installation/stored-key';
import type { ModuleVersion } from './module';

/** The person or token behind a version, as its statement names them. */
export type Publisher = Pick<Actor, 'type' | 'id' | 'name'>;

/** The media types of a statement, and of the envelope with its signature. */
const statementType = 'application/vnd.in-toto+json';
export const envelopeType = 'application/vnd.dsse.envelope+json';

const setting = 'provenance-key';

async function storedKey({ prisma }: Database, keyring: Keyring): Promise<StoredKey> {
  const find = async () =>
    (await prisma.setting.findUnique({ where: { name: setting } }))?.value as StoredKey | undefined;
  const before = await find();
  if (before) return before;
  const value = (await newStoredKey(keyring, setting, Date.now(), 'EdDSA')) as unknown as Prisma.InputJsonObject;
  // If another process has stored a key in the meantime, that key is used.
  await prisma.setting.createMany({ data: [{ name: setting, value }], skipDuplicates: true });
  return still(await find());
}

/**
 * The key that signs statements of this installation; created when it is first needed. Call it outside a transaction.
 */
export async function provenanceKey(db: Database, keyring: Keyring): Promise<SigningKey> {
  return openedKey(keyring, setting, await storedKey(db, keyring));
}

/** The public half of the provenance key, as a key set. */
export const provenanceKeys = async (db: Database, keyring: Keyring) => ({
  keys: [(await storedKey(db, keyring)).jwk],
});

/** The published version, and its publisher. */
interface Published {
  readonly publisher: Publisher;
  readonly digest: Buffer;
  readonly at: Date;
}

/**
 * The in-toto statement of a version: its archive, its publisher and its commit. The commit is a dependency only if
 * this service fetched it. For an upload, it is only a claim of the publisher.
 */
function statementOf(
  { id, module, version, commitSha, tag, source, sourceDirectory }: ModuleVersion,
  { publisher, digest, at }: Published,
  publicUrl: string,
): object {
  const { namespace, name, provider, repository, vcsBranch } = module;
  const ref = tag === null ? `refs/heads/${vcsBranch}` : `refs/tags/${tag}`;
  const isFetched = source === 'tfe-vcs' && commitSha !== null;
  const repositoryUrl = repository?.httpUrl ?? repository?.cloneUrl ?? module.vcsIdentifier;
  const from = isFetched
    ? { repository: repositoryUrl, ref, ...(sourceDirectory === '' ? {} : { directory: sourceDirectory }) }
    : { ...(commitSha === null ? {} : { claimedCommit: commitSha }) };
  return {
    _type: 'https://in-toto.io/Statement/v1',
    subject: [
      {
        name: `${new URL(publicUrl).host}/${namespace}/${name}/${provider}@${version}`,
        digest: { sha256: digest.toString('hex') },
      },
    ],
    predicateType: 'https://slsa.dev/provenance/v1',
    predicate: {
      buildDefinition: {
        buildType: `urn:keystead:module-version:${isFetched ? 'git' : 'upload'}`,
        externalParameters: { publisher, ...from },
        resolvedDependencies: isFetched
          ? [{ uri: `git+${repositoryUrl}@${ref}`, digest: { gitCommit: commitSha } }]
          : [],
      },
      runDetails: { builder: { id: publicUrl }, metadata: { invocationId: id, finishedOn: at.toISOString() } },
    },
  };
}

/** A signed statement about a version: a DSSE envelope as JSON. */
export function signedStatement(
  version: ModuleVersion,
  publication: Published,
  key: SigningKey,
  publicUrl: string,
): string {
  const payload = Buffer.from(JSON.stringify(statementOf(version, publication, publicUrl)));
  const signed = Buffer.concat([
    Buffer.from(`DSSEv1 ${statementType.length} ${statementType} ${payload.length} `),
    payload,
  ]);
  const sig = sign(null, signed, createPrivateKey(key.privatePem)).toString('base64');
  return JSON.stringify({
    payloadType: statementType,
    payload: payload.toString('base64'),
    signatures: [{ keyid: key.kid, sig }],
  });
}
