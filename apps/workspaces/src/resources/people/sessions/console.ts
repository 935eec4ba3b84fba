import { randomBytes } from 'node:crypto';
import { type From, type Passkeys, ProofNeeded } from '@keystead/console-host';
import { invalid } from '@keystead/jsonapi';
import type { Keyring } from '@keystead/keyring';
import type { PasskeyAnswer } from '@keystead/passkeys';
import { isRefusal, Refusal } from '@keystead/refusal';
import type { z } from 'zod';
import type { Principal } from '../../../kernel/access/principal';
import type { AccessTrail } from '../../../kernel/audit/access-trail';
import { actorOf, recordChange } from '../../../kernel/audit/audit';
import type { Database } from '../../../kernel/database/database';
import { hashConsoleId, hashSecret } from '../tokens/secret';
import * as tokens from '../tokens/service';
import { prove } from '../users/attempts';
import { checkPassword } from '../users/password';
import { consolePasskeys } from './console-passkeys';
import * as passkeys from './passkeys';
import { Again, Proof, parseProof } from './proofs';
import { openSession, signIn, signInByPasskey } from './service';
import { spendCode } from './two-factor';

/** The dependencies of console sessions. */
export interface ConsoleParts {
  readonly db: Database;
  readonly keyring: Keyring;
  readonly trail: AccessTrail;
  readonly publicUrl: string;
  readonly idleMinutes: number;
  readonly sessionHours: number;
  now(): number;
}

/** The parts of a session that its page may know. */
export interface ConsoleSession {
  readonly name: string;
  readonly kind: 'user' | 'team' | 'organization';
  readonly 'user-id': string | null;
  readonly 'is-site-admin': boolean;
  readonly 'expires-at': string;
  readonly 'idle-ends-at': string;
  readonly 'step-up-until': string | null;
  readonly 'step-up-methods': readonly ('password' | 'token' | 'code' | 'passkey' | 'provider')[];
  /** The provider at which the user signed in; undefined if they signed in to this service. */
  readonly 'sign-in-provider': { readonly id: string; readonly name: string } | null;
}

/** A session that was just created. `id` is stored in the browser: 32 random bytes in base64url. */
export interface NewConsoleSession {
  readonly id: string;
  readonly seconds: number;
  readonly view: ConsoleSession;
}

const stepUpMinutes = 5;

interface SessionRow {
  readonly token_id: string;
  readonly kind: string;
  readonly user_id: string | null;
  readonly team_id: string | null;
  readonly organization_id: string | null;
  readonly name: string;
  readonly site_admin: boolean;
  readonly has_password: boolean;
  readonly two_factor: boolean;
  readonly has_passkey: boolean;
  readonly token_hash: Uint8Array;
  readonly owns_token: boolean;
  readonly used_at: Date;
  readonly expires_at: Date;
  readonly step_up_until: Date | null;
  readonly provider_id: string | null;
  readonly provider_name: string | null;
}

/**
 * The users and tokens of the console. A session is a row, so every node knows it, and it ends on all nodes
 * immediately. It uses a token and has exactly the token's permissions. It owns the token if the user signed in with a
 * password.
 */
export class ConsoleSessions {
  /** The passkeys of a session's user, and those that the sign-in page requests. */
  readonly passkeys: Passkeys;

  constructor(private readonly parts: ConsoleParts) {
    this.passkeys = consolePasskeys(parts, (session, changesAccess) => this.personOf(session, changesAccess));
  }

  /**
   * Creates a session from a password (and code or passkey), from a passkey that was requested for `browser`, or from
   * an API token. Throws `unauthenticated` if anything is wrong, `limited` if the account is locked, `invalid` at
   * `code` if only the code is missing.
   */
  async create(
    input: unknown,
    { requestId, browser }: Pick<From, 'requestId' | 'browser'>,
  ): Promise<NewConsoleSession> {
    const { sessionHours } = this.parts;
    const proof = parseProof(Proof, input, 'method must be password, passkey or token');
    const now = this.parts.now();
    const minutes = sessionHours * 60;
    const session =
      proof.method === 'token' ? undefined : await this.signIn(proof, { requestId, browser }, now, minutes);
    const tokenId = session?.id ?? (await this.tokenOf((proof as { token: string }).token, now)).id;
    const endsMs = Math.min(now + minutes * 60_000, session?.expiresAt?.getTime() ?? Number.POSITIVE_INFINITY);
    return this.open({ tokenId, ownsToken: session !== undefined }, endsMs, requestId);
  }

  private async signIn(
    proof: Exclude<z.output<typeof Proof>, { method: 'token' }>,
    { requestId, browser }: Pick<From, 'requestId' | 'browser'>,
    now: number,
    minutes: number,
  ): Promise<tokens.Token> {
    const { db } = this.parts;
    const { passkey } = proof;
    const owner = async () => passkey && this.passkeyOwner(passkey, 'sign-in', browser);
    if (proof.method === 'passkey') {
      return signInByPasskey(db, this.parts, requestId, await owner(), now, minutes);
    }
    const { username, code } = proof;
    const shown = passkey && (async (userId: string) => (await owner()) === userId);
    return signIn(
      db,
      this.parts,
      requestId,
      { username, password: proof.password, code, passkey: shown },
      now,
      minutes,
    );
  }

  private async passkeyOwner(
    answer: PasskeyAnswer,
    purpose: 'sign-in' | 'step-up',
    browser: string | undefined,
    session?: string,
  ): Promise<string | undefined> {
    if (browser === undefined) return undefined;
    return passkeys.userOf(this.parts, { purpose, asker: { browser, session } }, answer);
  }

  /**
   * A user's session. Changes of sign-in methods require a recent proof of identity, and a session in which the user
   * signed in: a session from an API token has no more permissions than the token.
   */
  private async personOf(session: string, changesAccess: boolean): Promise<Principal> {
    const row = await this.read(session);
    if (row === undefined) throw new Refusal('unauthenticated', 'sign in first');
    if (row.user_id === null || (changesAccess && !row.owns_token)) {
      throw new Refusal('denied', 'sign in as a user, not with a token');
    }
    if (changesAccess && (row.step_up_until?.getTime() ?? 0) <= this.parts.now()) throw new ProofNeeded();
    return principalOf(row);
  }

  /** Creates a session for a person identified by a provider. */
  async createFor(
    account: { readonly userId: string; readonly username: string; readonly identityId: string },
    {
      providerSession,
      hours,
      provenAtMs,
    }: { providerSession: string | undefined; hours: number | null; provenAtMs: number },
    requestId: string,
  ): Promise<NewConsoleSession> {
    const { db, keyring, sessionHours } = this.parts;
    const { userId, username, identityId } = account;
    const now = this.parts.now();
    const minutes = Math.min(hours ?? sessionHours, sessionHours) * 60;
    const session = await openSession(db, keyring, requestId, { id: userId, username }, now, minutes);
    const endsMs = session.expiresAt?.getTime() ?? now + minutes * 60_000;
    const what = { tokenId: session.id, ownsToken: true, identityId, providerSession };
    return this.open(what, endsMs, requestId, provenAtMs);
  }

  private async open(
    what: { tokenId: string; ownsToken: boolean; identityId?: string; providerSession?: string },
    endsMs: number,
    requestId: string,
    provenAtMs = this.parts.now(),
  ): Promise<NewConsoleSession> {
    const { db, keyring } = this.parts;
    const now = this.parts.now();
    const id = randomBytes(32).toString('base64url');
    const at = { createdAt: new Date(now), usedAt: new Date(now), expiresAt: new Date(endsMs) };
    // Signing in is also a proof.
    const stepUpUntil = new Date(provenAtMs + stepUpMinutes * 60_000);
    await db.prisma.consoleSession.create({ data: { hash: hashConsoleId(keyring, id), ...what, ...at, stepUpUntil } });
    const found = await this.read(id);
    if (found === undefined) throw new Refusal('unauthenticated', '');
    await this.record('create', found, requestId);
    return { id, seconds: Math.floor((endsMs - now) / 1000), view: this.view(found) };
  }

  /** The key under which a session is stored. */
  hashOf(id: string): Uint8Array<ArrayBuffer> {
    return hashConsoleId(this.parts.keyring, id);
  }

  /**
   * Records that the user of a session has confirmed their identity at their provider. Throws `denied` if the provider
   * reports another user.
   */
  async provedAgain(
    hash: Uint8Array<ArrayBuffer>,
    who: { providerId: string; subject: string },
    providerSession: string | undefined,
  ): Promise<void> {
    // The provider may have started a new session on its side, and will report the end of the new session.
    const { count } = await this.parts.db.prisma.consoleSession.updateMany({
      where: { hash, identity: who },
      data: { stepUpUntil: new Date(this.parts.now() + stepUpMinutes * 60_000), providerSession },
    });
    if (count === 0)
      throw new Refusal('denied', 'The user who signed in at the provider is not the user who is signed in here.');
  }

  /** A session by its id; undefined if it does not exist or has ended. This does not restart the idle time. */
  async find(id: string): Promise<ConsoleSession | undefined> {
    const row = await this.read(id);
    return row && this.view(row);
  }

  /** Ends a session, and the token that was created for it. */
  async end(id: string, requestId: string): Promise<void> {
    const { db, keyring } = this.parts;
    const row = await this.read(id);
    await db.prisma.consoleSession.deleteMany({ where: { hash: hashConsoleId(keyring, id) } });
    if (row === undefined) return;
    await db.prisma.loginCode.deleteMany({ where: { tokenId: row.token_id } });
    await this.record('delete', row, requestId);
    const [owned] = row.owns_token ? await tokens.findMany(db, [row.token_id]) : [];
    if (owned) await tokens.remove(db, actorOf({ principal: principalOf(row), request: { id: requestId } }), owned);
  }

  /**
   * Accepts another proof of identity, valid for a few minutes. Throws `unauthenticated` for a wrong proof, and
   * `limited` after too many.
   */
  async stepUp(id: string, input: unknown, browser?: string): Promise<ConsoleSession> {
    const { db, keyring } = this.parts;
    const proof = parseProof(Again, input, 'give one of password, code, passkey and token');
    const row = await this.read(id);
    if (row === undefined || !(await this.isProof(row, proof, { browser, session: id })))
      throw new Refusal('unauthenticated', '');
    const until = new Date(this.parts.now() + stepUpMinutes * 60_000);
    await db.prisma.consoleSession.updateMany({
      where: { hash: hashConsoleId(keyring, id) },
      data: { stepUpUntil: until },
    });
    return this.view({ ...row, step_up_until: until });
  }

  private async isProof(
    row: SessionRow,
    proof: z.output<typeof Again>,
    { browser, session }: { browser: string | undefined; session: string },
  ): Promise<boolean> {
    const { db, keyring } = this.parts;
    if ('token' in proof) return Buffer.from(row.token_hash).equals(hashSecret(keyring, proof.token));
    const { user_id: userId } = row;
    if (userId === null) return false;
    if ('passkey' in proof) return (await this.passkeyOwner(proof.passkey, 'step-up', browser, session)) === userId;
    const now = this.parts.now();
    if ('code' in proof) {
      if (!row.two_factor) throw invalid('code', 'cannot be required: the account has no two-factor authentication');
      return prove(db, keyring, userId, now, () => spendCode(db, keyring, userId, proof.code, now));
    }
    const user = await db.prisma.user.findUnique({ where: { id: userId }, select: { passwordHash: true } });
    return prove(db, keyring, userId, now, () => checkPassword(proof.password, user?.passwordHash ?? null));
  }

  /** The valid token with this string, of a kind that may use the API. Throws `unauthenticated`. */
  private async tokenOf(secret: string, now: number): Promise<{ readonly id: string }> {
    const { db, keyring } = this.parts;
    const hash = new Uint8Array(hashSecret(keyring, secret));
    const [row] = await db.prisma.$queryRaw<{ id: string }[]>`
      SELECT t.id FROM token t
        LEFT JOIN user_account u ON u.id = t.user_id LEFT JOIN team g ON g.id = t.team_id
        LEFT JOIN organization o ON o.id = coalesce(t.organization_id, g.organization_id)
       WHERE t.hash = ${hash} AND t.kind IN ('user', 'session', 'team', 'organization') AND u.suspended_at IS NULL
         AND (t.user_id IS NOT NULL OR o.removed_at IS NULL) AND (t.expires_at IS NULL OR t.expires_at > ${new Date(now)})`;
    if (!row) throw new Refusal('unauthenticated', '');
    return row;
  }

  private async read(id: string): Promise<SessionRow | undefined> {
    const { db, keyring, idleMinutes } = this.parts;
    const now = this.parts.now();
    const [row] = await db.prisma.$queryRaw<SessionRow[]>`
      SELECT c.token_id, t.kind, t.user_id, t.team_id, o.id AS organization_id, coalesce(u.username, g.name, o.name) AS name,
             coalesce(u.site_admin, FALSE) AS site_admin, u.password_hash IS NOT NULL AS has_password,
             f.verified_at IS NOT NULL AS two_factor, EXISTS (SELECT FROM passkey k WHERE k.user_id = u.id) AS has_passkey,
             t.hash AS token_hash,
             c.owns_token, c.used_at, c.expires_at, c.step_up_until,
             p.id AS provider_id, p.name AS provider_name
        FROM console_session c JOIN token t ON t.id = c.token_id
        LEFT JOIN external_identity i ON i.id = c.identity_id LEFT JOIN sign_in_provider p ON p.id = i.provider_id
        LEFT JOIN user_account u ON u.id = t.user_id LEFT JOIN two_factor f ON f.user_id = t.user_id
        LEFT JOIN team g ON g.id = t.team_id LEFT JOIN organization o ON o.id = coalesce(t.organization_id, g.organization_id)
       WHERE c.hash = ${hashConsoleId(keyring, id)} AND c.expires_at > ${new Date(now)}
         AND c.used_at >= ${new Date(now - idleMinutes * 60_000)}
         AND (t.expires_at IS NULL OR t.expires_at > ${new Date(now)})
         AND u.suspended_at IS NULL AND (t.user_id IS NOT NULL OR o.removed_at IS NULL)`;
    return row;
  }

  private view(row: SessionRow): ConsoleSession {
    const { idleMinutes } = this.parts;
    const now = this.parts.now();
    const until = row.step_up_until;
    const provider = row.provider_id === null ? null : { id: row.provider_id, name: row.provider_name ?? '' };
    const methods = [
      ...(provider === null ? [] : (['provider'] as const)),
      ...(row.user_id !== null && row.has_password ? (['password'] as const) : []),
      ...(row.user_id !== null && row.two_factor ? (['code'] as const) : []),
      ...(row.has_passkey ? (['passkey'] as const) : []),
      ...(row.owns_token ? [] : (['token'] as const)),
    ];
    const idleEndsMs = Math.min(row.used_at.getTime() + idleMinutes * 60_000, row.expires_at.getTime());
    return {
      name: row.name,
      kind: kindOf(row),
      'user-id': row.user_id,
      'is-site-admin': row.site_admin,
      'expires-at': row.expires_at.toISOString(),
      'idle-ends-at': new Date(idleEndsMs).toISOString(),
      'step-up-until': until !== null && until.getTime() > now ? until.toISOString() : null,
      'step-up-methods': methods,
      'sign-in-provider': provider,
    };
  }

  private async record(verb: 'create' | 'delete', row: SessionRow, requestId: string): Promise<void> {
    const principal = principalOf(row);
    await recordChange(this.parts.db, actorOf({ principal, request: { id: requestId } }), {
      organizationId: row.user_id === null ? row.organization_id : null,
      action: `console-session.${verb}`,
      target: { type: 'authentication-tokens', id: row.token_id, name: row.name },
    });
  }
}

const kindOf = ({ user_id, team_id }: SessionRow) =>
  user_id !== null ? 'user' : team_id !== null ? 'team' : 'organization';

function principalOf(row: SessionRow): Principal {
  const id = (row.user_id ?? row.team_id ?? row.organization_id)!;
  const { name, token_id: tokenId, site_admin: siteAdmin, two_factor: twoFactor } = row;
  return { kind: kindOf(row), id, name, tokenId, siteAdmin, twoFactor };
}

/** Whether a refused sign-in lacks only the code of a second factor. */
export function lacksCode(error: unknown): boolean {
  return isRefusal(error) && error.kind === 'invalid' && error.issues.some(({ path }) => path.at(-1) === 'code');
}

/** Deletes sessions that have ended, and ends the tokens that were created for them. Returns the number of sessions. */
export async function sweepConsoleSessions(db: Database, idleMinutes: number, now: number): Promise<number> {
  return db.prisma.$executeRaw`
    WITH over AS (
      DELETE FROM console_session WHERE expires_at <= ${new Date(now)} OR used_at < ${new Date(now - idleMinutes * 60_000)}
      RETURNING token_id, owns_token)
    DELETE FROM token WHERE id IN (SELECT token_id FROM over WHERE owns_token)`;
}
