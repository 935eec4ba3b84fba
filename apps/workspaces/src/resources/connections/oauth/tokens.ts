import { invalid } from '@keystead/jsonapi';
import type { Keyring } from '@keystead/keyring';
import { notFound, Refusal } from '@keystead/refusal';
import { type Actor, recordChange } from '../../../kernel/audit/audit';
import type { Database } from '../../../kernel/database/database';
import { readPrivateKey } from '../ssh-keys/private-key';
import { sealedBytes } from './sealed';

/** A credential for a provider, without its secret content. */
export interface OauthToken {
  readonly id: string;
  readonly organizationId: string;
  readonly oauthClientId: string;
  readonly serviceProviderUser: string | null;
  readonly hasSshKey: boolean;
  readonly createdAt: Date;
}

const parts = {
  id: true,
  oauthClientId: true,
  serviceProviderUser: true,
  sshKey: true,
  createdAt: true,
  oauthClient: { select: { organizationId: true } },
} as const;

interface Where {
  readonly id?: { in: string[] };
  readonly oauthClientId?: string;
  readonly installation?: null;
  readonly oauthClient?: { organizationId?: string; organization?: { removedAt: null } };
}

async function select(db: Database, where: Where, page?: { offset: number; size: number }): Promise<OauthToken[]> {
  const rows = await db.prisma.oauthToken.findMany({
    where,
    select: parts,
    orderBy: [{ createdAt: 'asc' }, { id: 'asc' }],
    skip: page?.offset,
    take: page?.size,
  });
  return rows.map(({ oauthClient, sshKey, ...row }) => ({
    ...row,
    organizationId: oauthClient.organizationId,
    hasSshKey: sshKey !== null,
  }));
}

/** Tokens by id; unknown ids and tokens of app installations are left out. */
export async function findMany(db: Database, ids: readonly string[]): Promise<OauthToken[]> {
  return select(db, { id: { in: [...ids] }, installation: null, oauthClient: { organization: { removedAt: null } } });
}

/** One token. */
export async function find(db: Database, id: string): Promise<OauthToken | undefined> {
  return (await findMany(db, [id]))[0];
}

/** The tokens of an organization or of one connection, oldest first; without a page, all of them. */
export async function list(
  db: Database,
  of: { organizationId: string } | { oauthClientId: string },
  page: { offset: number; size: number } | undefined,
): Promise<{ items: OauthToken[]; total?: number }> {
  const where = { installation: null, ...('organizationId' in of ? { oauthClient: of } : of) };
  const items = await select(db, where, page);
  return page ? { items, total: await db.prisma.oauthToken.count({ where }) } : { items };
}

/** Sets or removes the private key used with the token. Throws `invalid` for text that is not a key. */
export async function setSshKey(
  db: Database,
  keyring: Keyring,
  actor: Actor,
  token: OauthToken,
  sshKey: string | null | undefined,
): Promise<OauthToken> {
  if (sshKey) requirePrivateKey(sshKey);
  return db.transaction(async (tx) => {
    const data = { sshKey: sealedBytes(keyring, 'oauth_token', token.id, 'ssh_key', sshKey === '' ? null : sshKey) };
    const { count } = await tx.prisma.oauthToken.updateMany({ where: { id: token.id }, data });
    const after = await find(tx, token.id);
    if (count === 0 || !after) throw notFound();
    const change = changeOf(token, 'update');
    await recordChange(tx, actor, { ...change, before: shown(token), after: shown(after) });
    return after;
  });
}

function requirePrivateKey(text: string): void {
  try {
    readPrivateKey(text);
  } catch (error) {
    throw error instanceof Refusal ? invalid('sshKey', 'is invalid') : error;
  }
}

/** Removes a token; workspaces linked through it keep their settings without it. */
export async function remove(db: Database, actor: Actor, token: OauthToken): Promise<void> {
  await db.transaction(async (tx) => {
    await tx.prisma.oauthToken.deleteMany({ where: { id: token.id } });
    await recordChange(tx, actor, { ...changeOf(token, 'delete'), before: shown(token) });
  });
}

const shown = ({ oauthClientId, hasSshKey }: OauthToken) => ({ oauthClientId, hasSshKey });

function changeOf({ organizationId, id }: OauthToken, verb: string) {
  return { organizationId, action: `oauth-token.${verb}`, target: { type: 'oauth-tokens', id } };
}
