import type { Keyring } from '@keystead/keyring';
import { sealedBytes } from './sealed';

/** What a host gave for a code or a refresh token. */
export interface Granted {
  readonly token: string;
  readonly refreshToken: string | null;
  /** The lifetime of the token; null: no expiry. */
  readonly seconds: number | null;
}

const longestSeconds = 10 * 365 * 86_400;
const soonestSeconds = 60;

/**
 * What is stored of a token that a host gave: it is renewed when half of its time is over, but not within the minute. One without a
 * refresh token never is, unless there is another way to it.
 */
export function grantColumns(
  keyring: Keyring,
  id: string,
  { token, refreshToken, seconds }: Granted,
  nowMs: number,
  isRenewable = refreshToken !== null,
) {
  const after = (share: number, least = 0) =>
    seconds === null ? null : new Date(nowMs + 1000 * Math.max(Math.min(seconds, longestSeconds) * share, least));
  return {
    value: sealedBytes(keyring, 'oauth_token', id, 'value', token)!,
    refreshToken: sealedBytes(keyring, 'oauth_token', id, 'refresh_token', refreshToken) ?? null,
    expiresAt: after(1),
    renewAt: isRenewable ? after(0.5, soonestSeconds) : null,
    renewAttempts: 0,
    renewProblem: null,
  };
}

/** The columns of a token that a person provides: it has no expiry. */
export const broughtColumns = (value: Uint8Array<ArrayBuffer>) => ({
  value,
  refreshToken: null,
  expiresAt: null,
  renewAt: null,
  renewAttempts: 0,
  renewProblem: null,
});
