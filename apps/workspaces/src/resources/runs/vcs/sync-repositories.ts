import { Prisma, type VcsRepository } from '../../../generated/prisma/client';
import type { SiteSettings } from '../../../kernel/endpoints/environment';
import { inSeconds } from '../../connections/git-hosts/claims';
import { pauseSeconds, quickTries } from '../../connections/git-hosts/pause';
import { Turns } from '../../connections/git-hosts/turns';
import { refresh, removeHook, repositoryClaims, takeDue } from '../../connections/repositories/hooks';
import { type Reached, reachRepository, type VcsDeps } from '../../connections/repositories/repository';
import type { Follow } from './deliveries';
import { branchMoved, branchOf, lookForTags, pullMoved, workspacesOf } from './events';

/** The maximum pause between attempts at a host that fails, unless polls are further apart. */
const longestPauseSeconds = 60;

/**
 * Maintains the repositories that are due: creates and removes webhooks, and polls for commits without an event. Safe
 * to call concurrently.
 */
export async function syncRepositories(
  deps: VcsDeps,
  settings: () => Promise<SiteSettings>,
  pollSeconds: number,
  turns = new Turns(),
  follow: Follow = async () => undefined,
): Promise<void> {
  const { db } = deps;
  await turns.each(
    50,
    (busy) => takeDue(db, busy),
    async ({ row, used }) => (used ? syncOne(deps, row, await settings(), pollSeconds, follow) : removeHook(deps, row)),
    ({ row }) => repositoryClaims.keep(db, row),
  );
}

async function syncOne(
  deps: VcsDeps,
  row: VcsRepository,
  settings: SiteSettings,
  pollSeconds: number,
  follow: Follow,
): Promise<void> {
  const { db } = deps;
  try {
    const reached = await reachRepository(deps, row);
    if (reached) {
      const fresh = { ...reached, row: await refresh(deps, reached) };
      await look(deps, fresh, settings);
      await follow(db, fresh);
    }
    await repositoryClaims.end(db, row, inSeconds(pollSeconds), Prisma.sql`attempts = 0`);
  } catch (error) {
    const problem = (error as Error).message.slice(0, 1000);
    const pause = pauseSeconds(row.attempts - quickTries, Math.max(pollSeconds, longestPauseSeconds));
    await repositoryClaims.end(db, row, inSeconds(pause), Prisma.sql`problem = ${problem}`);
  }
}

/** Reads the current positions of a repository's branches, tags and pull requests. */
async function look({ db }: VcsDeps, reached: Reached, settings: SiteSettings): Promise<void> {
  const workspaces = await workspacesOf(db, reached);
  const branches = new Set(workspaces.flatMap((one) => branchOf(one, reached) ?? []));
  for (const branch of branches) await branchMoved(db, reached, branch, { before: null, looked: true });
  await lookForTags(db, reached, workspaces);
  if (!workspaces.some(({ speculativeEnabled }) => speculativeEnabled)) return;
  const pulls = await reached.host.listPullRequests(reached.api, reached.row.identifier);
  for (const pull of pulls.filter(({ baseBranch }) => branches.has(baseBranch))) {
    await pullMoved(db, reached, pull, settings, { looked: true });
  }
}
