import { createHash } from 'node:crypto';
import { equalSecrets, randomBase62 } from '@keystead/auth';
import { invalid } from '@keystead/jsonapi';
import type { Keyring } from '@keystead/keyring';
import type { Principal } from '../../../kernel/access/principal';
import type { Actor } from '../../../kernel/audit/audit';
import type { Database } from '../../../kernel/database/database';
import * as tokens from '../tokens/service';

/** The only client that signs in this way: a public one, on the user's own machine. */
const clientId = 'keystead-cli';
/** Where the tool waits for the answer. */
const ports = [10000, 10010] as const;
const validMs = 5 * 60_000;

/** The checked authorization request of the tool. */
export interface LoginRequest {
  readonly clientId: string;
  readonly redirectUri: string;
  readonly codeChallenge: string;
}

/** The error in an authorization request; undefined if the request may be shown to a user. */
export function problemOf({ clientId: client, redirectUri, codeChallenge }: LoginRequest): string | undefined {
  if (client !== clientId) return 'client_id is unknown';
  if (!isLoopback(redirectUri))
    return "redirect_uri is not an address of the user's own machine on which the tool listens";
  if (!/^[A-Za-z0-9_-]{43}$/.test(codeChallenge)) return 'code_challenge is not a SHA-256 hash';
  return undefined;
}

function isLoopback(text: string): boolean {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  const port = Number(url?.port);
  return (
    url?.protocol === 'http:' &&
    ['localhost', '127.0.0.1', '[::1]'].includes(url.hostname) &&
    url.username === '' &&
    url.password === '' &&
    url.hash === '' &&
    port >= ports[0] &&
    port <= ports[1]
  );
}

/** A code for the user who created it, shown once. */
export interface LoginCode {
  readonly code: string;
  readonly expiresAt: Date;
}

/**
 * Creates the code that the tool exchanges for a token of the signed-in user. The code expires with their session.
 * Throws `invalid`.
 */
export async function createLoginCode(
  db: Database,
  keyring: Keyring,
  { id: userId, tokenId }: Pick<Principal, 'id' | 'tokenId'>,
  request: LoginRequest,
  now: number,
): Promise<LoginCode> {
  const problem = problemOf(request);
  if (problem)
    throw invalid(
      problem.split(' ')[0]!.replace(/_([a-z])/g, (_, letter) => letter.toUpperCase()),
      problem,
    );
  const code = randomBase62(48);
  const expiresAt = new Date(now + validMs);
  await db.prisma.loginCode.deleteMany({ where: { expiresAt: { lt: new Date(now) } } });
  await db.prisma.loginCode.create({
    data: {
      hash: hashOf(keyring, code),
      userId,
      tokenId,
      clientId: request.clientId,
      redirectUri: request.redirectUri,
      challenge: request.codeChallenge,
      expiresAt,
    },
  });
  return { code, expiresAt };
}

/** The request of the tool for a token: the code, and proof that it started the login. */
export interface Exchange {
  readonly code: string;
  readonly clientId: string;
  readonly redirectUri: string;
  readonly codeVerifier: string;
}

/**
 * Exchanges a code for a token; undefined for a code that is unknown, used, too old, or another user's. The code is
 * used up in any case.
 */
export async function exchangeCode(
  db: Database,
  keyring: Keyring,
  requestId: string,
  exchange: Exchange,
  now: number,
): Promise<string | undefined> {
  const [row] = await db.prisma.$queryRaw<
    {
      user_id: string;
      username: string;
      client_id: string;
      redirect_uri: string;
      challenge: string;
      expires_at: Date;
    }[]
  >`DELETE FROM login_code c USING user_account u WHERE c.hash = ${hashOf(keyring, exchange.code)}
      AND u.id = c.user_id AND u.suspended_at IS NULL
    RETURNING c.user_id, u.username, c.client_id, c.redirect_uri, c.challenge, c.expires_at`;
  if (!row || row.expires_at.getTime() <= now) return undefined;
  const challenge = createHash('sha256').update(exchange.codeVerifier).digest('base64url');
  const fits =
    row.client_id === exchange.clientId &&
    row.redirect_uri === exchange.redirectUri &&
    /^[A-Za-z0-9._~-]{43,128}$/.test(exchange.codeVerifier) &&
    equalSecrets(challenge, row.challenge);
  if (!fits) return undefined;
  const actor: Actor = { type: 'users', id: row.user_id, name: row.username, requestId };
  const holder = { kind: 'user', userId: row.user_id } as const;
  return (await tokens.create(db, keyring, actor, holder, { description: 'login of the tool' }, now)).secret;
}

function hashOf(keyring: Keyring, code: string): Uint8Array<ArrayBuffer> {
  return new Uint8Array(keyring.mac('workspace-login-code', code));
}
