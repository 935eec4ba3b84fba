import { randomBase62 } from '@keystead/auth';
import type { Keyring } from '@keystead/keyring';
import type { Actor } from '../../../kernel/audit/audit';
import type { Database } from '../../../kernel/database/database';

/** The purpose of a link: accepting an invitation, setting a new password, or proving an address. */
export type LinkKind = 'invitation' | 'password-reset' | 'address-change';

/** How long a link works. */
export const linkMs = 7 * 86_400_000;

/** A stored link, which works once. */
export interface OneTimeLink {
  readonly kind: LinkKind;
  readonly userId: string;
  readonly membershipId: string | null;
  /** The inviter; null for links that earlier versions created. */
  readonly createdByType: string | null;
  readonly createdById: string | null;
  readonly expiresAt: Date;
}

/** Creates a link and returns the secret part of its URL. Earlier links for the same purpose stop working. */
export async function createLink(
  db: Database,
  keyring: Keyring,
  link: { kind: LinkKind; userId: string; membershipId?: string; inviter?: Actor },
  now: number,
): Promise<string> {
  const secret = randomBase62(48);
  const { kind, userId, membershipId = null, inviter } = link;
  await db.prisma.oneTimeLink.deleteMany({ where: { kind, userId, membershipId } });
  await db.prisma.oneTimeLink.create({
    data: {
      hash: new Uint8Array(hashLink(keyring, secret)),
      kind,
      userId,
      membershipId,
      createdByType: inviter?.type,
      createdById: inviter?.id,
      expiresAt: new Date(now + linkMs),
    },
  });
  return secret;
}

/** The URL at which a user opens a link. Programs use the same path below `/api/v2` instead of `/app`. */
export function linkUrl(publicUrl: string, secret: string): string {
  return `${publicUrl}/app/one-time-links/${secret}`;
}

/** The link, if it is still valid. */
export async function findLink(
  db: Database,
  keyring: Keyring,
  secret: string,
  now: number,
): Promise<OneTimeLink | undefined> {
  const row = await db.prisma.oneTimeLink.findUnique({ where: { hash: new Uint8Array(hashLink(keyring, secret)) } });
  if (!row || row.expiresAt.getTime() <= now) return undefined;
  const { hash: _, kind, ...link } = row;
  return { ...link, kind: kind as LinkKind };
}

/** Uses the link up: true for one caller only. */
export async function spendLink(db: Database, keyring: Keyring, secret: string): Promise<boolean> {
  const hash = new Uint8Array(hashLink(keyring, secret));
  const { count } = await db.prisma.oneTimeLink.deleteMany({ where: { hash } });
  return count === 1;
}

function hashLink(keyring: Keyring, secret: string): Buffer {
  return keyring.mac('workspace-one-time-link', secret);
}
