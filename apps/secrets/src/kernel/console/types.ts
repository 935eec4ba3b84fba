import type { TokenRecord } from '../tokens/types';

/** How a user signed in at the console, in enough detail to ask for the same credentials again. */
export type SignedInBy =
  | { readonly method: 'token' /** Hex of the keyed hash of what was pasted. */; readonly pasted: string }
  | {
      readonly method: 'userpass' | 'ldap' | 'oidc';
      /** The path inside the namespace, for example `auth/userpass/`. */
      readonly mount: string;
      /** For `oidc`, the name in the token. */
      readonly username: string;
      /** Path of the namespace. */
      readonly namespace: string;
      /** For `userpass`: whether the user signed in with a passkey instead of the password. */
      readonly withPasskey?: boolean;
    };

/** A session at the console. Times are epoch milliseconds. */
export interface ConsoleSession {
  /** Keyed hash of the id that the browser has. */
  readonly hash: Buffer;
  readonly by: SignedInBy;
  /** The token for the session's requests; never leaves the service. */
  readonly token: string;
  readonly record: TokenRecord;
  readonly createdAtMs: number;
  readonly usedAtMs: number;
  /** When the session ends if it is not used until then. */
  readonly idleEndsAtMs: number;
  /** When the session ends even if it is used. */
  readonly expiresAtMs: number;
  /** The time until which the step-up is valid; in the past if there is none. */
  readonly stepUpUntilMs: number;
}

/** How long sessions last. */
export interface ConsoleRules {
  readonly idleSeconds: number;
  readonly sessionSeconds: number;
}
