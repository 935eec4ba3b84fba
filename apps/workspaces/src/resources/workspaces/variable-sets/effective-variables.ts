import type { Keyring } from '@keystead/keyring';
import type { Database } from '../../../kernel/database/database';
import { findMany, list } from '../variables/service';
import type { Variable } from '../variables/variable';

/** A stored variable, with its rank among variables with the same key. The highest rank takes precedence. */
export interface Candidate {
  readonly id: string;
  readonly key: string;
  readonly category: string;
  readonly value: string | null;
  readonly sealed: Uint8Array | null;
  readonly hcl: boolean;
  readonly sensitive: boolean;
  readonly rank: number;
}

/** The value of a variable, decrypted if it is sealed. */
export function openValue(keyring: Keyring, { id, value, sealed }: Candidate): string {
  const at = { table: 'variable', row: id, column: 'sealed' };
  return sealed === null ? (value ?? '') : keyring.open(sealed, at).toString('utf8');
}

/**
 * All variables that apply to a workspace. The ranks, from the lowest: global sets, sets of projects, sets of
 * workspaces, the workspace itself, (the run,) then sets with priority. Among sets with priority, a wider scope has a
 * higher rank. Among sets of the same rank, the first by name takes precedence. A set that a project owns never applies
 * outside the project, even if it was assigned there.
 */
export async function candidates(db: Database, workspaceId: string): Promise<Candidate[]> {
  return db.prisma.$queryRaw<Candidate[]>`
    WITH reaching AS (
      SELECT s.id, s.name, s.priority,
             CASE WHEN s.global THEN 1 WHEN vp.project_id IS NOT NULL AND vw.workspace_id IS NULL THEN 2 ELSE 3 END AS width
        FROM workspace w
        JOIN variable_set s ON s.organization_id = w.organization_id
        LEFT JOIN variable_set_workspace vw ON vw.variable_set_id = s.id AND vw.workspace_id = w.id
        LEFT JOIN variable_set_project vp ON vp.variable_set_id = s.id AND vp.project_id = w.project_id
       WHERE w.id = ${workspaceId}
         AND (s.parent_project_id IS NULL OR (NOT s.global AND s.parent_project_id = w.project_id))
         AND (s.global OR vw.workspace_id IS NOT NULL OR vp.project_id IS NOT NULL))
    SELECT v.id, v.key, v.category, v.value, v.sealed, v.hcl, v.sensitive,
           CASE WHEN v.workspace_id IS NOT NULL THEN 4 WHEN r.priority THEN 9 - r.width ELSE r.width END AS rank
      FROM variable v LEFT JOIN reaching r ON r.id = v.variable_set_id
     WHERE v.workspace_id = ${workspaceId} OR r.id IS NOT NULL
     ORDER BY rank, r.name COLLATE "C" DESC NULLS LAST, v.id`;
}

/**
 * The source of a value: the workspace itself, or a set assigned to the workspace, to its project, or to all
 * workspaces.
 */
export type Origin = 'workspace' | 'workspace-varset' | 'project-varset' | 'global-varset';

/** One of the values of a key, with its source. `set` is undefined for the workspace's own value. */
export interface Source {
  readonly origin: Origin;
  readonly priority: boolean;
  readonly set: { readonly id: string; readonly name: string } | undefined;
}

/** The effective variable of a key, and the variables that it overrides, the one with the highest rank first. */
export interface EffectiveVariable extends Source {
  readonly organizationId: string;
  readonly variable: Variable;
  readonly hides: readonly (Source & { readonly variableId: string })[];
}

const origins: readonly Origin[] = ['global-varset', 'project-varset', 'workspace-varset', 'workspace'];
const ownRank = 4;

/** The values of a workspace's runs, with their sources and the values that they override, by category and key. */
export async function effectiveVariables(
  db: Database,
  { id, organizationId }: { readonly id: string; readonly organizationId: string },
): Promise<EffectiveVariable[]> {
  const byKey = new Map<string, Candidate[]>();
  for (const one of await candidates(db, id)) {
    const key = `${one.category} ${one.key}`;
    byKey.set(key, [one, ...(byKey.get(key) ?? [])]);
  }
  const found = await findMany(
    db,
    [...byKey.values()].flatMap((all) => all.map((one) => one.id)),
  );
  const variables = new Map(found.map((variable) => [variable.id, variable]));
  const setIds = found.flatMap(({ variableSetId }) => variableSetId ?? []);
  const sets = await db.prisma.variableSet.findMany({
    where: { id: { in: setIds } },
    select: { id: true, name: true },
  });
  const sourceOf = ({ id: variableId, rank }: Candidate): Source & { variableId: string } => ({
    variableId,
    origin: origins[(rank > ownRank ? 9 - rank : rank) - 1]!,
    priority: rank > ownRank,
    set: sets.find((set) => set.id === variables.get(variableId)?.variableSetId),
  });
  const texts = [...byKey.keys()].sort();
  return texts.flatMap((text) => {
    const [strongest, ...hidden] = byKey.get(text)!;
    const variable = variables.get(strongest!.id);
    if (variable === undefined) return [];
    return { ...sourceOf(strongest!), organizationId, variable, hides: hidden.map(sourceOf) };
  });
}

/**
 * The variables of a set as they apply to a workspace, each with the variable that overrides it and the variables that
 * it overrides.
 */
export async function variablesWithOverrides(
  db: Database,
  workspace: { readonly id: string; readonly organizationId: string },
  variableSetId: string,
): Promise<Variable[]> {
  const { items } = await list(db, { organizationId: workspace.organizationId, variableSetId });
  const effective = await effectiveVariables(db, workspace);
  const chains = effective.map(({ variable, hides }) => [variable.id, ...hides.map(({ variableId }) => variableId)]);
  return items.map((variable) => {
    const chain = chains.find((ids) => ids.includes(variable.id)) ?? [variable.id];
    const place = chain.indexOf(variable.id);
    return {
      ...variable,
      precedence: { overwriter: place > 0 ? chain[0]! : null, overwritten: chain.slice(place + 1) },
    };
  });
}

/**
 * The effective variables of a workspace, its own and those of sets: one variable for each key and category, sorted by
 * key.
 */
export async function finalVariables(db: Database, workspaceId: string): Promise<Variable[]> {
  const counting = new Map<string, string>();
  for (const { id, key, category } of await candidates(db, workspaceId)) counting.set(`${category} ${key}`, id);
  const found = await findMany(db, [...counting.values()]);
  return found.sort((one, other) => (one.key < other.key ? -1 : one.key > other.key ? 1 : one.id < other.id ? -1 : 1));
}
