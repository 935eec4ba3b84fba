import { createHash } from 'node:crypto';
import { randomBase62 } from '@keystead/auth';
import type { Storage } from '../../../sdk/storage';

/** A grant to an application, stored between the authorization and the token endpoint. */
export interface CodeGrant {
  readonly provider: string;
  readonly clientId: string;
  readonly entityId: string;
  readonly redirectUri: string;
  readonly nonce: string;
  /** Besides `openid`. */
  readonly scopes: readonly string[];
  /** Epoch seconds of the person's sign-in. */
  readonly authTime: number;
  /** Empty if PKCE was not used. */
  readonly codeChallenge: string;
  readonly codeChallengeMethod: 'S256' | 'plain';
}

/** The content of an access token. */
export type AccessGrant = Pick<CodeGrant, 'provider' | 'clientId' | 'entityId' | 'scopes'>;

interface KeptGrant extends CodeGrant {
  /** The key of the access token that was issued for the code. If it is set, the code is used. */
  readonly spentFor?: string;
}

const codeSeconds = 300;
const codes = 'oidc/code/';
const accessTokens = 'oidc/access/';
/** How many old grants are deleted with each new grant. */
const sweptPerNew = 16;
const form = /^(?:hvo_access_)?[0-9a-z]{8}\.[0-9A-Za-z]{32}$/;
const accessPrefix = 'hvo_access_';

/** Stores a grant under a new code, which is valid once, for five minutes. */
export async function keepGrant(storage: Storage, grant: CodeGrant, nowMs: number): Promise<string> {
  const now = Math.floor(nowMs / 1000);
  await sweep(storage, codes, now);
  const code = mint('', now + codeSeconds);
  storage.put(keyOf(codes, code), JSON.stringify(grant));
  return code;
}

/**
 * Redeems a grant by its code, only once across all nodes. Issues an access token if `judge` finds no fault, otherwise
 * returns the fault; undefined for an invalid code. A wrong redemption uses up the code. A second redemption revokes
 * the first access token, because one of the two callers is a thief.
 */
export async function redeem<T extends object>(
  storage: Storage,
  code: string,
  nowMs: number,
  accessSeconds: number,
  judge: (grant: CodeGrant) => T | undefined,
): Promise<{ grant: CodeGrant; accessToken: string } | T | undefined> {
  const now = Math.floor(nowMs / 1000);
  if (!form.test(code) || code.slice(0, 8) < timeText(now)) return undefined;
  const accessToken = mint(accessPrefix, now + accessSeconds);
  const [key, accessKey] = [keyOf(codes, code), keyOf(accessTokens, accessToken)];
  await sweep(storage, accessTokens, now);
  return storage.transaction(key, async (tx) => {
    const text = await tx.get(key);
    if (text === undefined) return undefined;
    const { spentFor, ...grant } = JSON.parse(text) as KeptGrant;
    if (spentFor !== undefined) {
      if (spentFor !== '') tx.delete(spentFor);
      return undefined;
    }
    const wrong = judge(grant);
    tx.put(key, JSON.stringify({ ...grant, spentFor: wrong ? '' : accessKey }));
    if (wrong) return wrong;
    const { provider, clientId, entityId, scopes } = grant;
    tx.put(accessKey, JSON.stringify({ provider, clientId, entityId, scopes } satisfies AccessGrant));
    return { grant, accessToken };
  });
}

/** The grant of an access token; undefined if it is invalid. */
export async function findAccess(storage: Storage, token: string, nowMs: number): Promise<AccessGrant | undefined> {
  if (!token.startsWith(accessPrefix) || !form.test(token)) return undefined;
  if (endOf(token) <= timeText(Math.floor(nowMs / 1000))) return undefined;
  const text = await storage.get(keyOf(accessTokens, token));
  return text === undefined ? undefined : (JSON.parse(text) as AccessGrant);
}

/** Deletes old grants. Their names begin with the expiry time, so the oldest come first. */
async function sweep(storage: Storage, prefix: string, now: number): Promise<void> {
  for (const name of await storage.list(prefix, { limit: sweptPerNew })) {
    if (name < timeText(now)) storage.delete(prefix + name);
  }
}

const mint = (prefix: string, end: number): string => `${prefix}${timeText(end)}.${randomBase62(32)}`;

const timeText = (seconds: number): string => seconds.toString(36).padStart(8, '0');

const endOf = (text: string): string => text.slice(0, text.indexOf('.')).slice(-8);

// The key is a hash, so that the database contains neither codes nor tokens.
function keyOf(prefix: string, text: string): string {
  return `${prefix}${endOf(text)}-${createHash('sha256').update(text).digest('hex')}`;
}
