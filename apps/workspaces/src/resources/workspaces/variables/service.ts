import { randomBase62 } from '@keystead/auth';
import { invalid, invalidAll, issuesAt } from '@keystead/jsonapi';
import type { Keyring } from '@keystead/keyring';
import { isRefusal, notFound } from '@keystead/refusal';
import { Prisma } from '../../../generated/prisma/client';
import { type Actor, recordChange } from '../../../kernel/audit/audit';
import type { Database } from '../../../kernel/database/database';
import { newId } from '../../../kernel/database/ids';
import { lockRow } from '../../../kernel/database/lock-row';
import { refusalOf } from '../../../kernel/database/lost-races';
import { variableAttributes } from './attributes';
import type { VariableInput } from './schema';
import type { Variable } from './variable';

/** The owner of variables: a workspace, a variable set, a policy set (its parameters), or a module (for its tests). */
export interface Owner {
  readonly organizationId: string;
  readonly workspaceId?: string;
  readonly variableSetId?: string;
  readonly policySetId?: string;
  readonly moduleId?: string;
}

const placeOf = ({ workspaceId, variableSetId, policySetId, moduleId }: Owner) => ({
  workspaceId,
  variableSetId,
  policySetId,
  moduleId,
});

const { initial, plain } = variableAttributes;
const withoutSealed = { sealed: true } as const;
const byAge = [{ createdAt: 'asc' }, { id: 'asc' }] as const;
const VERSION_LENGTH = 32;

/** Variables by id; unknown ids are left out. */
export async function findMany(db: Database, ids: readonly string[]): Promise<Variable[]> {
  return db.prisma.variable.findMany({ where: { id: { in: [...ids] } }, omit: withoutSealed });
}

/** One variable of an owner. */
export async function findOf(db: Database, owner: Owner, id: string): Promise<Variable | undefined> {
  const row = await db.prisma.variable.findFirst({ where: { id, ...placeOf(owner) }, omit: withoutSealed });
  return row ?? undefined;
}

/** The variables of an owner, oldest first; without a page, all of them. */
export async function list(
  db: Database,
  owner: Owner,
  page?: { offset: number; size: number },
): Promise<{ items: Variable[]; total?: number }> {
  const where = placeOf(owner);
  const items = await db.prisma.variable.findMany({
    where,
    omit: withoutSealed,
    orderBy: [...byAge],
    skip: page?.offset,
    take: page?.size,
  });
  return page ? { items, total: await db.prisma.variable.count({ where }) } : { items };
}

/** Creates a variable. Throws `invalid` if the owner already has a variable with this key and category. */
export async function create(
  db: Database,
  keyring: Keyring,
  actor: Actor,
  owner: Owner,
  input: VariableInput,
): Promise<Variable> {
  const id = newId('var');
  const sensitive = input.sensitive ?? false;
  return db.transaction(async (tx) => {
    const variable = await tx.prisma.variable.create({
      data: {
        id,
        ...placeOf(owner),
        ...initial,
        ...plain(input),
        versionId: randomBase62(VERSION_LENGTH),
        ...valueColumns(keyring, id, sensitive, input.value ?? ''),
      },
      omit: withoutSealed,
    });
    await touchSet(tx, owner);
    await recordChange(tx, actor, { ...changeOf(owner, variable, 'create'), after: shown(variable) });
    return variable;
  });
}

/**
 * Changes the given fields. Throws `invalid` if this would make a sensitive variable readable, or change its key
 * without a new value, because the caller may not know the old value.
 */
export async function update(
  db: Database,
  keyring: Keyring,
  actor: Actor,
  owner: Owner,
  id: string,
  input: VariableInput,
): Promise<Variable> {
  return db.transaction(async (tx) => {
    await lockRow(tx, 'variable', id);
    const before = await findOf(tx, owner, id);
    if (!before) throw notFound();
    const sensitive = input.sensitive ?? before.sensitive;
    const value = input.value ?? (sensitive && !before.sensitive ? (before.value ?? '') : undefined);
    if (before.sensitive && !sensitive) throw invalid('sensitive', 'cannot be turned off: the value would be readable');
    if (before.sensitive && input.key !== undefined && input.key !== before.key && value === undefined) {
      throw invalid('key', 'of a sensitive variable cannot be changed without sending its value again');
    }
    const variable = await tx.prisma.variable.update({
      where: { id },
      data: {
        ...plain(input),
        versionId: randomBase62(VERSION_LENGTH),
        ...(value === undefined ? {} : valueColumns(keyring, id, sensitive, value)),
      },
      omit: withoutSealed,
    });
    await touchSet(tx, owner);
    const change = changeOf(owner, variable, 'update');
    const valueInEvent = value === undefined || value === before.value ? notShown : '(changed)';
    await recordChange(tx, actor, { ...change, before: shown(before), after: shown(variable, valueInEvent) });
    if (sensitive && !before.sensitive) await forgetValues(tx, owner, id);
    return variable;
  });
}

/**
 * Changes either all of the given variables or none. Throws `invalid` with the position of the first variable that
 * cannot be changed.
 */
export async function updateSeveral(
  db: Database,
  keyring: Keyring,
  actor: Actor,
  owner: Owner,
  changes: readonly { readonly id: string; readonly value: VariableInput }[],
): Promise<void> {
  const indexed = changes.map((change, index) => ({ ...change, index }));
  // Always in the same order, because two such requests could otherwise deadlock.
  indexed.sort((one, other) => (one.id < other.id ? -1 : 1));
  await db.transaction(async (tx) => {
    for (const { id, value, index } of indexed) {
      try {
        await update(tx, keyring, actor, owner, id, value);
      } catch (error) {
        const refusal = refusalOf(error);
        if (isRefusal(refusal) && refusal.kind === 'invalid') throw invalidAll(issuesAt(index, refusal));
        if (!isRefusal(refusal) || refusal.kind !== 'missing') throw error;
        throw invalid(['data', String(index), 'id'], 'was not found');
      }
    }
  });
}

/** Deletes a variable. */
export async function remove(db: Database, actor: Actor, owner: Owner, variable: Variable): Promise<void> {
  await db.transaction(async (tx) => {
    await tx.prisma.variable.deleteMany({ where: { id: variable.id } });
    await touchSet(tx, owner);
    await recordChange(tx, actor, { ...changeOf(owner, variable, 'delete'), before: shown(variable) });
  });
}

// A variable set shows when its variables last changed.
async function touchSet(tx: Database, { variableSetId }: Owner): Promise<void> {
  if (variableSetId === undefined) return;
  await tx.prisma.variableSet.update({ where: { id: variableSetId }, data: { updatedAt: new Date() } });
}

function valueColumns(keyring: Keyring, id: string, sensitive: boolean, value: string) {
  if (!sensitive) return { value, sealed: null };
  const at = { table: 'variable', row: id, column: 'sealed' };
  return { value: null, sealed: new Uint8Array(keyring.seal(Buffer.from(value, 'utf8'), at)) };
}

const notShown = '(not shown)';

// A variable in an audit event. It has no value, because a plain value may become sensitive later, and events are kept.
function shown(variable: Variable, value = notShown) {
  return { ...variableAttributes.stored(variable), value, versionId: variable.versionId };
}

/**
 * Removes a variable's value from audit events in which an earlier version of this service recorded it. A node with
 * such a version may still have been running.
 */
async function forgetValues(tx: Database, { organizationId }: Owner, id: string): Promise<void> {
  const without = (column: Prisma.Sql) =>
    Prisma.sql`CASE WHEN ${column} ? 'value' THEN jsonb_set(${column}, '{value}', '"(not shown)"') ELSE ${column} END`;
  const [before, after] = [Prisma.sql`before`, Prisma.sql`after`];
  await tx.prisma.$executeRaw`
    UPDATE audit_event SET before = ${without(before)}, after = ${without(after)}
     WHERE organization_id = ${organizationId} AND target_type = 'vars' AND target_id = ${id}
       AND coalesce(before ->> 'value', ${notShown}) || coalesce(after ->> 'value', ${notShown})
           NOT IN (${notShown + notShown}, ${`${notShown}(changed)`})`;
}

function changeOf({ organizationId }: Owner, { id, key }: Variable, verb: string) {
  return { organizationId, action: `variable.${verb}`, target: { type: 'vars', id, name: key } };
}
