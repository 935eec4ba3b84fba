import { invalid } from '@keystead/jsonapi';
import type { Database } from '../../../kernel/database/database';
import {
  isExact,
  LATEST,
  newest,
  parseConstraint,
  shippedVersions,
  workerSilenceSeconds,
} from '../../../kernel/installation/infra-versions';

const isLive = `ended_at IS NULL AND seen_at > now() - interval '${workerSilenceSeconds} seconds'`;

const readVersions = {
  name: 'infra_versions',
  text: `SELECT k.key, (SELECT coalesce(json_agg(json_build_array(version, enabled, beta)), '[]') FROM infra_version WHERE tool = 'infra') AS versions,
                (SELECT coalesce(json_agg(DISTINCT v ORDER BY v), '[]') FROM run_worker, unnest(versions) v
                  WHERE ${isLive} AND agent_pool_id IS NULL) AS offered,
                (SELECT coalesce(json_agg(DISTINCT p.organization_id || ' ' || v ORDER BY p.organization_id || ' ' || v), '[]')
                   FROM run_worker JOIN agent_pool p ON p.id = agent_pool_id, unnest(versions) v
                  WHERE ${isLive} AND token_id IS NOT NULL) AS pooled
           FROM unnest($1::text[]) AS k(key)`,
  quick: true,
};

interface VersionsRow {
  [column: string]: unknown;
  key: string;
  versions: [version: string, enabled: boolean, beta: boolean][];
  offered: string[];
  /** The versions on agents of pools, each prefixed with the id of its organization. */
  pooled: string[];
}

/** The available versions, and the newest stable version that can run, which is the default for workspaces. */
export interface Catalogue {
  readonly versions: readonly string[];
  /** The versions on workers with a recent heartbeat. */
  readonly offered: readonly string[];
  readonly newest: string;
  /** Whether a workspace of the organization may be pinned to this exact version. */
  knows(version: string, organizationId: string): boolean;
}

/**
 * The versions that workspaces can use: the built-in versions with the administrators' changes, the versions that they
 * added, and the versions of workers.
 */
export async function catalogue(db: Database): Promise<Catalogue> {
  const stored = await db.readOne<VersionsRow>(readVersions, 'all');
  return db.remembered('infra-versions', JSON.stringify(stored), async () => {
    const { versions: listed = [], offered: workerVersions = [], pooled = [] } = stored ?? {};
    const availability = new Map([...shippedVersions, ...workerVersions].map((version) => [version, true]));
    for (const [version, isEnabled, isBeta] of listed) availability.set(version, isEnabled && !isBeta);
    const versions = [...availability].flatMap(([version, usable]) => (usable ? [version] : []));
    const offered = versions.filter((version) => workerVersions.includes(version));
    const enabled = new Map(listed.map(([version, isEnabled]) => [version, isEnabled]));
    const ofPools = new Set(pooled);
    return {
      versions,
      offered,
      newest: newest(offered) ?? newest(versions) ?? shippedVersions.at(-1)!,
      knows: (version, organizationId) =>
        enabled.get(version) ?? (availability.has(version) || ofPools.has(`${organizationId} ${version}`)),
    };
  });
}

/**
 * Accepts an exact version that the catalogue lists and enables or that a worker of the organization has, `latest`, or
 * a constraint that some version of the catalogue satisfies. The setting is stored as sent. Throws `invalid` for
 * anything else.
 */
export async function requireVersion(
  db: Database,
  text: string,
  { organizationId, loaded }: { organizationId: string; loaded?: Catalogue },
): Promise<string> {
  if (text === LATEST) return text;
  const { knows, versions } = loaded ?? (await catalogue(db));
  if (isExact(text)) {
    if (knows(text, organizationId)) return text;
    throw invalid('infraVersion', `is not available: ${text} is not an enabled version, and no worker has it`);
  }
  const allowed = parseConstraint(text);
  if (allowed === undefined) throw invalid('infraVersion', 'is neither a version nor a version constraint');
  if (newest(versions, allowed) === undefined) throw invalid('infraVersion', 'matches no available version');
  return text;
}

/**
 * The exact version for a run of a workspace: the newest version that matches its setting, if possible a version that
 * workers have.
 */
export async function resolveVersion(db: Database, text: string): Promise<string> {
  if (isExact(text)) return text;
  const available = await catalogue(db);
  if (text === LATEST) return available.newest;
  const allowed = parseConstraint(text);
  return newest(available.offered, allowed) ?? newest(available.versions, allowed) ?? available.newest;
}

/**
 * Sets the version of queued runs to the version that their workspace selects now. A speculative plan that requested
 * another version keeps that version. The caller must hold the workspace lock.
 */
export async function repinWaiting(
  tx: Database,
  workspaceId: string,
  { before, after }: { before: string; after: string },
): Promise<void> {
  if (before === after) return;
  const [was, is] = [await resolveVersion(tx, before), await resolveVersion(tx, after)];
  await tx.prisma.$executeRaw`
    UPDATE run SET infra_version = ${is} WHERE workspace_id = ${workspaceId} AND status = 'pending' AND finished_at IS NULL
       AND NOT is_assessment AND (NOT plan_only OR infra_version = ${was})`;
}
