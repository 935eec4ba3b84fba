/** A related row was deleted between the two statements that read it and its owner. */
export class TornRead extends Error {}

interface Relation {
  readonly model: string;
  /** The column that refers to the other row; undefined if the other row refers to this one. */
  readonly key: string | undefined;
  readonly required: boolean;
}
/** The relations of each model by name. */
export type Relations = ReadonlyMap<string, ReadonlyMap<string, Relation>>;
interface Chosen {
  readonly include?: Readonly<Record<string, unknown>> | null;
  readonly select?: Readonly<Record<string, unknown>> | null;
}

/** Reads the relations from the schema of a Prisma client. */
export function relationsOf(schema: string): Relations {
  const names = new Set([...schema.matchAll(/^model (\w+)/gm)].map(([, name]) => name!));
  const found = new Map<string, Map<string, Relation>>();
  let fields: Map<string, Relation> | undefined;
  for (const line of schema.split('\n')) {
    const begun = /^model (\w+)/.exec(line)?.[1];
    if (begun !== undefined) {
      fields = new Map();
      found.set(begun, fields);
    }
    const [, name, model, many] = /^ +(\w+) +(\w+)(\[\]|\?)?(?: |$)/.exec(line) ?? [];
    if (name === undefined || model === undefined || !names.has(model)) continue;
    const key = /@relation\([^)]*fields: \[(\w+)\]/.exec(line)?.[1];
    fields?.set(name, { model, key, required: many === undefined });
  }
  return found;
}

/**
 * Whether a row refers to another requested row that is missing. If it was deleted between two statements, neither row
 * exists.
 */
export function isTorn(relations: Relations, model: string, args: Chosen, value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return false;
  if (Array.isArray(value)) return value.some((row) => isTorn(relations, model, args, row));
  const row = value as Readonly<Record<string, unknown>>;
  for (const [name, inner] of Object.entries({ ...args.include, ...args.select })) {
    const relation = inner ? relations.get(model)?.get(name) : undefined;
    if (relation === undefined) continue;
    const { key, required } = relation;
    if (row[name] === null && key !== undefined && (required || (row[key] ?? null) !== null)) return true;
    if (isTorn(relations, relation.model, inner as Chosen, row[name])) return true;
  }
  return false;
}
