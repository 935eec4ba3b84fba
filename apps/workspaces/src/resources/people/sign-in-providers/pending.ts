import { createHash, randomBytes } from 'node:crypto';
import { networkOf } from '@keystead/auth';
import type { Keyring } from '@keystead/keyring';
import type { Database } from '../../../kernel/database/database';
import type { SignInProvider } from './provider';

/**
 * A sign-in that is about to be sent to a provider: the parameters to send, and the browser's secret for the response.
 */
export interface Leaving {
  readonly state: string;
  readonly nonce: string;
  /** Derived from the PKCE verifier, which only the provider receives, at the end of the sign-in. */
  readonly challenge: string;
}

/** A sign-in whose browser has returned. */
export interface ComeBack {
  readonly providerId: string;
  readonly nonce: string;
  readonly verifier: string;
  readonly returnTo: string;
  /** The hash of the session whose user is confirming their identity. */
  readonly sessionHash: Uint8Array<ArrayBuffer> | null;
  readonly client: string;
  readonly beganAtMs: number;
  /** The provider's answer, if it came in a separate request. */
  readonly answer: string | undefined;
}

/** A sign-in whose provider has not answered yet. */
export type Pending = Pick<ComeBack, 'providerId' | 'nonce' | 'sessionHash' | 'beganAtMs'>;

const lifetimeMs = 10 * 60_000;
/**
 * Anyone may begin a sign-in, without a token. Beyond this number, the oldest sign-ins are deleted from the network
 * that has the most.
 */
const mostPending = 10_000;
/** 32 random bytes in base64url. */
const form = /^[\w-]{43}$/;

/** Stores a sign-in that begins in a browser, for ten minutes. */
export async function leave(
  db: Database,
  keyring: Keyring,
  provider: Pick<SignInProvider, 'id' | 'issuer' | 'clientId'>,
  signInRequest: { browser: string; address: string; returnTo: string; sessionHash?: Uint8Array<ArrayBuffer> },
  nowMs: number,
): Promise<Leaving> {
  const state = randomBytes(32).toString('base64url');
  await db.prisma.$executeRaw`
    DELETE FROM pending_sign_in WHERE expires_at < ${new Date(nowMs)} OR state_hash IN (
      SELECT p.state_hash FROM pending_sign_in p
       WHERE p.network_hash IS NOT DISTINCT FROM (
               SELECT network_hash FROM pending_sign_in GROUP BY 1 ORDER BY count(*) DESC LIMIT 1)
       ORDER BY p.expires_at
       LIMIT (SELECT greatest(count(*) - ${mostPending - 1}, 0) FROM pending_sign_in))`;
  await db.prisma.pendingSignIn.create({
    data: {
      stateHash: hashOf(keyring, 'state', state),
      browserHash: hashOf(keyring, 'browser', signInRequest.browser),
      networkHash: hashOf(keyring, 'network', networkOf(signInRequest.address)),
      providerId: provider.id,
      client: clientOf(provider),
      returnTo: signInRequest.returnTo,
      sessionHash: signInRequest.sessionHash ?? null,
      createdAt: new Date(nowMs),
      expiresAt: new Date(nowMs + lifetimeMs),
    },
  });
  const { nonce, verifier } = derived(keyring, state);
  return { state, nonce, challenge: createHash('sha256').update(verifier).digest('base64url') };
}

/**
 * Consumes the sign-in with a given state. It is valid only once, and only in the browser that started it. A stored
 * response is only valid with its handle. Undefined if there is no such sign-in.
 */
export async function comeBack(
  db: Database,
  keyring: Keyring,
  { state, handle, browser }: { state: string; handle: string; browser: string | undefined },
  nowMs: number,
): Promise<ComeBack | undefined> {
  if (browser === undefined || !form.test(state) || !form.test(browser)) return undefined;
  // A request from another browser consumes nothing, so that the right user can still return.
  const [row] = await db.prisma.$queryRaw<
    {
      provider_id: string;
      return_to: string;
      session_hash: Uint8Array<ArrayBuffer> | null;
      client: string;
      created_at: Date;
      expires_at: Date;
      answer: Uint8Array | null;
    }[]
  >`DELETE FROM pending_sign_in
     WHERE state_hash = ${hashOf(keyring, 'state', state)} AND browser_hash = ${hashOf(keyring, 'browser', browser)}
       AND (answer IS NULL OR handle_hash = ${hashOf(keyring, 'handle', handle)})
    RETURNING provider_id, return_to, session_hash, client, created_at, expires_at, answer`;
  if (!row || row.expires_at.getTime() <= nowMs) return undefined;
  return {
    ...derived(keyring, state),
    providerId: row.provider_id,
    returnTo: row.return_to,
    sessionHash: row.session_hash,
    client: row.client,
    beganAtMs: row.created_at.getTime(),
    answer: row.answer === null ? undefined : keyring.open(row.answer, cellOf(keyring, state)).toString('utf8'),
  };
}

/** The sign-in of a state, while it has no answer. */
export async function leaving(
  db: Database,
  keyring: Keyring,
  state: string,
  nowMs: number,
): Promise<Pending | undefined> {
  if (!form.test(state)) return undefined;
  const row = await db.prisma.pendingSignIn.findUnique({
    where: { stateHash: hashOf(keyring, 'state', state), answer: null, expiresAt: { gt: new Date(nowMs) } },
    select: { providerId: true, sessionHash: true, createdAt: true },
  });
  if (row === null) return undefined;
  const { providerId, sessionHash, createdAt } = row;
  const { nonce } = derived(keyring, state);
  return { providerId, sessionHash: sessionHash as ComeBack['sessionHash'], beganAtMs: createdAt.getTime(), nonce };
}

/**
 * Stores a provider's response, and returns a handle for the browser that delivered it. A browser that knows only the
 * state, such as the browser that started the sign-in, gets nothing. Undefined if there is already a response.
 */
export async function keepAnswer(
  db: Database,
  keyring: Keyring,
  state: string,
  answer: object,
): Promise<string | undefined> {
  const handle = randomBytes(32).toString('base64url');
  const sealed = new Uint8Array(keyring.seal(Buffer.from(JSON.stringify(answer)), cellOf(keyring, state)));
  const { count } = await db.prisma.pendingSignIn.updateMany({
    where: { stateHash: hashOf(keyring, 'state', state), answer: null },
    data: { answer: sealed, handleHash: hashOf(keyring, 'handle', handle) },
  });
  return count === 1 ? handle : undefined;
}

const cellOf = (keyring: Keyring, state: string) => ({
  table: 'pending_sign_in',
  row: Buffer.from(hashOf(keyring, 'state', state)).toString('hex'),
  column: 'answer',
});

/** The settings at the beginning of a sign-in. If they change, the sign-in becomes invalid. */
export const clientOf = ({ issuer, clientId }: Pick<SignInProvider, 'issuer' | 'clientId'>): string =>
  createHash('sha256')
    .update(JSON.stringify([issuer, clientId]))
    .digest('base64url');

// Neither is in the database, and someone who sees the address bar cannot compute them without the key.
function derived(keyring: Keyring, state: string): { nonce: string; verifier: string } {
  const of = (what: string) => keyring.mac(`workspace-provider-${what}`, state).toString('base64url');
  return { nonce: of('nonce'), verifier: of('verifier') };
}

function hashOf(
  keyring: Keyring,
  what: 'state' | 'browser' | 'handle' | 'network',
  text: string,
): Uint8Array<ArrayBuffer> {
  return new Uint8Array(keyring.mac(`workspace-provider-${what}`, text));
}
