import { createHash } from 'node:crypto';
import { equalSecrets, networkOf, randomBase62 } from '@keystead/auth';
import type { Login } from '../../sdk/reply';
import type { Storage } from '../../sdk/storage';

/** A pending login by browser or device, shared by all nodes. */
export interface PendingLogin {
  readonly role: string;
  /** The callback mode of the role when the login was started. */
  readonly mode: 'client' | 'direct' | 'device';
  readonly redirectUri: string;
  readonly nonce: string;
  /** The PKCE verifier; the browser only sees its digest. */
  readonly verifier: string;
  /** Chosen by the client that starts the login, and required to finish it; empty if none was chosen. */
  readonly clientNonce: string;
  /** Issuer and client at the start. If the configuration has changed, the login is no longer valid. */
  readonly provider: string;
  readonly deviceCode?: string;
  /** The address of its initiator, for the confirmation page. */
  readonly address: string;
  /** The provider's form response; only the browser that delivered it has `proof`. */
  readonly byForm?: { readonly code: string; readonly proof: string };
  /** Whether the code was redeemed or is being redeemed. */
  readonly taken?: boolean;
  /** The result, stored for another call that will fetch it. */
  readonly login?: Login;
}

/**
 * A login in its slot. The number of slots of a mount is limited, because strangers could otherwise fill the database.
 */
interface StoredLogin {
  readonly digest: string;
  readonly endsAt: number;
  readonly pending: PendingLogin;
}

const prefix = 'oidc/';
const lifetimeSeconds = 600;
const places = 8192;
/**
 * The number of slots that are tried. If none of them is free, a login of the network that has the most of them is
 * dropped. So a network that floods the mount only loses its own logins.
 */
const looks = 8;
/**
 * In earlier versions, the keys of logins began with their expiry time. Each new login removes up to this many of them
 * that have expired.
 */
const sweptPerNew = 16;
const stateForm = /^[0-9a-z]{8}\.[0-9A-Za-z]{32}$/;

/** Stores a new login under an unguessable state, for ten minutes. */
export async function keep(storage: Storage, pending: PendingLogin, nowMs: number): Promise<string> {
  const now = Math.floor(nowMs / 1000);
  for (const name of await storage.list(prefix, { limit: sweptPerNew })) {
    if (name < timeText(now)) storage.delete(prefix + name);
  }
  const endsAt = now + lifetimeSeconds;
  const logins: { place: string; state: string; network: string; endsAt: number }[] = [];
  const put = (tx: Storage, place: string, state: string) =>
    tx.put(place, JSON.stringify({ digest: digestOf(state), endsAt, pending } satisfies StoredLogin));
  while (logins.length < looks) {
    const state = `${timeText(endsAt)}.${randomBase62(32)}`;
    const place = placeOf(state);
    const waiting = await storage.transaction(place, async (tx) => {
      const text = await tx.get(place);
      const stored = text === undefined ? undefined : (JSON.parse(text) as StoredLogin);
      if (stored !== undefined && stored.endsAt >= now) return stored;
      put(tx, place, state);
      return undefined;
    });
    if (waiting === undefined) return state;
    logins.push({ place, state, network: networkOf(waiting.pending.address), endsAt: waiting.endsAt });
  }
  const sizeOf = (network: string) => logins.filter((one) => one.network === network).length;
  const [{ place, state }] = logins.sort((a, b) => sizeOf(b.network) - sizeOf(a.network) || a.endsAt - b.endsAt) as [
    (typeof logins)[number],
  ];
  await storage.transaction(place, async (tx) => put(tx, place, state));
  return state;
}

/**
 * Changes the login with a given state, one caller at a time. `judge` returns the record to store (undefined removes
 * the login) and the result for the caller. Undefined if the login does not exist.
 */
export async function decide<T>(
  storage: Storage,
  sent: string,
  nowMs: number,
  judge: (pending: PendingLogin) => { next: PendingLogin | undefined; result: T },
): Promise<T | undefined> {
  // The namespace in the state is only for the page that redirected the user here.
  const state = sent.replace(/,ns=.*$/s, '');
  if (!stateForm.test(state)) return undefined;
  const key = placeOf(state);
  return storage.transaction(key, async (tx) => {
    const text = await tx.get(key);
    const stored = text === undefined ? undefined : (JSON.parse(text) as StoredLogin);
    if (stored?.digest !== digestOf(state) || stored.endsAt < Math.floor(nowMs / 1000)) return undefined;
    const { next, result } = judge(stored.pending);
    if (next === undefined) tx.delete(key);
    else if (next !== stored.pending) tx.put(key, JSON.stringify({ ...stored, pending: next }));
    return result;
  });
}

/** Whether the browser that finishes the login is the one that sent the code by form. */
export const isBearer = ({ byForm }: PendingLogin, sent: string): boolean =>
  byForm !== undefined && equalSecrets(byForm.proof, sent);

/** Whether the caller that finishes a login is the one that started it. */
export function isBeginner({ clientNonce }: PendingLogin, sent: string): boolean {
  return clientNonce === '' || equalSecrets(clientNonce, sent);
}

const timeText = (seconds: number): string => seconds.toString(36).padStart(8, '0');

// The state itself is not stored, so read access to the database is not enough to finish a login.
const digestOf = (state: string): string => createHash('sha256').update(state).digest('hex');

const placeOf = (state: string): string =>
  `${prefix}place-${Number.parseInt(digestOf(state).slice(0, 8), 16) % places}`;
