import { invalid, type Page } from '@keystead/jsonapi';
import { AddressRanges } from '@keystead/outside';
import { Refusal } from '@keystead/refusal';
import type { Prisma } from '../../../generated/prisma/client';
import type { Principal } from '../../../kernel/access/principal';
import { type Actor, recordChange } from '../../../kernel/audit/audit';
import { type Database, still } from '../../../kernel/database/database';
import { newId } from '../../../kernel/database/ids';
import { lockRow } from '../../../kernel/database/lock-row';

/** Who is limited by a list: everyone who uses the organization, its agents, or the agents of some pools. */
export const scopes = ['organization', 'all_agent_pools', 'selected_agent_pools'] as const;
export type Scope = (typeof scopes)[number];

const whole = {
  organization: { select: { name: true } },
  pools: { select: { agentPoolId: true }, orderBy: { agentPoolId: 'asc' } },
  ranges: { select: { id: true }, orderBy: [{ createdAt: 'asc' }, { id: 'asc' }] },
} satisfies Prisma.CidrRangeListInclude;

/** A list of ranges of addresses. */
export type AddressList = Omit<Prisma.CidrRangeListGetPayload<{ include: typeof whole }>, 'organization'> & {
  readonly organization: string;
};

/** A range of a list. */
export type AddressRange = Omit<Prisma.CidrRangeGetPayload<object>, 'organization'> & { readonly organization: string };

/** Limits on the lists of an organization and the ranges of a list. */
const mostLists = 50;
const mostRanges = 100;

const alive = { organization: { removedAt: null } };
const oldestFirst = [{ createdAt: 'asc' as const }, { id: 'asc' as const }];

async function listsWhere(db: Database, where: Prisma.CidrRangeListWhereInput, page?: Page): Promise<AddressList[]> {
  const rows = await db.prisma.cidrRangeList.findMany({
    where: { ...where, ...alive },
    include: whole,
    orderBy: oldestFirst,
    skip: page?.offset,
    take: page?.size,
  });
  return rows.map(({ organization, ...row }) => ({ ...row, organization: organization.name }));
}

async function rangesWhere(db: Database, where: Prisma.CidrRangeWhereInput, page?: Page): Promise<AddressRange[]> {
  const rows = await db.prisma.cidrRange.findMany({
    where: { ...where, list: alive },
    include: { list: { select: { organization: { select: { name: true } } } } },
    orderBy: oldestFirst,
    skip: page?.offset,
    take: page?.size,
  });
  return rows.map(({ list, ...row }) => ({ ...row, organization: list.organization.name }));
}

/** Lists by id, in no particular order. */
export const findLists = (db: Database, ids: readonly string[]) => listsWhere(db, { id: { in: [...ids] } });

/** Ranges by id, in no particular order. */
export const findRanges = (db: Database, ids: readonly string[]) => rangesWhere(db, { id: { in: [...ids] } });

/** A page of the lists of an organization, oldest first. */
export const pageOfLists = async (db: Database, organizationId: string, page: Page) => ({
  items: await listsWhere(db, { organizationId }, page),
  total: await db.prisma.cidrRangeList.count({ where: { organizationId } }),
});

/** A page of the ranges of a list, oldest first. */
export const pageOfRanges = async (db: Database, listId: string, page: Page) => ({
  items: await rangesWhere(db, { listId }, page),
  total: await db.prisma.cidrRange.count({ where: { listId } }),
});

/** The caller who changes a list, with the address of the request. */
export interface Changer {
  readonly actor: Actor;
  readonly principal: Principal;
}

/** Runs a change of lists, one change at a time. Throws `invalid` for a change that would lock out its caller. */
async function changing<T>(
  db: Database,
  { principal }: Changer,
  organizationId: string,
  change: (tx: Database) => Promise<T>,
): Promise<T> {
  return db.transaction(async (tx) => {
    await lockRow(tx, 'organization', organizationId);
    const result = await change(tx);
    const { address, siteAdmin } = principal;
    const list = { organizationId, enforcementScope: 'organization' };
    const remaining = await tx.prisma.cidrRange.findMany({ where: { enabled: true, list }, select: { range: true } });
    const isShutOut =
      remaining.length > 0 && !new AddressRanges(remaining.map(({ range }) => range)).has(address ?? '');
    if (isShutOut && !siteAdmin) {
      throw new Refusal('invalid', `this change would block your own address ${address}`);
    }
    return result;
  });
}

const changeOf = ({ id, organizationId, name }: AddressList, verb: string) => ({
  organizationId,
  action: `cidr-range-list.${verb}`,
  target: { type: 'cidr-range-lists', id, name },
});
const factsOf = ({ name, description, enforcementScope, pools }: AddressList) => ({
  name,
  description,
  enforcementScope,
  agentPools: pools.map(({ agentPoolId }) => agentPoolId),
});

/** Throws `invalid` for pools of other organizations. */
async function requirePools(tx: Database, organizationId: string, ids: readonly string[]): Promise<void> {
  const found = await tx.prisma.agentPool.count({ where: { id: { in: [...ids] }, organizationId } });
  if (found < new Set(ids).size) throw invalid('agentPools', 'were not all found');
}

/** The settings of a list in a request. */
export interface ListInput {
  readonly name?: string;
  readonly description?: string;
  readonly enforcementScope?: Scope;
  readonly poolIds?: readonly string[];
}

/** Creates a list without ranges, which limits no one. */
export function createList(
  db: Database,
  by: Changer,
  organizationId: string,
  { poolIds = [], ...input }: ListInput & { readonly name: string },
): Promise<AddressList> {
  return changing(db, by, organizationId, async (tx) => {
    if ((await tx.prisma.cidrRangeList.count({ where: { organizationId } })) >= mostLists) {
      throw invalid('name', `has reached its limit: an organization can have at most ${mostLists} address lists`);
    }
    await requirePools(tx, organizationId, poolIds);
    const id = newId('cidrl');
    const pools = { create: [...new Set(poolIds)].map((agentPoolId) => ({ agentPoolId })) };
    await tx.prisma.cidrRangeList.create({ data: { ...input, id, organizationId, pools } });
    const list = still((await findLists(tx, [id]))[0]);
    await recordChange(tx, by.actor, { ...changeOf(list, 'create'), after: factsOf(list) });
    return list;
  });
}

/** Changes a list; a list of pools replaces the existing one. */
export function updateList(db: Database, by: Changer, list: AddressList, { poolIds, ...input }: ListInput) {
  return changed(db, by, list, async (tx) => {
    if (poolIds) {
      await requirePools(tx, list.organizationId, poolIds);
      await tx.prisma.cidrRangeListPool.deleteMany({ where: { listId: list.id } });
    }
    const pools = poolIds && { create: [...new Set(poolIds)].map((agentPoolId) => ({ agentPoolId })) };
    await tx.prisma.cidrRangeList.update({ where: { id: list.id }, data: { ...input, pools, updatedAt: new Date() } });
  });
}

/** Adds a list to pools, or removes it from them. */
export function changePools(
  db: Database,
  by: Changer,
  list: AddressList,
  how: 'add' | 'remove',
  ids: readonly string[],
) {
  return changed(db, by, list, async (tx) => {
    const rows = ids.map((agentPoolId) => ({ listId: list.id, agentPoolId }));
    if (how === 'remove') {
      await tx.prisma.cidrRangeListPool.deleteMany({ where: { listId: list.id, agentPoolId: { in: [...ids] } } });
    } else {
      await requirePools(tx, list.organizationId, ids);
      await tx.prisma.cidrRangeListPool.createMany({ data: rows, skipDuplicates: true });
    }
  });
}

function changed(db: Database, by: Changer, list: AddressList, change: (tx: Database) => Promise<void>) {
  return changing(db, by, list.organizationId, async (tx) => {
    const before = still((await findLists(tx, [list.id]))[0]);
    await change(tx);
    const after = still((await findLists(tx, [list.id]))[0]);
    await recordChange(tx, by.actor, { ...changeOf(after, 'update'), before: factsOf(before), after: factsOf(after) });
    return after;
  });
}

/** Deletes a list with its ranges. */
export function removeList(db: Database, by: Changer, list: AddressList): Promise<void> {
  return changing(db, by, list.organizationId, async (tx) => {
    const { count } = await tx.prisma.cidrRangeList.deleteMany({ where: { id: list.id } });
    if (count > 0) await recordChange(tx, by.actor, { ...changeOf(list, 'delete'), before: factsOf(list) });
  });
}

/** A range in a request. */
export interface RangeInput {
  readonly range?: string;
  readonly description?: string | null;
  readonly enabled?: boolean;
}

const rangeChange = ({ id, organizationId, range }: AddressRange, verb: string) => ({
  organizationId,
  action: `cidr-range.${verb}`,
  target: { type: 'cidr-ranges', id, name: range },
});
const rangeFacts = ({ range, description, enabled, listId }: AddressRange) => ({ range, description, enabled, listId });

/** Adds a range to a list. */
export function createRange(
  db: Database,
  by: Changer,
  { id: listId, organizationId }: AddressList,
  input: RangeInput & { readonly range: string; readonly enabled: boolean },
): Promise<AddressRange> {
  return changing(db, by, organizationId, async (tx) => {
    still((await findLists(tx, [listId]))[0]);
    if ((await tx.prisma.cidrRange.count({ where: { listId } })) >= mostRanges) {
      throw invalid('range', `has reached its limit: an address list can have at most ${mostRanges} ranges`);
    }
    const id = newId('cidr');
    await tx.prisma.cidrRange.create({ data: { ...input, id, listId, organizationId } });
    const range = still((await findRanges(tx, [id]))[0]);
    await recordChange(tx, by.actor, { ...rangeChange(range, 'create'), after: rangeFacts(range) });
    return range;
  });
}

/** Changes a range. */
export function updateRange(db: Database, by: Changer, { id, organizationId }: AddressRange, input: RangeInput) {
  return changing(db, by, organizationId, async (tx) => {
    const before = still((await findRanges(tx, [id]))[0]);
    await tx.prisma.cidrRange.update({ where: { id }, data: { ...input, updatedAt: new Date() } });
    const after = still((await findRanges(tx, [id]))[0]);
    const facts = { before: rangeFacts(before), after: rangeFacts(after) };
    await recordChange(tx, by.actor, { ...rangeChange(after, 'update'), ...facts });
    return after;
  });
}

/** Removes a range from its list. */
export function removeRange(db: Database, by: Changer, range: AddressRange): Promise<void> {
  return changing(db, by, range.organizationId, async (tx) => {
    const { count } = await tx.prisma.cidrRange.deleteMany({ where: { id: range.id } });
    if (count > 0) await recordChange(tx, by.actor, { ...rangeChange(range, 'delete'), before: rangeFacts(range) });
  });
}
