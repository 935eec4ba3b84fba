import { createHash } from 'node:crypto';
import { equalSecrets, randomBase62 } from '@keystead/auth';
import type { Login } from '../../sdk/reply';
import type { Storage } from '../../sdk/storage';

/** A login by browser or device that was begun, as every node finds it. */
export interface PendingLogin {
  readonly role: string;
  /** As the role said when it began. */
  readonly mode: 'client' | 'direct' | 'device';
  readonly redirectUri: string;
  readonly nonce: string;
  /** The PKCE verifier; the browser sees its digest alone. */
  readonly verifier: string;
  /** Chosen by who began it, and asked for at the end; empty where they chose none. */
  readonly clientNonce: string;
  /** Issuer and client it was begun with: after a change of the configuration it is no longer good. */
  readonly provider: string;
  readonly deviceCode?: string;
  /** Who began it, for the page that asks whether it was you. */
  readonly address: string;
  /** A code that came by form, for the call that finishes. */
  readonly code?: string;
  /** The code is being redeemed, or was. */
  readonly taken?: boolean;
  /** What came of it, where another call fetches it. */
  readonly login?: Login;
}

const prefix = 'oidc/';
const lifetimeSeconds = 600;
/** Old ones that go with each new one. */
const sweptPerNew = 16;
const stateForm = /^[0-9a-z]{8}\.[0-9A-Za-z]{32}$/;

/** Keeps a login that begins; the state that leads to it is unguessable, and its keeper forgets it after ten minutes. */
export async function keep(storage: Storage, pending: PendingLogin, nowMs: number): Promise<string> {
  const now = Math.floor(nowMs / 1000);
  // They are named by their end, so the oldest stand first.
  for (const name of await storage.list(prefix, { limit: sweptPerNew })) {
    if (name < timeText(now)) storage.delete(prefix + name);
  }
  const state = `${timeText(now + lifetimeSeconds)}.${randomBase62(32)}`;
  storage.put(keyOf(state), JSON.stringify(pending));
  return state;
}

/**
 * Decides about a login by its state, in turn: `decide` answers what is to stand there afterwards (undefined: nothing more)
 * and what the caller is told. Undefined where there is none, or none any more.
 */
export async function decide<T>(
  storage: Storage,
  sent: string,
  nowMs: number,
  judge: (pending: PendingLogin) => { next: PendingLogin | undefined; told: T },
): Promise<T | undefined> {
  // A namespace that travelled along is for whoever led the person here.
  const state = sent.replace(/,ns=.*$/s, '');
  if (!stateForm.test(state)) return undefined;
  const key = keyOf(state);
  return storage.transaction(key, async (tx) => {
    const text = await tx.get(key);
    if (text === undefined || state.slice(0, 8) < timeText(Math.floor(nowMs / 1000))) return undefined;
    const pending = JSON.parse(text) as PendingLogin;
    const { next, told } = judge(pending);
    if (next === undefined) tx.delete(key);
    else if (next !== pending) tx.put(key, JSON.stringify(next));
    return told;
  });
}

/** Whether who ends a login is who began it. */
export function isBeginner({ clientNonce }: PendingLogin, sent: string): boolean {
  return clientNonce === '' || equalSecrets(clientNonce, sent);
}

const timeText = (seconds: number): string => seconds.toString(36).padStart(8, '0');

// Who reads the database cannot finish a login: the state itself stands nowhere.
function keyOf(state: string): string {
  return `${prefix}${state.slice(0, 8)}-${createHash('sha256').update(state).digest('hex')}`;
}
