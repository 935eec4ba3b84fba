import { createContext, useContext } from 'react';
import type { Transport } from '../api/transport';
import type { PasskeyMount } from './passkeys';

/** The session, as answered by `GET /ui/session`. */
export interface Session {
  readonly name: string;
  readonly kind: string;
  readonly 'expires-at': string;
  readonly 'idle-ends-at': string;
  readonly 'step-up-until': string | null;
  readonly 'step-up-methods': readonly string[];
  readonly policies?: readonly string[];
  readonly accessor?: string;
  readonly 'entity-id'?: string;
  readonly namespace?: string;
  /** In the secrets service: the userpass method where the user signed in, for example `auth/userpass/`. */
  readonly mount?: string;
  readonly 'user-id'?: string;
  readonly 'is-site-admin'?: boolean;
  /** The provider where the user signed in, if any. */
  readonly 'sign-in-provider'?: { readonly id: string; readonly name: string } | null;
}

/** One way to sign in. */
export interface SignInMethod {
  readonly method: 'token' | 'userpass' | 'ldap' | 'password' | 'passkey' | 'oidc' | 'saml';
  /** For `userpass`, `ldap` and `oidc`: the path of the auth method. */
  readonly mount?: string;
  /** For `oidc` and `saml` of the workspace service, which itself redirects to the provider: the id of the provider. */
  readonly id?: string;
  readonly name?: string;
}

/** The information for the page before sign-in. */
export interface ConsoleConfig {
  readonly service: 'secrets' | 'workspaces';
  readonly version: string;
  readonly edition?: string;
  readonly initialized?: boolean;
  readonly sealed?: boolean;
  readonly other: { readonly secrets?: string; readonly workspaces?: string };
  readonly 'sign-in': readonly SignInMethod[];
  readonly 'needs-first-run'?: boolean;
}

/** The auth method with the user's passkeys, in the secrets service. */
export const passkeyMountOf = ({ mount, namespace = '' }: Session): PasskeyMount | undefined =>
  mount === undefined ? undefined : { mount, namespace };

export interface SessionContextValue {
  readonly session: Session;
  /** Whether the user signed in on this page, instead of having a session when the page was opened. */
  readonly isFresh: boolean;
  readonly config: ConsoleConfig;
  readonly transport: Transport;
  signOut(): Promise<void>;
}

export const SessionContext = createContext<SessionContextValue | undefined>(undefined);

/** The session that this page belongs to; only usable in components below `SignedIn`. */
export function useSession(): SessionContextValue {
  const value = useContext(SessionContext);
  if (value === undefined) throw new Error('useSession is used outside of SignedIn');
  return value;
}
