import type { Keyring } from '@keystead/keyring';
import { sealedBytes } from './sealed';

/** What a host gave for a code or a refresh token. */
export interface Granted {
  readonly token: string;
  readonly refreshToken: string | null;
  /** How long the token is good; null: until somebody ends it. */
  readonly seconds: number | null;
}

/**
 * What is stored of a token that a host gave: it is renewed when half of its time is over. One without a refresh token never is,
 * unless there is another way to it.
 */
export function grantColumns(
  keyring: Keyring,
  id: string,
  { token, refreshToken, seconds }: Granted,
  nowMs: number,
  isRenewable = refreshToken !== null,
) {
  const after = (share: number) => (seconds === null ? null : new Date(nowMs + seconds * 1000 * share));
  return {
    value: sealedBytes(keyring, 'oauth_token', id, 'value', token)!,
    refreshToken: sealedBytes(keyring, 'oauth_token', id, 'refresh_token', refreshToken) ?? null,
    expiresAt: after(1),
    renewAt: isRenewable ? after(0.5) : null,
    renewAttempts: 0,
    renewProblem: null,
  };
}

/** What is stored of a token that somebody brings: it ends when its owner says so. */
export const broughtColumns = (value: Uint8Array<ArrayBuffer>) => ({
  value,
  refreshToken: null,
  expiresAt: null,
  renewAt: null,
  renewAttempts: 0,
  renewProblem: null,
});
