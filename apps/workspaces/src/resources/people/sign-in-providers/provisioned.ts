import type { Database } from '../../../kernel/database/database';
import type { SignInProvider } from './provider';

/**
 * The directory's account for a subject of the provider at which its users sign in; undefined if there is no such
 * account, and for every other provider. The subject is the directory's id of a user. For a SAML provider, which
 * identifies users by user name, the subject may also be the user name. Users removed from the directory keep their
 * account, but it is suspended.
 */
export async function provisionedFor(
  tx: Database,
  { id, kind }: Pick<SignInProvider, 'id' | 'kind'>,
  subject: string,
): Promise<{ id: string; username: string } | undefined> {
  const [found] = await tx.prisma.$queryRaw<{ id: string; username: string }[]>`
    SELECT u.id, u.username
      FROM scim_user s JOIN user_account u ON u.id = s.user_id
     WHERE EXISTS (SELECT 1 FROM scim_setting WHERE enabled AND sign_in_provider_id = ${id})
       AND (s.external_id = ${subject} OR (${kind === 'saml'} AND lower(s.user_name) = lower(${subject})))
     ORDER BY s.removed_at IS NULL DESC, s.external_id = ${subject} DESC LIMIT 1`;
  return found;
}

/** Whether the directory determines a user's teams, instead of the user's groups at the provider. */
export async function isProvisioned(tx: Database, providerId: string, userId: string): Promise<boolean> {
  const [found] = await tx.prisma.$queryRaw<unknown[]>`
    SELECT 1 FROM scim_user s JOIN scim_setting d ON d.enabled AND d.sign_in_provider_id = ${providerId}
     WHERE s.user_id = ${userId} AND s.removed_at IS NULL`;
  return found !== undefined;
}
