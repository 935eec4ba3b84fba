import { hash } from 'node:crypto';
import type { Keyring } from '@keystead/keyring';
import { gather } from '@keystead/postgres';
import { LRUCache } from 'lru-cache';
import { enabledRanges, foundRanges } from '../../../kernel/access/address-ranges';
import { findHolder, type LinkHolder } from '../../../kernel/access/current-access';
import type { Principal } from '../../../kernel/access/principal';
import { holderOfRunToken } from '../../../kernel/access/run-tokens';
import type { Database } from '../../../kernel/database/database';
import type { AuthenticatedCaller, Environment } from '../../../kernel/endpoints/environment';
import { type SettingsReader, storedSettings } from '../../installation/settings/service';
import { hashConsoleId, hashSecret } from './secret';

interface CachedTokenRow {
  readonly [column: string]: unknown;
  /** The hash of the token, in hexadecimal digits. */
  readonly key: string;
  /** `TokenColumns` as text. If the text is unchanged, it need not be parsed again. */
  readonly columns: string;
  /** The settings of the installation as text. They are read here because every request also needs them. */
  readonly settings: string | null;
}

type TokenColumns = [
  id: string,
  kind: string,
  userId: string | null,
  /** The id of a team or an agent pool. */
  groupId: string | null,
  organizationId: string | null,
  name: string | null,
  siteAdmin: boolean | null,
  twoFactor: boolean,
  createdAtMs: number,
  lastUsedAtMs: number | null,
  expiresAtMs: number | null,
  longestRestMs: number,
  /** For an agent: the ranges of addresses from which it may connect. */
  onlyFrom: string[] | null,
];

const ms = (column: string): string => `floor(extract(epoch FROM ${column}) * 1000)::bigint`;

const agentRanges = enabledRanges(`l.organization_id = ap.organization_id AND (l.enforcement_scope = 'all_agent_pools'
            OR l.enforcement_scope = 'selected_agent_pools'
               AND EXISTS (SELECT 1 FROM cidr_range_list_pool x WHERE x.list_id = l.id AND x.agent_pool_id = ap.id))`);

// Everything that ends a token is checked here, at every request, so no node accepts a token that has ended.
const readTokens = {
  name: 'token_authenticate',
  text: `
SELECT k.key, json_build_array(t.id, t.kind, t.user_id, coalesce(t.team_id, t.agent_pool_id), o.id,
         coalesce(u.username, g.name, ap.name, o.name),
         u.site_admin, f.verified_at IS NOT NULL, ${ms('t.created_at')}, ${ms('t.last_used_at')},
         ${ms("least(t.expires_at, CASE t.kind WHEN 'user' THEN u.sso_until END)")}, t.longest_rest_ms,
         CASE t.kind WHEN 'agent' THEN ${agentRanges} END)::text AS columns,
       ${storedSettings} AS settings
  FROM unnest($1::text[]) AS k(key)
  JOIN token t ON t.hash = decode(k.key, 'hex')
  LEFT JOIN user_account u ON u.id = t.user_id
  LEFT JOIN two_factor f ON f.user_id = t.user_id
  LEFT JOIN team g ON g.id = t.team_id
  LEFT JOIN agent_pool ap ON ap.id = t.agent_pool_id
  LEFT JOIN organization o ON o.id = coalesce(t.organization_id, g.organization_id, ap.organization_id)
 WHERE t.kind IN ('user', 'session', 'team', 'organization', 'audit-trails', 'scim', 'agent') AND u.suspended_at IS NULL
   AND (t.kind IN ('user', 'session') OR o.removed_at IS NULL)`,
  quick: true,
};

// Each use of a session also records its longest idle time. A session that was once idle for too long can then never be
// used again.
const touchTokens = {
  name: 'token_touch',
  text: `
UPDATE token SET last_used_at = $2,
       longest_rest_ms = CASE kind WHEN 'session'
         THEN greatest(longest_rest_ms, ${ms('$2::timestamptz')} - ${ms('coalesce(last_used_at, created_at)')})
         ELSE 0 END
 WHERE id = ANY($1) AND (last_used_at IS NULL OR last_used_at < $2)`,
};

// A session is looked up first, and then its token like any other token.
const readSessions = {
  name: 'console_session',
  text: `
SELECT k.key, encode(t.hash, 'hex') AS token, ${ms('c.used_at')}::text AS used, ${ms('c.expires_at')}::text AS expires,
       coalesce(${ms('c.step_up_until')}, 0)::text AS step_up
  FROM unnest($1::text[]) AS k(key)
  JOIN console_session c ON c.hash = decode(k.key, 'hex') JOIN token t ON t.id = c.token_id`,
  quick: true,
};

interface SessionRow {
  readonly [column: string]: unknown;
  readonly key: string;
  /** The hash of the session's token, in hexadecimal digits. */
  readonly token: string;
  readonly used: string;
  readonly expires: string;
  readonly step_up: string;
}

const touchSessions = {
  name: 'console_session_touch',
  text: `UPDATE console_session SET used_at = $2 WHERE encode(hash, 'hex') = ANY($1) AND used_at < $2`,
};

const TOUCH_EVERY_MS = 60_000;
/**
 * The minimum time between two recorded uses of a session, so its idle time may be wrong by this much. Organizations
 * set limits in minutes.
 */
const TOUCH_SESSIONS_EVERY_MS = 5_000;

/** A token, or the id of a console session. */
export type Authenticator = Pick<Environment, 'authenticate' | 'authenticateConsole'>;

/**
 * Looks up bearer tokens. Returns their owner; undefined for tokens that are unknown, revoked, expired, idle for too
 * long, or of a suspended user. Records the use of a token at most once a minute. Simultaneous requests share one
 * query. A console session has the permissions of its token. It expires after some idle time, and in any case after a
 * few hours.
 */
export function createAuthenticator(options: {
  db: Database;
  keyring: Keyring;
  now: () => number;
  /** How long a session may be idle, unless an organization sets a shorter time. */
  sessionIdleMinutes: number;
  consoleIdleMinutes: number;
  settings: SettingsReader;
  /** The tokens in the configuration, for the installation's own agents. */
  workerTokens?: readonly string[];
  /** Whether uses of tokens are recorded; a read-only node cannot. */
  readsOnly?: boolean;
}): Authenticator {
  const { db, keyring, now, sessionIdleMinutes, consoleIdleMinutes, settings, workerTokens = [], readsOnly } = options;
  const workers = new Map(workerTokens.map((token) => workerOf(hashSecret(keyring, token).toString('hex'))));
  const hashes = new LRUCache<string, string>({ maxSize: 5_000, sizeCalculation: () => 1 });
  const cache = new LRUCache<string, { columns: string; token: Recognised }>({
    maxSize: 20_000,
    sizeCalculation: () => 1,
  });
  const touch = gather<string, undefined>(async (ids) => {
    await db.rows({ ...touchTokens, values: [ids, new Date(now())] });
    return new Map();
  });
  const touchSession = gather<string, undefined>(async (keys) => {
    await db.rows({ ...touchSessions, values: [keys, new Date(now())] });
    return new Map();
  });
  // The key of the cache is a plain hash, because a token itself would remain here after its revocation.
  const hashOf = (token: string): string => {
    const plain = hash('sha256', token, 'base64');
    let keyed = hashes.get(plain);
    if (keyed === undefined) {
      keyed = hashSecret(keyring, token).toString('hex');
      hashes.set(plain, keyed);
    }
    return keyed;
  };
  const recognise = ({ key, columns }: CachedTokenRow): Recognised => {
    const before = cache.get(key);
    if (before?.columns === columns) return before.token;
    const token = recognised(JSON.parse(columns) as TokenColumns);
    cache.set(key, { columns, token });
    return token;
  };

  const ofHash = async (hashed: string, background: boolean): Promise<AuthenticatedCaller | undefined> => {
    const worker = workers.get(hashed);
    if (worker) return { principal: worker, settings: await settings.read() };
    const row = await db.readOne<CachedTokenRow>(readTokens, hashed);
    if (row === undefined) return undefined;
    const { principal, usedAtMs, expiresAtMs } = recognise(row);
    if (expiresAtMs !== null && expiresAtMs <= now()) return undefined;
    const { session } = principal;
    if (session !== undefined && now() - session.idleSinceMs > sessionIdleMinutes * 60_000) return undefined;
    const every = session === undefined ? TOUCH_EVERY_MS : TOUCH_SESSIONS_EVERY_MS;
    if (!background && !readsOnly && (usedAtMs === null || now() - usedAtMs >= every)) await touch(principal.tokenId);
    return { principal, settings: settings.of(row.settings) };
  };

  const ofRun = async (holder: LinkHolder): Promise<AuthenticatedCaller | undefined> => {
    const principal = await findHolder(db, holder);
    return principal && { principal, settings: await settings.read() };
  };

  return {
    authenticate(token) {
      const run = holderOfRunToken(keyring, token);
      return run ? ofRun(run) : ofHash(hashOf(token), false);
    },
    async authenticateConsole(id, background) {
      const key = Buffer.from(hashConsoleId(keyring, id)).toString('hex');
      const row = await db.readOne<SessionRow>(readSessions, key);
      if (row === undefined || Number(row.expires) <= now()) return undefined;
      const restedMs = now() - Number(row.used);
      if (restedMs > consoleIdleMinutes * 60_000) return undefined;
      const caller = await ofHash(row.token, background);
      if (caller === undefined) return undefined;
      if (!background && restedMs >= TOUCH_SESSIONS_EVERY_MS) await touchSession(key);
      const principal = { ...caller.principal, console: { stepUpUntilMs: Number(row.step_up) } };
      return { ...caller, principal };
    },
  };
}

/** The principal of a token in the configuration, with its keyed hash. */
const workerOf = (hashed: string): [hash: string, Principal] => [
  hashed,
  {
    kind: 'agent',
    id: 'workers',
    name: 'workers of the installation',
    tokenId: `workers-${hashed.slice(0, 16)}`,
    siteAdmin: false,
    twoFactor: false,
    isOwnWorker: true,
  },
];

interface Recognised {
  readonly principal: Principal;
  readonly usedAtMs: number | null;
  readonly expiresAtMs: number | null;
}

function recognised(columns: TokenColumns): Recognised {
  const [id, kind, userId, groupId, organizationId, name, siteAdmin, twoFactor, ...times] = columns;
  const [createdAtMs, usedAtMs, expiresAtMs, longestRestMs, onlyFrom] = times;
  const isSession = kind === 'session';
  const principal: Principal = {
    kind: isSession ? 'user' : (kind as Principal['kind']),
    id: userId ?? groupId ?? organizationId ?? kind,
    // A directory's token has no owner.
    name: name ?? kind,
    tokenId: id,
    tokenLifeMs: expiresAtMs === null ? undefined : expiresAtMs - createdAtMs,
    organizationId: userId === null ? (organizationId ?? undefined) : undefined,
    siteAdmin: siteAdmin ?? false,
    twoFactor,
    onlyFrom: foundRanges(onlyFrom),
    session: isSession ? { startedAtMs: createdAtMs, idleSinceMs: usedAtMs ?? createdAtMs, longestRestMs } : undefined,
  };
  return { principal, usedAtMs, expiresAtMs };
}
