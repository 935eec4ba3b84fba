import { invalid, ValidationFailed } from '@keystead/jsonapi';
import type { Keyring } from '@keystead/keyring';
import { Prisma } from '../../../generated/prisma/client';
import { type Actor, accountIdOf, recordChange } from '../../../kernel/audit/audit';
import type { Database } from '../../../kernel/database/database';
import { newId } from '../../../kernel/database/ids';
import { lockRow } from '../../../kernel/database/lock-row';
import { maxLifeOf } from '../../../kernel/installation/token-lives';
import { hashSecret, newSecret } from './secret';

/**
 * Kinds of credential. `agent` tokens can only carry out runs, `audit-trails` tokens can only read the audit trail of
 * their organization, and with `scim` tokens a directory manages people and groups.
 */
export type TokenKind = 'user' | 'session' | 'team' | 'organization' | 'audit-trails' | 'agent' | 'scim';

/** Kinds of tokens that an organization has only one of. */
export type OrganizationTokenKind = 'organization' | 'audit-trails';

const lifeYears = 2;
/** Kinds that expire by default. */
const ending: readonly TokenKind[] = ['user', 'team', 'organization', 'audit-trails'];

/**
 * The expiry of a new token: as requested, null for never. Default: two years, or less if the organization has a lower
 * limit. Throws `invalid` for a request that exceeds the limit.
 */
function expiryOf(
  kind: TokenKind,
  requestedEnd: Date | null | undefined,
  now: number,
  maxMs: number | null,
): Date | null | undefined {
  const latest = maxMs === null ? undefined : new Date(now + maxMs);
  if (requestedEnd !== undefined || !ending.includes(kind)) {
    if (latest === undefined || (requestedEnd && requestedEnd <= latest)) return requestedEnd;
    throw invalid(
      'expiredAt',
      `must be set, and no later than ${latest.toISOString()}: the organization limits the lifetime`,
    );
  }
  const end = new Date(now);
  end.setUTCFullYear(end.getUTCFullYear() + lifeYears);
  return latest && latest < end ? latest : end;
}

/**
 * How long a token of an organization or team may live. Locks the organization, so that a change of the limit waits.
 */
async function maxLife(tx: Database, { kind, organizationId }: TokenOwner): Promise<number | null> {
  if (kind !== 'team' && !isOfOrganization(kind)) return null;
  const [row] = await tx.prisma.$queryRaw<{ max: number | null }[]>`
    SELECT ${Prisma.raw(maxLifeOf("'" + kind.replace('-', '_') + "'"))} AS max FROM organization o
     WHERE o.id = ${organizationId} FOR SHARE`;
  return row?.max ?? null;
}

/** A stored credential. `secret` is present only in the response to its creation. */
export interface Token {
  readonly id: string;
  readonly kind: TokenKind;
  readonly userId: string | null;
  readonly teamId: string | null;
  /** The organization to which the token belongs; null for user tokens. */
  readonly organizationId: string | null;
  readonly agentPoolId: string | null;
  readonly description: string | null;
  /** An account: a user's, or the service account of a team or organization. */
  readonly createdById: string;
  readonly createdAt: Date;
  readonly lastUsedAt: Date | null;
  readonly expiresAt: Date | null;
  readonly secret?: string;
}

/** The owner of a new token. */
export interface TokenOwner {
  readonly kind: TokenKind;
  readonly userId?: string;
  readonly teamId?: string;
  readonly agentPoolId?: string;
  /** The organization in which the change is audited: that of the team or pool, or the organization itself. */
  readonly organizationId?: string;
}

/** The data about a token's owner that `toToken` needs. */
export const withTeam = {
  team: { select: { organizationId: true } },
  agentPool: { select: { organizationId: true } },
} as const;

type TokenRow = Awaited<ReturnType<Database['prisma']['token']['findUniqueOrThrow']>> & {
  team: { organizationId: string } | null;
  agentPool: { organizationId: string } | null;
};

/**
 * Creates a token and returns its secret, which is never shown again. An organization has one token of each kind, and a
 * team has one token without a description. Creating another such token revokes the first in the same transaction.
 * Throws `invalid` if the expiry is in the past, `ValidationFailed` for a description that another token of the team
 * has.
 */
export async function create(
  db: Database,
  keyring: Keyring,
  actor: Actor,
  holder: TokenOwner,
  input: { description?: string | null; expiredAt?: Date | null },
  now: number,
): Promise<Token> {
  if (input.expiredAt && input.expiredAt.getTime() <= now) throw invalid('expiredAt', 'must be in the future');
  const secret = newSecret();
  const description = input.description ?? null;
  return db.transaction(async (tx) => {
    const maxMs = await maxLife(tx, holder);
    await endPrevious(tx, holder, description);
    const row = await tx.prisma.token.create({
      data: {
        id: newId('at'),
        kind: holder.kind,
        hash: new Uint8Array(hashSecret(keyring, secret)),
        userId: holder.userId,
        teamId: holder.teamId,
        organizationId: isOfOrganization(holder.kind) ? holder.organizationId : undefined,
        agentPoolId: holder.agentPoolId,
        description,
        // By the clock that also decides when it expires.
        createdAt: new Date(now),
        expiresAt: expiryOf(holder.kind, input.expiredAt, now, maxMs),
        createdById: actor.type === 'system' ? holder.userId! : accountIdOf(actor),
      },
      include: withTeam,
    });
    const token = toToken(row);
    await recordChange(tx, actor, {
      organizationId: token.organizationId,
      action: `${token.kind}-token.create`,
      target: { type: 'authentication-tokens', id: row.id, name: row.description },
      after: shown(token),
    });
    return { ...token, secret };
  });
}

const isOfOrganization = (kind: TokenKind): boolean => kind === 'organization' || kind === 'audit-trails';

/** An empty description is shown as sent, but treated as absent. */
const withoutDescription = [{ description: null }, { description: '' }];

async function endPrevious(
  tx: Database,
  { kind, teamId, organizationId }: TokenOwner,
  description: string | null,
): Promise<void> {
  if (kind === 'team') {
    // Without the lock of the team's row, two concurrent calls would both find no token to end.
    await lockRow(tx, 'team', teamId!);
    const former = { teamId, kind, ...(description ? { description } : { OR: withoutDescription }) };
    if (!description) await tx.prisma.token.deleteMany({ where: former });
    // The Go client recognises this refusal by these exact words.
    else if ((await tx.prisma.token.count({ where: former })) > 0)
      throw new ValidationFailed('description', 'Description has already been taken');
  }
  if (isOfOrganization(kind)) {
    await lockRow(tx, 'organization', organizationId!);
    await tx.prisma.token.deleteMany({ where: { organizationId, kind } });
  }
}

/** Ends a token at once, on every node. */
export async function remove(db: Database, actor: Actor, token: Token): Promise<void> {
  await db.transaction(async (tx) => {
    const { count } = await tx.prisma.token.deleteMany({ where: { id: token.id } });
    if (count === 0) return;
    await recordChange(tx, actor, {
      organizationId: token.organizationId,
      action: `${token.kind}-token.delete`,
      target: { type: 'authentication-tokens', id: token.id, name: token.description },
      before: shown(token),
    });
  });
}

/** Tokens by id; unknown ids are left out. */
export async function findMany(db: Database, ids: readonly string[]): Promise<Token[]> {
  const rows = await db.prisma.token.findMany({ where: { id: { in: [...ids] } }, include: withTeam });
  return rows.map(toToken);
}

/** The one token of a team that has no description. */
export async function findOfTeam(db: Database, teamId: string): Promise<Token | undefined> {
  const row = await db.prisma.token.findFirst({
    where: { teamId, kind: 'team', OR: withoutDescription },
    include: withTeam,
  });
  return row ? toToken(row) : undefined;
}

/** The one token of an organization of a kind. */
export async function findOfOrganization(
  db: Database,
  organizationId: string,
  kind: OrganizationTokenKind,
): Promise<Token | undefined> {
  const row = await db.prisma.token.findFirst({ where: { organizationId, kind }, include: withTeam });
  return row ? toToken(row) : undefined;
}

/** The API tokens of a user, oldest first. Without a page: all tokens. */
export async function listOfUser(
  db: Database,
  userId: string,
  page: TokenPage | undefined,
): Promise<{ items: Token[]; total: number }> {
  return listed(db, { userId, kind: 'user' }, page);
}

/** The tokens of an agent pool, oldest first. */
export async function listOfPool(
  db: Database,
  agentPoolId: string,
  page: TokenPage | undefined,
): Promise<{ items: Token[]; total: number }> {
  return listed(db, { agentPoolId, kind: 'agent' }, page);
}

/** The tokens of directories, oldest first. */
export async function listOfDirectories(
  db: Database,
  page: TokenPage | undefined,
): Promise<{ items: Token[]; total: number }> {
  return listed(db, { kind: 'scim' }, page);
}

/** The tokens of a team, oldest first. */
export async function listOfTeam(
  db: Database,
  teamId: string,
  page: TokenPage | undefined,
): Promise<{ items: Token[]; total: number }> {
  return listed(db, { teamId, kind: 'team' }, page);
}

interface TokenPage {
  readonly offset: number;
  readonly size: number;
}

async function listed(
  db: Database,
  where: { kind: string; userId?: string; teamId?: string; agentPoolId?: string },
  page: TokenPage | undefined,
): Promise<{ items: Token[]; total: number }> {
  const rows = await db.prisma.token.findMany({
    where,
    include: withTeam,
    orderBy: [{ createdAt: 'asc' }, { id: 'asc' }],
    skip: page?.offset,
    take: page?.size,
  });
  return { items: rows.map(toToken), total: page ? await db.prisma.token.count({ where }) : rows.length };
}

function shown(token: Token) {
  return { description: token.description, expiresAt: token.expiresAt, teamId: token.teamId, userId: token.userId };
}

/** The row with the organization of its team. */
export function toToken(row: TokenRow): Token {
  return {
    id: row.id,
    kind: row.kind as TokenKind,
    userId: row.userId,
    teamId: row.teamId,
    organizationId: row.organizationId ?? row.team?.organizationId ?? row.agentPool?.organizationId ?? null,
    agentPoolId: row.agentPoolId,
    description: row.description,
    createdById: row.createdById,
    createdAt: row.createdAt,
    lastUsedAt: row.lastUsedAt,
    expiresAt: row.expiresAt,
  };
}
