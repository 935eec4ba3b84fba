import { invalid } from '@keystead/jsonapi';
import type { Database } from '../../kernel/database';
import { isExact, LATEST, newest, parseConstraint, shippedVersions } from '../../kernel/infra-versions';

/** The versions workspaces may choose from: those shipped, as administrators changed them, and those they added. */
async function catalogue(db: Database): Promise<string[]> {
  const stored = await db.prisma.infraVersion.findMany({ select: { version: true, enabled: true, beta: true } });
  const known = new Map(shippedVersions.map((version) => [version, true]));
  for (const { version, enabled, beta } of stored) {
    known.set(version, enabled && !beta);
  }
  return [...known].flatMap(([version, usable]) => (usable ? [version] : []));
}

/** The version a workspace gets when nobody chooses: the newest stable one. */
export async function defaultVersion(db: Database): Promise<string> {
  return newest(await catalogue(db)) ?? shippedVersions.at(-1)!;
}

/**
 * Accepts an exact version, `latest`, or a constraint that some version of the catalogue satisfies; it is kept as sent.
 * Throws `invalid` otherwise.
 */
export async function requireVersion(db: Database, text: string): Promise<string> {
  if (text === LATEST || isExact(text)) {
    return text;
  }
  const allowed = parseConstraint(text);
  if (allowed === undefined) {
    throw invalid('infraVersion', 'is no version and no version constraint');
  }
  if (newest(await catalogue(db), allowed) === undefined) {
    throw invalid('infraVersion', 'matches no available version');
  }
  return text;
}
