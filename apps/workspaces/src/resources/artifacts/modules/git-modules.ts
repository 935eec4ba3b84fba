import { invalid, MissingPermission } from '@keystead/jsonapi';
import type { Access } from '../../../kernel/access/access';
import { type Actor, recordChange } from '../../../kernel/audit/audit';
import { type Database, still } from '../../../kernel/database/database';
import type { Environment } from '../../../kernel/endpoints/environment';
import type { CheckedRepository } from '../../connections/repositories/check';
import { askForRepository, lookAtRepository, requireConnection } from '../../connections/repositories/follow';
import { keepRepository } from '../../connections/repositories/repository';
import type { Organization } from '../../organizations/organizations/organization';
import * as organizations from '../../organizations/organizations/service';
import { bindingsOf, bindTagsTo, tagText } from '../../workspaces/projects/tag-bindings';
import { findMany, type RegistryModule } from './module';
import { offerWithoutCode } from './no-code';
import { modulePolicy } from './policy';
import type { ModuleChanges, NewGitModule } from './schema';
import { addModule, changeOf } from './service';
import { type TestColumns, testColumns, untested } from './test-config';

interface Asking {
  readonly db: Database;
  readonly env: Environment;
  accessTo(organizationIds: readonly string[]): Promise<Access>;
}

/** The branch, tags or folder that a module follows in its repository. */
type Following = Pick<RegistryModule, 'vcsBranch' | 'tagPrefix' | 'sourceDirectory'>;

const byTags: Following = { vcsBranch: null, tagPrefix: '', sourceDirectory: '' };

/** The branch, tags or folder that a module follows after a change. Throws `invalid`. */
function sourceAfter(before: Following, sent: NonNullable<ModuleChanges['vcsRepo']>): Following {
  const { branch, tags, tagPrefix, sourceDirectory } = sent;
  if (tags && branch) throw invalid(['vcsRepo', 'tags'], 'must not be set together with a branch');
  const vcsBranch = tags ? null : branch === undefined || branch === null ? before.vcsBranch : branch || null;
  if (tags === false && vcsBranch === null) throw invalid(['vcsRepo', 'branch'], "can't be blank unless tags is true");
  if (tagPrefix && vcsBranch !== null)
    throw invalid(['vcsRepo', 'tagPrefix'], 'is only for modules whose versions come from tags');
  return {
    vcsBranch,
    tagPrefix: vcsBranch === null ? (tagPrefix ?? before.tagPrefix) : '',
    sourceDirectory: sourceDirectory ?? before.sourceDirectory,
  };
}

/** A module to create for a repository that its host has confirmed. */
export interface NewFollower extends Following {
  readonly organization: Organization;
  readonly name: string;
  readonly provider: string;
  readonly oauthTokenId: string;
  readonly vcsIdentifier: string;
  readonly initialVersion: string | null;
  readonly noCode: boolean;
  readonly tests: TestColumns;
  readonly found: CheckedRepository;
}

/**
 * Asks the host for the repository that a new module will follow. The connection must be open to the whole
 * organization. If the request names no organization, the result names it. Throws `invalid`. Call it outside any
 * transaction.
 */
export async function askForFollower(
  asking: Asking,
  expectedOwner: Organization | undefined,
  { vcsRepo, name, provider, initialVersion, noCode, testConfig }: NewGitModule,
): Promise<NewFollower> {
  const { db, env, accessTo } = asking;
  const { identifier } = vcsRepo;
  const { tokenId, owner } = await requireConnection(db, vcsRepo, async (organizationId) => {
    if (expectedOwner && expectedOwner.id !== organizationId) return undefined;
    const target = { organizationId, registryName: 'private', readers: [] };
    const may = modulePolicy['can-delete'](await accessTo([organizationId]), target);
    return may ? organizations.find(db, env, organizationId) : undefined;
  });
  const source = sourceAfter(byTags, vcsRepo);
  if (initialVersion && source.vcsBranch === null)
    throw invalid('initialVersion', 'is only for modules whose versions come from a branch');
  const [, ofRepository, nameOfRepository] =
    /^terraform-([0-9a-z]{1,64})-([0-9A-Za-z][0-9A-Za-z_-]{0,63})$/.exec(identifier.split('/').at(-1) ?? '') ?? [];
  const called = { name: name ?? nameOfRepository, provider: provider ?? ofRepository };
  for (const part of ['name', 'provider'] as const) {
    if (!called[part]) throw invalid(part, 'is required if the name of the repository is not terraform-PROVIDER-NAME');
  }
  const place = { organizationId: owner.id, tokenId, identifier };
  return {
    ...source,
    organization: owner,
    name: called.name!,
    provider: called.provider!,
    oauthTokenId: tokenId,
    vcsIdentifier: identifier,
    initialVersion: source.vcsBranch === null ? null : (initialVersion ?? '0.0.0'),
    noCode: noCode === true,
    tests: await testColumns(db, owner.id, untested, testConfig),
    found: await askForRepository(asking, place, source.vcsBranch),
  };
}

/**
 * Creates a module that follows a repository. The repository is read soon afterwards. Throws `invalid` for a name that
 * is taken.
 */
export function createFollower(
  db: Database,
  { keyring }: Pick<Environment, 'keyring'>,
  actor: Actor,
  follower: NewFollower,
): Promise<RegistryModule> {
  const { organization, found, noCode, tests, ...row } = follower;
  return addModule(
    db,
    actor,
    organization,
    { ...row, ...tests, registryName: 'private', namespace: '' },
    async (tx, module) => {
      await keepRepository(tx, keyring, { tokenId: row.oauthTokenId, identifier: row.vcsIdentifier }, found);
      if (noCode) await offerWithoutCode(tx, module, true);
    },
  );
}

/**
 * The branch, tags or folder that a module follows after a change that the host has confirmed. Throws `invalid`. Call
 * it outside any transaction.
 */
export async function askForChange(
  asking: Pick<Asking, 'db' | 'env'>,
  module: RegistryModule,
  { vcsRepo }: ModuleChanges,
): Promise<Following | undefined> {
  if (!vcsRepo) return undefined;
  const { oauthTokenId: tokenId, vcsIdentifier: identifier, organizationId } = module;
  if (tokenId === null || identifier === null) throw invalid('vcsRepo', 'is only for modules that follow a repository');
  const after = sourceAfter(module, vcsRepo);
  const isNew = after.vcsBranch !== null && after.vcsBranch !== module.vcsBranch;
  if (isNew) await askForRepository(asking, { organizationId, tokenId, identifier }, after.vcsBranch);
  return after;
}

/**
 * Changes the tags, branch or folder that a module follows, if requested. Existing versions are not changed. Also
 * enables or disables no-code provisioning.
 */
export function changeModule(
  db: Database,
  actor: Actor,
  module: RegistryModule,
  after: Following | undefined,
  { noCode: requestedNoCode, testConfig, tagBindings }: ModuleChanges,
): Promise<RegistryModule> {
  const { id, vcsBranch, tagPrefix, sourceDirectory } = module;
  const { testsEnabled, testExecutionMode, testAgentPoolId } = module;
  const noCode = requestedNoCode ?? module.noCode;
  return db.transaction(async (tx) => {
    const tests = await testColumns(tx, module.organizationId, module, testConfig);
    await tx.prisma.registryModule.update({ where: { id }, data: { ...after, ...tests, updatedAt: new Date() } });
    if (after) await lookAtRepository(tx, module);
    if (tagBindings) await bindTagsTo(tx, { moduleId: id }, tagBindings, 'replace');
    if (noCode !== module.noCode) await offerWithoutCode(tx, module, noCode);
    const tags = tagBindings ? { tagBindings: (await bindingsOf(tx, { moduleId: id }, '')).map(tagText) } : {};
    const were = { testsEnabled, testExecutionMode, testAgentPoolId };
    const before = { vcsBranch, tagPrefix, sourceDirectory, noCode: module.noCode, ...were };
    await recordChange(tx, actor, {
      ...changeOf(module, 'update'),
      before,
      after: { ...after, noCode, ...tests, ...tags },
    });
    return still((await findMany(tx, [id], module.readers))[0]);
  });
}

/**
 * Reads the repository of a module now, and retries versions that could not be published. Throws if the module follows
 * no repository.
 */
export async function resync(db: Database, actor: Actor, module: RegistryModule): Promise<void> {
  if (module.oauthTokenId === null) throw new MissingPermission('can-resync');
  await db.transaction(async (tx) => {
    const failed = { moduleId: module.id, blobId: null, tag: { not: null }, status: { endsWith: '_failed' } };
    await tx.prisma.registryModuleVersion.updateMany({ where: failed, data: { commitSha: null } });
    await lookAtRepository(tx, module);
    await recordChange(tx, actor, changeOf(module, 'resync'));
  });
}
