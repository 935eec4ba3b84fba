import type { Prisma } from '../../../generated/prisma/client';
import { recordChange } from '../../../kernel/audit/audit';
import { type Database, still } from '../../../kernel/database/database';
import { newId } from '../../../kernel/database/ids';
import { partOfText, sameText } from '../../../kernel/database/like';
import { lockRow } from '../../../kernel/database/lock-row';
import { groupAttributes } from './attributes';
import { ScimRefusal } from './dialect';
import type { Filter } from './filter';
import { addMembers, readMembers, removeMembers } from './group-members';
import { namedOperations, type PatchOperation, placeOf } from './patch';
import { accountsIn, syncPeople } from './sync';
import type { Keeping } from './users';
import { readValue, type ScimValues } from './values';

/** A group of the directory, without its members. */
export interface ScimGroup {
  readonly id: string;
  readonly displayName: string;
  readonly externalId: string | null;
  readonly createdAt: Date;
  readonly updatedAt: Date;
}

/** One group. */
export async function find(db: Database, id: string): Promise<ScimGroup | undefined> {
  return (await db.prisma.scimGroup.findUnique({ where: { id } })) ?? undefined;
}

/** Groups, by name. Filters on names ignore case, filters on ids do not; `q` is a part of a name. */
export async function list(
  db: Database,
  { filter, q }: { filter?: Filter; q?: string },
  page: { offset: number; size: number },
): Promise<{ items: ScimGroup[]; total: number }> {
  const where: Prisma.ScimGroupWhereInput = {};
  if (filter?.attribute === 'externalId') where.externalId = filter.value;
  if (filter?.attribute === 'displayName') where.displayName = sameText(filter.value);
  if (q !== undefined) where.displayName = partOfText(q);
  const total = await db.prisma.scimGroup.count({ where });
  if (page.size === 0) return { items: [], total };
  const orderBy = [{ displayName: 'asc' as const }, { id: 'asc' as const }];
  return { items: await db.prisma.scimGroup.findMany({ where, orderBy, skip: page.offset, take: page.size }), total };
}

/** Adds a group. Throws `uniqueness` for a name or an id that another group has, `invalidValue` for unknown members. */
export async function create(keeping: Keeping, values: ScimValues): Promise<ScimGroup> {
  const { db, actor, userLimit, nowMs } = keeping;
  const { displayName, externalId } = values as { displayName: string; externalId?: string };
  const id = newId('scg');
  await db.transaction(async (tx) => {
    await requireFree(tx, { displayName, externalId });
    const at = new Date(nowMs);
    await tx.prisma.scimGroup.create({ data: { id, displayName, externalId, createdAt: at, updatedAt: at } });
    const added = await addMembers(tx, id, readMembers(values.members));
    const after = { displayName, externalId: externalId ?? null, added: added.length };
    await recordChange(tx, actor, changeOf({ id, displayName }, 'create', { after }));
    await syncPeople(tx, actor, added, userLimit);
  });
  return still(await find(db, id));
}

async function requireFree(
  tx: Database,
  { displayName, externalId }: { displayName: string; externalId?: string | null },
  except = '',
): Promise<void> {
  const others = { id: { not: except } };
  const sameName = { displayName: sameText(displayName) };
  if ((await tx.prisma.scimGroup.count({ where: { ...others, ...sameName } })) > 0)
    throw uniquenessRefusal('displayName');
  if (externalId && (await tx.prisma.scimGroup.count({ where: { ...others, externalId } })) > 0)
    throw uniquenessRefusal('externalId');
}

const uniquenessRefusal = (what: string): ScimRefusal =>
  new ScimRefusal('uniqueness', `${what} is taken by another group.`);

/** Replaces a group's attributes and members. */
export async function replace(keeping: Keeping, id: string, values: ScimValues): Promise<ScimGroup> {
  const operations: PatchOperation[] = [
    { op: 'replace', path: 'displayName', value: values.displayName },
    { op: 'replace', path: 'externalId', value: values.externalId ?? null },
    { op: 'replace', path: 'members', value: values.members ?? [] },
  ];
  return patch(keeping, id, operations);
}

/** Changes a group step by step. The cost depends on how many people join or leave, not on the size of the group. */
export async function patch(keeping: Keeping, id: string, operations: readonly PatchOperation[]): Promise<ScimGroup> {
  const { db, actor, userLimit, nowMs } = keeping;
  await db.transaction(async (tx) => {
    await lockRow(tx, 'scim_group', id);
    const before = still(await find(tx, id));
    const names = { displayName: before.displayName, externalId: before.externalId };
    const added = new Set<string>();
    const removed = new Set<string>();
    for (const operation of namedOperations(operations)) {
      const place = placeOf(operation.path, groupAttributes);
      const { attribute } = place;
      if (attribute.kind === 'readOnly') {
        // Directories send back the id that they read.
        if (operations.some(({ path }) => path === operation.path)) {
          throw new ScimRefusal('mutability', `${attribute.name} cannot be changed.`);
        }
      } else if (attribute.name === 'members') {
        const changed = await changeMembers(tx, id, operation, place);
        for (const userId of changed.added) added.add(userId);
        for (const userId of changed.removed) removed.add(userId);
      } else {
        const value = operation.op === 'remove' ? undefined : readValue(attribute, operation.value);
        if (attribute.required && value === undefined) {
          throw new ScimRefusal('invalidValue', `${attribute.name} is missing.`);
        }
        Object.assign(names, { [attribute.name]: value ?? null });
      }
    }
    await requireFree(tx, names, id);
    await tx.prisma.scimGroup.update({ where: { id }, data: { ...names, updatedAt: new Date(nowMs) } });
    const was = { displayName: before.displayName, externalId: before.externalId };
    const after = { ...names, added: added.size, removed: removed.size };
    await recordChange(tx, actor, changeOf(before, 'update', { before: was, after }));
    await syncPeople(tx, actor, [...new Set([...added, ...removed])], userLimit);
  });
  return still(await find(db, id));
}

interface Changed {
  readonly added: readonly string[];
  readonly removed: readonly string[];
}

async function changeMembers(
  tx: Database,
  id: string,
  { op, path, value: sent }: PatchOperation,
  { attribute, filter, part }: ReturnType<typeof placeOf>,
): Promise<Changed> {
  if (part !== undefined || (filter !== undefined && (filter.part !== 'value' || op !== 'remove'))) {
    throw new ScimRefusal('invalidPath', `${op} does not take ${JSON.stringify(path)}.`);
  }
  const value = readValue(attribute, sent);
  if (op === 'add') return { added: await addMembers(tx, id, readMembers(value)), removed: [] };
  if (op === 'remove') {
    if (filter !== undefined) return { added: [], removed: await removeMembers(tx, id, [filter.value]) };
    // Some directories name the members to remove in the value; without a value all are removed.
    const requestedMembers = sent === undefined || sent === null ? undefined : readMembers(value);
    return { added: [], removed: await removeMembers(tx, id, requestedMembers) };
  }
  const stay = readMembers(value);
  const removed = await removeMembers(tx, id, undefined, stay);
  return { added: await addMembers(tx, id, stay), removed };
}

/** Removes a group. Teams linked with it lose the members that it added. */
export async function remove({ db, actor, userLimit }: Keeping, group: ScimGroup): Promise<void> {
  await db.transaction(async (tx) => {
    const people = await accountsIn(tx, group.id);
    await tx.prisma.scimGroup.deleteMany({ where: { id: group.id } });
    await recordChange(tx, actor, changeOf(group, 'delete', { before: { displayName: group.displayName } }));
    await syncPeople(tx, actor, people, userLimit);
  });
}

function changeOf(
  { id, displayName }: { id: string; displayName: string },
  verb: string,
  values: { before?: Record<string, unknown>; after?: Record<string, unknown> },
) {
  const target = { type: 'scim-groups', id, name: displayName };
  return { organizationId: null, action: `scim-group.${verb}`, target, ...values };
}
