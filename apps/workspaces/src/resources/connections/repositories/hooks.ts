import { Prisma, type VcsRepository } from '../../../generated/prisma/client';
import type { Database } from '../../../kernel/database/database';
import { Claims, inSeconds, keptFor } from '../git-hosts/claims';
import { HostRefused } from '../git-hosts/host-api';
import { pauseSeconds } from '../git-hosts/pause';
import type { OwnedWork } from '../git-hosts/turns';
import {
  factsOf,
  hookSecretOf,
  keepRepository,
  type Reached,
  reachRepository,
  type VcsDeps,
  webhookUrl,
} from './repository';

/** The maximum number of attempts to remove a webhook from a host. They take more than a week. */
const mostRemovals = 40;

/** The tables whose rows follow repositories. */
const followers = ['workspace', 'registry_module', 'policy_set'] as const;

/**
 * Adds rows for followed repositories that have no row, because an older version connected them or an older node
 * removed the row.
 */
export async function adoptRepositories({ db, keyring }: VcsDeps): Promise<void> {
  const rows = await db.prisma.$queryRawUnsafe<{ token: string; identifier: string }[]>(
    followers
      .map(
        (table) => `(SELECT DISTINCT w.oauth_token_id AS token, w.vcs_identifier AS identifier FROM ${table} w
     WHERE w.oauth_token_id IS NOT NULL AND w.vcs_identifier IS NOT NULL AND NOT EXISTS (
       SELECT 1 FROM vcs_repository v WHERE v.oauth_token_id = w.oauth_token_id AND v.identifier = w.vcs_identifier)
     LIMIT 20)`,
      )
      .join(' UNION '),
  );
  for (const { token, identifier } of rows) {
    await keepRepository(db, keyring, { tokenId: token, identifier }, undefined);
  }
}

const isUsed = (alias: string) =>
  `(${followers
    .map(
      (table) => `EXISTS (SELECT 1 FROM ${table} u
    WHERE u.oauth_token_id = ${alias}.oauth_token_id AND u.vcs_identifier = ${alias}.identifier)`,
    )
    .join(' OR ')})`;

/** Claims on repositories. */
export const repositoryClaims = new Claims({ table: 'vcs_repository', keys: ['id'], lease: keptFor });

/**
 * Claims the repository that has been due longest. `used` means that a workspace, a module or a policy set is connected
 * to it.
 */
export async function takeDue(
  db: Database,
  busy: string[],
): Promise<(OwnedWork & { row: VcsRepository; used: boolean })[]> {
  const columns = Prisma.sql`${Prisma.raw(isUsed('x'))} AS used`;
  const [claimedRow] = await repositoryClaims.take<{ used: boolean }>(db, busy, columns);
  if (!claimedRow) return [];
  const row = await db.prisma.vcsRepository.findUnique({ where: { id: claimedRow.id } });
  return row
    ? [{ row: { ...row, claim: claimedRow.claim }, used: claimedRow.used, organization_id: row.organizationId }]
    : [];
}

/** Removes the webhook of a repository without connections, and deletes its row. Retried later if the host is down. */
export async function removeHook(deps: VcsDeps, row: VcsRepository): Promise<void> {
  const { db } = deps;
  const reached = await reachRepository(deps, row);
  try {
    if (row.hookId !== null) await reached?.host.deleteHook(reached.api, row.identifier, row.hookId);
  } catch (error) {
    const attempts = row.orphanedAt === null ? 1 : row.attempts;
    if (attempts < mostRemovals) {
      const problem = (error as Error).message.slice(0, 1000);
      await repositoryClaims.end(
        db,
        row,
        inSeconds(pauseSeconds(attempts)),
        Prisma.sql`attempts = ${attempts}, problem = ${problem}, orphaned_at = coalesce(orphaned_at, now())`,
      );
      return;
    }
  }
  // A workspace may have been connected to it in the meantime, with a new webhook.
  await db.prisma.$executeRawUnsafe(
    `DELETE FROM vcs_repository v WHERE v.id = $1 AND v.hook_id IS NOT DISTINCT FROM $2 AND NOT ${isUsed('v')}`,
    row.id,
    row.hookId,
  );
  await db.prisma.vcsRepository.updateMany({
    where: { id: row.id, hookId: row.hookId },
    data: { hookId: null, orphanedAt: null, nextAt: new Date(0) },
  });
}

/**
 * Reads a repository's data from the host, and creates its webhook if there is none. Returns the updated row of the
 * repository.
 */
export async function refresh(deps: VcsDeps, { row, host, api }: Reached): Promise<VcsRepository> {
  const facts = factsOf(await host.findRepository(api, row.identifier));
  const { db } = deps;
  await db.prisma.vcsRepository.updateMany({ where: { id: row.id }, data: { ...facts, problem: null } });
  if (row.hookId !== null) return { ...row, ...facts };
  const hook = { url: webhookUrl(deps.publicUrl, row.id), secret: hookSecretOf(deps.keyring, row) };
  try {
    const hookId = await host.createHook(api, row.identifier, hook);
    await db.prisma.vcsRepository.updateMany({ where: { id: row.id }, data: { hookId, hookAttempts: 0 } });
    return { ...row, ...facts, hookId };
  } catch (error) {
    // A repository without a webhook is polled from time to time.
    if (!(error instanceof HostRefused)) throw error;
    const problem = `no webhook could be made: ${error.message}`.slice(0, 1000);
    await db.prisma.vcsRepository.updateMany({
      where: { id: row.id },
      data: { problem, hookAttempts: { increment: 1 } },
    });
    return { ...row, ...facts, problem };
  }
}
