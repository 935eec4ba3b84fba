import { isRefusal } from '@keystead/refusal';
import { Prisma } from '../../../generated/prisma/client';
import { readBlob } from '../../../kernel/blobs/blobs';
import type { Database } from '../../../kernel/database/database';
import { Claims, inSeconds, keptFor } from '../../connections/git-hosts/claims';
import { pauseSeconds } from '../../connections/git-hosts/pause';
import { Turns } from '../../connections/git-hosts/turns';
import type { Reached } from '../../connections/repositories/repository';
import type { FetchedCommit, Publishing } from '../../runs/vcs/fetched-commit';
import { testVersion } from '../module-tests/service';
import { followModules, publishModule } from '../modules/from-git';
import { followPolicySets, publishSetVersion } from '../policies/from-git';

/**
 * Creates versions for the commits and tags of a repository that have no version yet. Several callers may report the
 * same commits and tags.
 */
export async function followArtifacts(db: Database, reached: Reached): Promise<void> {
  await followModules(db, reached);
  await followPolicySets(db, reached);
}

interface Fetched {
  readonly module_version_id: string | null;
  readonly policy_set_version_id: string | null;
  readonly status: 'fetched' | 'failed';
  readonly problem: string | null;
  readonly blob_id: string | null;
}

const claims = new Claims({
  table: 'module_fetch',
  keys: ['id'],
  lease: keptFor,
  owner: 'vcs_repository y ON y.id = x.repository_id',
  only: "x.status <> 'fetching'",
});

/**
 * Publishes the versions whose commits were fetched, and records why the others failed. Several callers may run this at
 * the same time.
 */
export function publishFetched(deps: Publishing, turns = new Turns()): Promise<void> {
  const { db } = deps;
  const columns = Prisma.sql`x.module_version_id, x.policy_set_version_id, x.status, x.problem, x.blob_id`;
  return turns.each(
    50,
    (busy) => claims.take<Fetched>(db, busy, columns),
    async (row) => {
      try {
        await publishOne(deps, row);
        await claims.remove(db, row);
      } catch (error) {
        const problem = (error as Error).message.slice(0, 1000);
        await claims.end(db, row, inSeconds(pauseSeconds(row.attempts)), Prisma.sql`problem = ${problem}`);
      }
    },
    (row) => claims.keep(db, row),
  );
}

async function publishOne(deps: Publishing, row: Fetched): Promise<void> {
  const { module_version_id: moduleVersion, policy_set_version_id: setVersion, status, problem, blob_id: blob } = row;
  const fetched: FetchedCommit = {
    ...(status === 'failed' ? { problem: problem ?? '' } : {}),
    archive: async () => (blob ? readBlob(deps.db, deps.keyring, blob) : undefined),
  };
  try {
    if (moduleVersion !== null) {
      const published = await publishModule(deps, moduleVersion, fetched);
      if (published) await testVersion(deps.db, deps.keyring, published);
    }
    if (setVersion !== null) await publishSetVersion(deps, setVersion, fetched);
  } catch (refusal) {
    // The reason of a failure is stored with the version.
    if (!isRefusal(refusal) || !['invalid', 'too-large'].includes(refusal.kind)) throw refusal;
  }
}
