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

const readVersions = {
  name: 'infra_versions',
  text: `SELECT k.key, (SELECT coalesce(json_agg(json_build_array(version, enabled AND NOT beta)), '[]')
                         FROM infra_version) AS versions,
                (SELECT coalesce(json_agg(DISTINCT v ORDER BY v), '[]') FROM run_worker, unnest(versions) v
                  WHERE seen_at > now() - interval '${workerSilenceSeconds} seconds' AND agent_pool_id IS NULL) AS offered
           FROM unnest($1::text[]) AS k(key)`,
  quick: true,
};

interface VersionsRow {
  [column: string]: unknown;
  key: string;
  versions: [version: string, usable: boolean][];
  offered: string[];
}

/** Versions to choose from, and the newest stable one that can be run: what a workspace gets when nobody chooses. */
export interface Catalogue {
  readonly versions: readonly string[];
  /** Those that workers have which were heard of lately. */
  readonly offered: readonly string[];
  readonly newest: string;
}

/**
 * The versions workspaces may choose from: those shipped, as administrators changed them, those they added, and those
 * that workers have.
 */
export async function catalogue(db: Database): Promise<Catalogue> {
  const stored = await db.readOne<VersionsRow>(readVersions, 'all');
  return db.remembered('infra-versions', JSON.stringify([stored?.versions, stored?.offered]), async () => {
    const known = new Map(shippedVersions.map((version) => [version, true]));
    for (const version of stored?.offered ?? []) known.set(version, true);
    for (const [version, usable] of stored?.versions ?? []) {
      known.set(version, usable);
    }
    const versions = [...known].flatMap(([version, usable]) => (usable ? [version] : []));
    const offered = versions.filter((version) => stored?.offered.includes(version));
    return { versions, offered, newest: newest(offered) ?? newest(versions) ?? shippedVersions.at(-1)! };
  });
}

/**
 * Accepts an exact version, `latest`, or a constraint that some version of the catalogue satisfies; it is kept as sent.
 * Throws `invalid` otherwise.
 */
export async function requireVersion(db: Database, text: string, known?: Catalogue): Promise<string> {
  if (text === LATEST || isExact(text)) return text;
  const allowed = parseConstraint(text);
  if (allowed === undefined) throw invalid('infraVersion', 'is no version and no version constraint');
  if (newest((known ?? (await catalogue(db))).versions, allowed) === undefined) {
    throw invalid('infraVersion', 'matches no available version');
  }
  return text;
}

/** The exact version a run gets for what its workspace asks for: the newest that matches, if possible one that workers have. */
export async function resolveVersion(db: Database, text: string): Promise<string> {
  if (isExact(text)) return text;
  const known = await catalogue(db);
  if (text === LATEST) return known.newest;
  const allowed = parseConstraint(text);
  return newest(known.offered, allowed) ?? newest(known.versions, allowed) ?? known.newest;
}
