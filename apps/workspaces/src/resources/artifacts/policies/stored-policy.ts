import { invalid, type Page } from '@keystead/jsonapi';
import { notFound } from '@keystead/refusal';
import { z } from 'zod';
import type { Policy as Row } from '../../../generated/prisma/client';
import { type Actor, recordChange } from '../../../kernel/audit/audit';
import { type Database, still } from '../../../kernel/database/database';
import { newId } from '../../../kernel/database/ids';
import { containing } from '../../../kernel/database/like';
import { lockRow } from '../../../kernel/database/lock-row';
import { digestOf, type PolicyKind } from '../../runs/runs/stages/policies';

/** A policy without its text. */
export interface StoredPolicy extends Omit<Row, 'content'> {
  readonly organization: string;
  readonly setIds: readonly string[];
  /** Whether the policy has content. */
  readonly isUploaded: boolean;
}

/** How strict a policy is, by kind. */
export const levelsOf = {
  opa: ['advisory', 'mandatory'],
  sentinel: ['advisory', 'soft-mandatory', 'hard-mandatory'],
} as const satisfies Record<PolicyKind, readonly string[]>;
export const levels = ['advisory', 'mandatory', 'soft-mandatory', 'hard-mandatory'] as const;

/** The names that policies and sets may have. */
export const policyName = z
  .string()
  .min(1)
  .max(90)
  .regex(/^[A-Za-z0-9_-]+$/, 'Name can only include letters, numbers, dashes and underscores');

const reference = /^[A-Za-z_]\w*(?:\.[A-Za-z_]\w*|\["[^"\\\p{Cc}]{1,200}"\])*$/u;

/** The rule that a policy evaluates: a reference such as `data.terraform.deny`. `data.` can be omitted. */
export const policyQuery = z
  .string()
  .min(1)
  .max(1000)
  .regex(reference, 'must be a reference to a rule, such as data.terraform.deny');

const mostPolicies = 2000;
/** The limit for the text of one policy. */
export const mostText = 256 * 1024;

/** The settings of a policy in a request. */
interface SentPolicy {
  readonly name?: string;
  readonly kind?: PolicyKind;
  readonly query?: string | null;
  readonly description?: string | null;
  readonly enforcementLevel?: string | null;
  /** The older form of the level: a list with one path, and its level as `mode`. */
  readonly enforce?: readonly { readonly path?: string | null; readonly mode: string }[] | null;
}

async function policiesWhere(db: Database, where: object, page?: Page): Promise<StoredPolicy[]> {
  const rows = await db.prisma.policy.findMany({
    where: { ...where, organization: { removedAt: null } },
    omit: { content: true },
    include: {
      organization: { select: { name: true } },
      sets: { select: { policySetId: true }, orderBy: { policySetId: 'asc' } },
    },
    orderBy: [{ name: 'asc' }, { id: 'asc' }],
    skip: page?.offset,
    take: page?.size,
  });
  const ids = rows.map(({ id }) => id);
  const uploaded = await db.prisma.policy.findMany({
    where: { id: { in: ids }, content: { not: null } },
    select: { id: true },
  });
  const has = new Set(uploaded.map(({ id }) => id));
  return rows.map(({ organization, sets, ...row }) => ({
    ...row,
    organization: organization.name,
    setIds: sets.map(({ policySetId }) => policySetId),
    isUploaded: has.has(row.id),
  }));
}

/** Policies by id, in no particular order; unknown ids are left out. */
export const findPolicies = (db: Database, ids: readonly string[]): Promise<StoredPolicy[]> =>
  policiesWhere(db, { id: { in: [...ids] } });

/** A page of the policies of an organization, by name. */
export async function listPolicies(
  db: Database,
  organizationId: string,
  { name, kind }: { readonly name?: string; readonly kind?: string },
  page: Page,
) {
  const found = await db.prisma.$queryRaw<{ id: string }[]>`
    SELECT id FROM policy WHERE organization_id = ${organizationId} AND name ILIKE ${containing(name ?? '')}
       AND coalesce(${kind ?? null}, kind) = kind`;
  const where = { id: { in: found.map(({ id }) => id) } };
  return { items: await policiesWhere(db, where, page), total: found.length };
}

/**
 * The level in a request, in either form. Throws `invalid` for both forms at once, and for a level that the kind does
 * not have.
 */
function levelOf({ enforcementLevel, enforce }: SentPolicy, kind: PolicyKind): string | undefined {
  if (enforcementLevel && enforce?.length) throw invalid('enforce', 'must not be given with enforcement-level');
  const level = enforcementLevel ?? enforce?.[0]?.mode;
  const levels: readonly string[] = levelsOf[kind];
  if (level !== undefined && !levels.includes(level)) {
    throw invalid(enforce?.length ? 'enforce' : 'enforcementLevel', `must be one of ${levels.join(', ')}`);
  }
  return level;
}

const facts = ({ name, kind, query, enforcementLevel }: StoredPolicy) => ({ name, kind, query, enforcementLevel });

function changeOf({ id, organizationId, name }: Pick<StoredPolicy, 'id' | 'organizationId' | 'name'>, verb: string) {
  return { organizationId, action: `policy.${verb}`, target: { type: 'policies', id, name } };
}

/** Creates a policy without content. Throws `invalid` for an OPA policy without a query. */
export async function createPolicy(
  db: Database,
  actor: Actor,
  organizationId: string,
  input: SentPolicy & { readonly name: string },
): Promise<StoredPolicy> {
  const id = newId('pol');
  const kind = input.kind ?? 'sentinel';
  const enforcementLevel = levelOf(input, kind);
  if (enforcementLevel === undefined) throw invalid('enforcementLevel', "can't be blank");
  if (kind === 'opa' && !input.query) throw invalid('query', "can't be blank");
  return db.transaction(async (tx) => {
    await lockRow(tx, 'organization', organizationId);
    if ((await tx.prisma.policy.count({ where: { organizationId } })) >= mostPolicies) {
      throw invalid('name', `is one too many: an organization has ${mostPolicies} policies at most`);
    }
    const query = kind === 'opa' ? input.query : null;
    const { name, description } = input;
    await tx.prisma.policy.create({
      data: { id, organizationId, name, kind, query, description: description ?? '', enforcementLevel },
    });
    const policy = still((await findPolicies(tx, [id]))[0]);
    await recordChange(tx, actor, { ...changeOf(policy, 'create'), after: facts(policy) });
    return policy;
  });
}

/** Changes the settings of a policy that a request names; a Sentinel policy has no query. */
export async function updatePolicy(
  db: Database,
  actor: Actor,
  before: StoredPolicy,
  input: Omit<SentPolicy, 'kind'>,
): Promise<StoredPolicy> {
  const { id } = before;
  const enforcementLevel = levelOf(input, before.kind as PolicyKind);
  if (before.kind === 'opa' && input.query === null) throw invalid('query', "can't be blank");
  return db.transaction(async (tx) => {
    const { count } = await tx.prisma.policy.updateMany({
      where: { id },
      data: {
        ...(input.name === undefined ? {} : { name: input.name }),
        ...(before.kind === 'opa' && input.query ? { query: input.query } : {}),
        ...(input.description === undefined ? {} : { description: input.description ?? '' }),
        ...(enforcementLevel === undefined ? {} : { enforcementLevel }),
        updatedAt: new Date(),
      },
    });
    if (count === 0) throw notFound();
    const after = still((await findPolicies(tx, [id]))[0]);
    await recordChange(tx, actor, { ...changeOf(after, 'update'), before: facts(before), after: facts(after) });
    return after;
  });
}

/** Deletes a policy, also from its sets. Runs for which it was evaluated keep the outcome. */
export async function removePolicy(db: Database, actor: Actor, policy: StoredPolicy): Promise<void> {
  await db.transaction(async (tx) => {
    const { count } = await tx.prisma.policy.deleteMany({ where: { id: policy.id } });
    if (count === 0) throw notFound();
    await recordChange(tx, actor, { ...changeOf(policy, 'delete'), before: facts(policy) });
  });
}

/** The text of a policy; undefined if it has none. */
export async function textOf(db: Database, id: string): Promise<string | undefined> {
  return (await db.prisma.policy.findUnique({ where: { id }, select: { content: true } }))?.content ?? undefined;
}

/** Replaces the text of a policy. Runs under evaluation keep the text that they began with. */
export async function uploadText(db: Database, actor: Actor, policy: StoredPolicy, content: string): Promise<void> {
  await db.transaction(async (tx) => {
    const where = { id: policy.id };
    const { count } = await tx.prisma.policy.updateMany({ where, data: { content, updatedAt: new Date() } });
    if (count === 0) throw notFound();
    await recordChange(tx, actor, { ...changeOf(policy, 'upload'), after: { digest: digestOf(content) } });
  });
}
