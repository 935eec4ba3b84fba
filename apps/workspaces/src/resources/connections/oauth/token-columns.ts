import type { Keyring } from '@keystead/keyring';
import { sealedBytes } from './sealed';

/** The tokens that a host returned for a code or a refresh token. */
export interface Granted {
  readonly token: string;
  readonly refreshToken: string | null;
  /** The lifetime of the token; null if it does not expire. */
  readonly seconds: number | null;
}

const longestSeconds = 10 * 365 * 86_400;
const soonestSeconds = 60;

/**
 * How a token from a host is stored. It is renewed after half of its lifetime, but not within the first minute. A token
 * without a refresh token is never renewed, unless there is another way to get a new token.
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

/** The columns of a token that a user provides. It does not expire. */
export const broughtColumns = (value: Uint8Array<ArrayBuffer>) => ({
  value,
  refreshToken: null,
  expiresAt: null,
  renewAt: null,
  renewAttempts: 0,
  renewProblem: null,
});
