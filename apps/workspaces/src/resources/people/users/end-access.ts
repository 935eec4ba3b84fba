import type { Database } from '../../../kernel/database/database';

/**
 * The reason why an account's credentials are revoked: a new password, a user identified by a provider, or a
 * suspension.
 */
export type AccessEnd = 'password' | 'link' | 'suspension';

/**
 * Revokes an account's credentials. `link`: all credentials, because the account may have been created by someone other
 * than the user whom the provider now identifies. `suspension`: all except second factor, passkeys and invitations.
 * `password`: sessions except the current one, codes and reset links, but not API tokens.
 */
export async function endAccess(tx: Database, userId: string, by: AccessEnd, keepTokenId = ''): Promise<void> {
  const { prisma } = tx;
  const others = { not: keepTokenId };
  await prisma.loginCode.deleteMany({ where: { userId } });
  if (by === 'password') {
    await prisma.token.deleteMany({ where: { userId, kind: 'session', id: others } });
    await prisma.consoleSession.deleteMany({ where: { token: { userId }, tokenId: others } });
    await prisma.oneTimeLink.deleteMany({ where: { userId, kind: 'password-reset' } });
    return;
  }
  await prisma.token.deleteMany({ where: { userId } });
  const links = by === 'link' ? {} : { kind: { not: 'invitation' } };
  await prisma.oneTimeLink.deleteMany({ where: { userId, ...links } });
  if (by === 'link') {
    await prisma.twoFactor.deleteMany({ where: { userId } });
    await prisma.passkey.deleteMany({ where: { userId } });
  }
}
