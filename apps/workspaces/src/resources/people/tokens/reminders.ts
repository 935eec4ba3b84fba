import type { Database } from '../../../kernel/database/database';
import type { Environment } from '../../../kernel/endpoints/environment';

/** The time between the notification and the expiry of a token. */
const AHEAD = '7 days';
/** There are no reminders for tokens with a shorter lifetime than this. */
const SHORTEST = '14 days';
const AT_ONCE = 50;
/** If a mail server refused this many mails in a row, it is considered down. */
const FAILURES_IN_A_ROW = 3;

interface Expiring {
  readonly id: string;
  readonly expires_at: Date;
  readonly description: string | null;
  /** The owner of the token: a user, a team in an organization, or an organization. */
  readonly person: string | null;
  readonly team: string | null;
  readonly organization: string | null;
  readonly emails: readonly string[];
}

/**
 * Notifies the owner of an API token, or the owners of its organization, by mail that the token expires within a week.
 * Each token is claimed first, so that only one of several nodes sends the mail. If the server accepted the mail for no
 * recipient, the next run tries again. Tokens come in random order, so that addresses that are never accepted do not
 * delay the others. Returns the number of tokens.
 */
export async function remindOfTokens(
  db: Database,
  { mailer, publicUrl, now }: Pick<Environment, 'mailer' | 'publicUrl' | 'now'>,
): Promise<number> {
  if (!mailer) return 0;
  const at = new Date(now());
  const claimed = await db.prisma.$queryRaw<Expiring[]>`
    WITH due AS (
      UPDATE token SET reminded_at = ${at}
       WHERE reminded_at IS NULL AND id IN (
         SELECT id FROM token
          WHERE reminded_at IS NULL AND kind IN ('user', 'team', 'organization') AND expires_at > ${at}
            AND expires_at <= ${at}::timestamptz + ${AHEAD}::interval AND expires_at - created_at >= ${SHORTEST}::interval
          ORDER BY random() LIMIT ${AT_ONCE})
      RETURNING id, expires_at, description, user_id, team_id, organization_id)
    SELECT d.id, d.expires_at, d.description, p.username AS person, g.name AS team, o.name AS organization,
           ARRAY(SELECT u.email FROM user_account u
                  WHERE u.confirmed AND u.suspended_at IS NULL AND u.email NOT LIKE '%.invalid'
                    AND (u.id = d.user_id OR EXISTS (
                      SELECT FROM membership m JOIN team_member tm ON tm.membership_id = m.id JOIN team t ON t.id = tm.team_id
                       WHERE m.user_id = u.id AND m.status = 'active' AND t.is_owners AND t.organization_id = o.id
                         AND o.removed_at IS NULL))
                  ORDER BY u.email LIMIT 20) AS emails
      FROM due d LEFT JOIN user_account p ON p.id = d.user_id LEFT JOIN team g ON g.id = d.team_id
      LEFT JOIN organization o ON o.id = coalesce(d.organization_id, g.organization_id)`;
  const unsentIds: string[] = [];
  let inARow = 0;
  for (const token of claimed) {
    const { accepted } =
      inARow < FAILURES_IN_A_ROW ? await mailer.send(token.emails, mailOf(token, publicUrl)) : { accepted: [] };
    if (accepted.length > 0 || token.emails.length === 0) inARow = 0;
    else {
      inARow++;
      unsentIds.push(token.id);
    }
  }
  if (unsentIds.length > 0)
    await db.prisma.token.updateMany({ where: { id: { in: unsentIds } }, data: { remindedAt: null } });
  return claimed.length - unsentIds.length;
}

function mailOf({ id, description, expires_at, person, team, organization }: Expiring, publicUrl: string) {
  const whose = person ?? (team === null ? organization : `the team ${team} of ${organization}`);
  const name = description ? `“${description}” (${id})` : id;
  const page = person === null ? `organizations/${organization}` : 'account';
  const day = expires_at.toISOString().slice(0, 10);
  return {
    subject: `An API token expires on ${day}`,
    text: `The API token ${name} of ${whose} expires on ${expires_at.toISOString()}. Requests with it are refused from then on.\n\nCreate another one before: ${publicUrl}/ui/${page}\n`,
  };
}
