import { setTimeout as sleep } from 'node:timers/promises';
import { invalid } from '@keystead/jsonapi';
import { isStalePlan } from '@keystead/postgres';
import { Refusal } from '@keystead/refusal';
import { Prisma } from '../../generated/prisma/client';
import { patienceMs, tooMany } from './keyed-mutex';

/** Of two related rows, one was deleted between the statements that read them. */
export class TornRead extends Error {}

interface Relation {
  readonly model: string;
  /** The column of this row that refers to the other row; undefined if the reference is in the other row. */
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
    const modelName = /^model (\w+)/.exec(line)?.[1];
    if (modelName !== undefined) {
      fields = new Map();
      found.set(modelName, fields);
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

/** The unique attribute, for each unique index in which it is not the last column. */
const attributeOfIndex: ReadonlyMap<string, string> = new Map(
  Object.entries({
    organization_name_key: 'name',
    team_name_key: 'name',
    project_name_key: 'name',
    registry_module_name_key: 'name',
    registry_module_version_version_key: 'version',
    registry_provider_name_key: 'name',
    registry_provider_version_version_key: 'version',
    registry_provider_platform_version_id_os_arch_key: 'os',
    gpg_key_organization_id_key_id_key: 'asciiArmor',
    sign_in_provider_name_key: 'name',
    user_account_username_key: 'username',
    user_account_address_key: 'email',
  }),
);

interface DriverError {
  originalCode?: string;
  originalMessage?: string;
  constraint?: { fields?: string[]; index?: string };
}

/** The error of PostgreSQL, with or without Prisma; undefined for all other errors. */
function driverErrorIn(error: unknown): DriverError | undefined {
  if (error instanceof Prisma.PrismaClientKnownRequestError) {
    const meta = error.meta as { driverAdapterError?: { cause?: DriverError } } | undefined;
    return meta?.driverAdapterError?.cause ?? {};
  }
  const { severity, code, message, constraint } = (error ?? {}) as Record<string, string | undefined>;
  if (severity !== 'ERROR') return undefined;
  return { originalCode: code, originalMessage: message, constraint: { index: constraint } };
}

const codeOf = (error: unknown): unknown => (error as { code?: unknown } | undefined)?.code;

function takenAttribute({ constraint, originalMessage = '' }: DriverError): string {
  const index = constraint?.index ?? /unique constraint "([^"]+)"/.exec(originalMessage)?.[1] ?? '';
  const column = constraint?.fields?.at(-1) ?? index.replace(/_key$/, '').split('_').at(-1) ?? 'name';
  return (
    attributeOfIndex.get(index) ??
    column.replace(/"/g, '').replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase())
  );
}

/** Whether an error means that a migration has changed the result type of a prepared statement. */
export function lostToMigration(error: unknown): boolean {
  const { originalCode, originalMessage } = driverErrorIn(error) ?? {};
  return isStalePlan({ code: originalCode, message: originalMessage });
}

/**
 * Whether a statement failed because of a conflict with another transaction or a migration, so that another attempt may
 * succeed.
 */
function lostToAnother(error: unknown): boolean {
  const failure = driverErrorIn(error);
  if (lostToMigration(error)) return true;
  return (
    failure !== undefined && (codeOf(error) === 'P2034' || ['40001', '40P01'].includes(failure.originalCode ?? ''))
  );
}

/**
 * Whether a statement failed because a referenced row was deleted in the meantime, or a reference was added to a row
 * that is being deleted.
 */
function lostReference(error: unknown): boolean {
  if (error instanceof TornRead) return true;
  const failure = driverErrorIn(error);
  return failure !== undefined && (codeOf(error) === 'P2003' || failure.originalCode === '23503');
}

/**
 * Converts a database error that our own statement caused. If a name was taken, or a row was deleted or came into use
 * in the meantime, the error becomes the refusal that a slightly later request would get. All other errors are faults.
 */
export function refusalOf(error: unknown): unknown {
  if (error instanceof TornRead) return new Refusal('missing', '', [], { cause: error });
  const failure = error instanceof Refusal ? undefined : driverErrorIn(error);
  if (failure === undefined) return error;
  const code = codeOf(error);
  const options = { cause: error };
  if (code === 'P2002' || failure.originalCode === '23505')
    return invalid(takenAttribute(failure), 'has already been taken');
  if (code === 'P2025') return new Refusal('missing', '', [], options);
  if (lostReference(error)) {
    const isInUse = /update or delete on/.test(failure.originalMessage ?? '');
    return isInUse
      ? new Refusal('conflict', 'this object is in use', [], options)
      : new Refusal('missing', '', [], options);
  }
  // No connection became free, or a transaction took too long.
  if (code === 'P2024' || code === 'P2028') return tooMany(error);
  return lostToAnother(error) ? tooMany(error) : error;
}

/**
 * The maximum number of attempts. Another attempt sees which rows were deleted or added. If it also fails, the failure
 * is final.
 */
const REFERENCE_ATTEMPTS = 3;
const LONGEST_PAUSE_MS = 100;

/**
 * Repeats `run` until it no longer conflicts with other transactions. Throws refusals, and `unavailable` after the time
 * limit.
 */
export async function untilWon<T>(run: () => Promise<T>, longestMs = patienceMs): Promise<T> {
  const untilMs = performance.now() + longestMs;
  for (let attempt = 1; ; attempt++) {
    try {
      return await run();
    } catch (error) {
      const again = lostToAnother(error) || (lostReference(error) && attempt < REFERENCE_ATTEMPTS);
      if (!again || performance.now() > untilMs) throw refusalOf(error);
      // A random pause, so that conflicting transactions do not collide again at once.
      await sleep(Math.random() * Math.min(2 ** attempt, LONGEST_PAUSE_MS));
    }
  }
}
