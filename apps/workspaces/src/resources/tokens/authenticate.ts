import type { Keyring } from '@keystead/keyring';
import type { Pool } from 'pg';
import { gather } from '../../kernel/gather';
import type { Principal } from '../../kernel/principal';
import { hashSecret } from './secret';

interface TokenRow {
  hash: string;
  id: string;
  kind: string;
  user_id: string | null;
  team_id: string | null;
  organization_id: string | null;
  name: string;
  site_admin: boolean | null;
  two_factor: boolean;
  created_at: Date;
  last_used_at: Date | null;
}

// Everything that ends a token is asked here, at every request: no node can know a dead token as alive.
const readTokens = {
  name: 'token_authenticate',
  text: `
SELECT encode(t.hash, 'hex') AS hash, t.id, t.kind, t.user_id, t.team_id, o.id AS organization_id,
       coalesce(u.username, g.name, o.name) AS name, u.site_admin, f.verified_at IS NOT NULL AS two_factor,
       t.created_at, t.last_used_at
  FROM token t
  LEFT JOIN user_account u ON u.id = t.user_id
  LEFT JOIN two_factor f ON f.user_id = t.user_id
  LEFT JOIN team g ON g.id = t.team_id
  LEFT JOIN organization o ON o.id = coalesce(t.organization_id, g.organization_id)
 WHERE t.hash = ANY($1) AND t.kind IN ('user', 'session', 'team', 'organization')
   AND (t.expires_at IS NULL OR t.expires_at > $2) AND u.suspended_at IS NULL
   AND (t.kind IN ('user', 'session') OR o.removed_at IS NULL)`,
};

const touchTokens = {
  name: 'token_touch',
  text: 'UPDATE token SET last_used_at = $2 WHERE id = ANY($1) AND (last_used_at IS NULL OR last_used_at < $2)',
};

const TOUCH_EVERY_MS = 60_000;
const TOUCH_SESSIONS_EVERY_MS = 20_000;

/**
 * Recognises bearer tokens: who they belong to, or undefined when unknown, revoked, expired, idle for too long, or of a
 * suspended user. Notes the use of a token at most once a minute. Requests at the same moment share one query.
 */
export function createAuthenticator(options: {
  pool: Pool;
  keyring: Keyring;
  now: () => number;
  /** How long a session may lie idle where no organization says less. */
  sessionIdleMinutes: number;
}): (token: string) => Promise<Principal | undefined> {
  const { pool, keyring, now, sessionIdleMinutes } = options;
  const find = gather<string, TokenRow>(async (hashes) => {
    const values = [hashes.map((hash) => Buffer.from(hash, 'hex')), new Date(now())];
    const { rows } = await pool.query<TokenRow>({ ...readTokens, values });
    return new Map(rows.map((row) => [row.hash, row]));
  });
  const touch = gather<string, undefined>(async (ids) => {
    await pool.query({ ...touchTokens, values: [ids, new Date(now())] });
    return new Map();
  });

  return async (token) => {
    const row = await find(hashSecret(keyring, token).toString('hex'));
    if (!row) return undefined;
    const usedAtMs = row.last_used_at?.getTime();
    const idleSinceMs = usedAtMs ?? row.created_at.getTime();
    const isSession = row.kind === 'session';
    if (isSession && now() - idleSinceMs > sessionIdleMinutes * 60_000) return undefined;
    const every = isSession ? TOUCH_SESSIONS_EVERY_MS : TOUCH_EVERY_MS;
    if (usedAtMs === undefined || now() - usedAtMs >= every) await touch(row.id);
    return {
      kind: isSession ? 'user' : (row.kind as Principal['kind']),
      id: (row.user_id ?? row.team_id ?? row.organization_id)!,
      name: row.name,
      tokenId: row.id,
      organizationId: row.user_id === null ? row.organization_id! : undefined,
      siteAdmin: row.site_admin ?? false,
      twoFactor: row.two_factor,
      session: isSession ? { startedAtMs: row.created_at.getTime(), idleSinceMs } : undefined,
    };
  };
}
