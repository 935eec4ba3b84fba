import type { TokenRecord } from '../tokens/types';

/** How a person signed in at the console: enough to ask them again. */
export type SignedInBy =
  | { readonly method: 'token' /** Hex of the keyed hash of what was pasted. */; readonly pasted: string }
  | {
      readonly method: 'userpass' | 'ldap' | 'oidc';
      /** Inside the namespace, for example `auth/userpass/`. */
      readonly mount: string;
      /** Of `oidc` the name that its token shows. */
      readonly username: string;
      /** Path of the namespace. */
      readonly namespace: string;
    };

/** A session at the console. Times are epoch milliseconds. */
export interface ConsoleSession {
  /** Keyed hash of the id that the browser has. */
  readonly hash: Buffer;
  readonly by: SignedInBy;
  /** What requests of the session are made with; never leaves the service. */
  readonly token: string;
  readonly record: TokenRecord;
  readonly createdAtMs: number;
  readonly usedAtMs: number;
  /** When it ends unless it is used before. */
  readonly idleEndsAtMs: number;
  /** When it ends however much it is used. */
  readonly expiresAtMs: number;
  /** Until then its holder counts as having proven again who they are; in the past where they have not. */
  readonly stepUpUntilMs: number;
}

/** How long sessions last. */
export interface ConsoleRules {
  readonly idleSeconds: number;
  readonly sessionSeconds: number;
}
