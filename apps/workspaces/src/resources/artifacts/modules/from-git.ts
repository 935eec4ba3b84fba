import type { VcsRepository } from '../../../generated/prisma/client';
import { recordChanges, system } from '../../../kernel/audit/audit';
import type { Database } from '../../../kernel/database/database';
import { newId } from '../../../kernel/database/ids';
import { lockRow } from '../../../kernel/database/lock-row';
import type { HostTag } from '../../connections/git-hosts/git-host';
import { isHash } from '../../connections/repositories/follow';
import type { Reached } from '../../connections/repositories/repository';
import type { FetchedCommit, Publishing } from '../../runs/vcs/fetched-commit';
import { awaitCommits } from '../../runs/vcs/module-fetches';
import { findMany, findVersions, type ModuleVersion, type RegistryModule } from './module';
import { versionText } from './names';
import { mostVersions, versionChange } from './service';
import { upload } from './upload';

/** A commit that will become a version. */
interface SeenVersion {
  readonly version: string;
  readonly commitSha: string;
  readonly tag: string | null;
  /** Where the commit was found. */
  readonly ref: string;
}

/**
 * The versions among tags: the part after the prefix, with or without a v. If two tags mean the same version, the first
 * tag is used.
 */
function versionsIn(tags: readonly HostTag[], prefix: string): SeenVersion[] {
  const found = new Map<string, SeenVersion>();
  for (const { name: tag, sha: commitSha } of tags) {
    if (!tag.startsWith(prefix) || !isHash(commitSha)) continue;
    const version = tag.slice(prefix.length).replace(/^v/, '');
    const key = version.toLowerCase();
    if (!versionText.safeParse(version).success || found.has(key)) continue;
    found.set(key, { version, commitSha, tag, ref: `refs/tags/${tag}` });
  }
  return [...found.values()];
}

/**
 * Creates the versions that modules of a repository do not have yet. Any number of callers may report the same
 * versions.
 */
export async function followModules(db: Database, { row, host, api }: Reached): Promise<void> {
  const { oauthTokenId, identifier: vcsIdentifier } = row;
  const rows = await db.prisma.registryModule.findMany({
    where: { oauthTokenId, vcsIdentifier },
    select: { id: true },
  });
  if (rows.length === 0) return;
  const modules = await findMany(
    db,
    rows.map(({ id }) => id),
  );
  const tags = modules.some(({ vcsBranch }) => vcsBranch === null) ? await host.listTags(api, vcsIdentifier) : [];
  for (const module of modules) {
    const { vcsBranch: branch, initialVersion: version } = module;
    if (branch === null) await addVersions(db, row, module, versionsIn(tags, module.tagPrefix));
    else if (version !== null) {
      const { sha: commitSha = '' } = (await host.findHead(api, vcsIdentifier, branch)) ?? {};
      const candidates = isHash(commitSha) ? [{ version, commitSha, tag: null, ref: `refs/heads/${branch}` }] : [];
      await addVersions(db, row, module, candidates);
    }
  }
}

/**
 * Adds missing versions, and retries versions that were never published and whose tag has moved since. Published
 * versions do not change, even if their tag moves. Deleted versions are not created again.
 */
async function addVersions(
  db: Database,
  row: VcsRepository,
  module: RegistryModule,
  candidates: readonly SeenVersion[],
) {
  const { id: moduleId } = module;
  await db.transaction(async (tx) => {
    await lockRow(tx, 'registry_module', moduleId);
    const now = await tx.prisma.registryModule.findUnique({ where: { id: moduleId }, include: { versions: true } });
    if (now?.oauthTokenId !== row.oauthTokenId || now.vcsIdentifier !== row.identifier) return;
    const existing = new Map(now.versions.map((one) => [one.version.toLowerCase(), one]));
    const fresh = candidates
      .filter(({ version }) => !existing.has(version.toLowerCase()) && !now.withdrawn.includes(version.toLowerCase()))
      .slice(0, Math.max(0, mostVersions - existing.size));
    const moved = candidates.flatMap((one) => {
      const before = existing.get(one.version.toLowerCase());
      if (!before?.status.endsWith('_failed') || before.blobId !== null) return [];
      return before.commitSha === one.commitSha ? [] : [{ ...one, id: before.id }];
    });
    const versions = fresh.map((one) => ({ ...one, id: newId('modver') }));
    const { sourceDirectory } = now;
    await tx.prisma.registryModuleVersion.createMany({
      data: versions.map(({ id, version, commitSha, tag }) => ({
        id,
        moduleId,
        version,
        commitSha,
        tag,
        sourceDirectory,
        source: 'tfe-vcs',
        status: 'cloning',
      })),
    });
    for (const { id, commitSha, tag } of moved) {
      const data = { commitSha, tag, sourceDirectory, status: 'cloning', error: null, updatedAt: new Date() };
      await tx.prisma.registryModuleVersion.update({ where: { id }, data });
    }
    const awaited = [...versions, ...moved].map(({ id, commitSha, ref }) => ({
      moduleVersionId: id,
      commitSha,
      ref,
      submodules: true,
    }));
    await awaitCommits(tx, { id: row.id, cloneUrl: row.cloneUrl ?? '' }, awaited);
    const initialVersion = versions.some(({ version }) => version === now.initialVersion) ? null : now.initialVersion;
    await tx.prisma.registryModule.update({ where: { id: moduleId }, data: { lookedAt: new Date(), initialVersion } });
    const events = [...versions, ...moved].map(({ version }) => versionChange(module, version, 'create'));
    await recordChanges(tx, system, events);
  });
}

/** Publishes a version whose commit was fetched, and returns it. If it cannot be published, records the reason. */
export async function publishModule(
  deps: Publishing,
  id: string,
  { problem, archive }: FetchedCommit,
): Promise<ModuleVersion | undefined> {
  const { db } = deps;
  if (problem !== undefined) {
    const data = { status: 'clone_failed', error: problem, updatedAt: new Date() };
    await db.prisma.registryModuleVersion.updateMany({ where: { id, status: 'cloning' }, data });
    return undefined;
  }
  const [version] = await findVersions(db, [id]);
  const bytes = version && (await archive());
  if (!version || !bytes) return undefined;
  await upload(db, deps, system, version, bytes);
  return version;
}
