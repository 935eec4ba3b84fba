import { ExactNumber } from '@keystead/envelope';
import type { Prisma } from '../../generated/prisma/client';
import type { Principal } from '../access/principal';
import type { Database } from '../database/database';

/** Kinds of caller that can make a change. */
export const actorTypes = ['users', 'teams', 'organizations', 'system', 'runs'] as const;

/** The caller who makes a change, as shown in audit events. */
export interface Actor {
  readonly type: (typeof actorTypes)[number];
  readonly id: string;
  readonly name: string;
  readonly tokenId?: string;
  readonly requestId?: string;
}

/**
 * One change. `action` is a noun and a verb: `team.update`. `before` and `after` contain only settings: never a secret,
 * and never data that could be turned into a secret. An update records only the differences. A creation has no
 * `before`, and a deletion has no `after`.
 */
export interface Change {
  readonly organizationId: string | null;
  readonly action: string;
  readonly target: { readonly type: string; readonly id: string; readonly name?: string | null };
  readonly before?: Readonly<Record<string, unknown>>;
  readonly after?: Readonly<Record<string, unknown>>;
}

const kinds = {
  user: 'users',
  team: 'teams',
  organization: 'organizations',
  'audit-trails': 'organizations',
  scim: 'system',
  agent: 'system',
  run: 'runs',
} as const;

/** The actor of a request. */
export function actorOf({ principal, request }: { principal: Principal; request: { readonly id: string } }): Actor {
  return {
    type: kinds[principal.kind],
    id: principal.id,
    name: principal.name,
    tokenId: principal.tokenId,
    requestId: request.id,
  };
}

/**
 * The account that represents an actor: the user, or the service account of a team or an organization, which has the
 * same id with another prefix.
 */
export function accountIdOf({ id }: { readonly id: string }): string {
  return `user-${id.slice(id.indexOf('-') + 1)}`;
}

/** The actor of changes that no request makes, such as those of the first start and of workers. */
export const system: Actor = { type: 'system', id: 'system', name: 'system' };

/** Records a change. Call it in the transaction that makes the change, so that neither happens without the other. */
export async function recordChange(db: Database, actor: Actor, change: Change): Promise<void> {
  await recordChanges(db, actor, [change]);
}

/** Records several changes in one statement. */
export async function recordChanges(db: Database, actor: Actor, changes: readonly Change[]): Promise<void> {
  if (changes.length === 0) return;
  await db.prisma.auditEvent.createMany({ data: changes.map((change) => auditRow(actor, change)) });
}

/** The row of a change, for statements that write it together with the change itself. */
export function auditRow(actor: Actor, change: Change) {
  const { before, after } = difference(change.before, change.after);
  return {
    organizationId: change.organizationId,
    actorType: actor.type,
    actorId: actor.id,
    actorName: actor.name,
    tokenId: actor.tokenId,
    requestId: actor.requestId,
    action: change.action,
    targetType: change.target.type,
    targetId: change.target.id,
    targetName: change.target.name,
    before: asJson(before),
    after: asJson(after),
  };
}

type Values = Readonly<Record<string, unknown>> | undefined;

function difference(before: Values, after: Values): { before: Values; after: Values } {
  if (!before || !after) return { before, after };
  const was: Record<string, unknown> = {};
  const is: Record<string, unknown> = {};
  const compare = (key: string): void => {
    if (isSame(before[key], after[key])) return;
    was[key] = before[key];
    is[key] = after[key];
  };
  for (const key in after) compare(key);
  for (const key in before) if (!(key in after)) compare(key);
  return { before: was, after: is };
}

function isSame(one: unknown, other: unknown): boolean {
  return one === other || JSON.stringify(plain(one)) === JSON.stringify(plain(other));
}

function asJson(values: Values): Prisma.InputJsonValue | undefined {
  if (!values) return undefined;
  const json: Record<string, unknown> = { ...values };
  for (const key in json) json[key] = plain(json[key]);
  return json as Prisma.InputJsonObject;
}

// Bytes are sealed values and hashes. They are useless to a reader, so they are never copied.
function plain(value: unknown): unknown {
  if (value === undefined) return null;
  if (typeof value === 'bigint') return value.toString();
  if (value instanceof ExactNumber) return value.digits;
  if (value instanceof Uint8Array) return '(not shown)';
  return value;
}

const forgottenAtOnce = 5000;

/**
 * Deletes events older than this many days, the oldest first; 0 keeps all. Their ids are ordered by time, so no index
 * on the time is needed.
 */
export async function forgetEvents({ prisma }: Database, days: number): Promise<void> {
  if (days === 0) return;
  let forgotten: number;
  do {
    forgotten = await prisma.$executeRaw`
      DELETE FROM audit_event WHERE id IN (
        SELECT id FROM (SELECT id, at FROM audit_event ORDER BY id LIMIT ${forgottenAtOnce}) oldest
         WHERE at < now() - make_interval(days => ${days}))`;
  } while (forgotten === forgottenAtOnce);
}

/** A change as a row of the audit table, for statements that write it together with the change itself. */
export function auditJson(actor: Actor, change: Change) {
  const row = auditRow(actor, change);
  return {
    organization_id: row.organizationId,
    actor_type: row.actorType,
    actor_id: row.actorId,
    actor_name: row.actorName,
    token_id: row.tokenId,
    request_id: row.requestId,
    action: row.action,
    target_type: row.targetType,
    target_id: row.targetId,
    target_name: row.targetName,
    before: row.before,
    after: row.after,
  };
}

const example = auditJson(system, { organizationId: null, action: '', target: { type: '', id: '' } });
/** The columns of an audit event that a change fills. */
export const auditColumns = Object.keys(example).join(', ');
