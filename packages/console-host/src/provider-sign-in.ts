import type { From, NewSession } from './sessions';

/** A user leaves for a provider. */
export interface Leave {
  readonly provider: string;
  /** A secret that only this browser holds: 32 random bytes in base64url. */
  readonly browser: string;
  /** The page to come back to, as the request named it: untrusted input. */
  readonly returnTo?: string;
  /** The session whose person is to prove again who they are. */
  readonly session?: string;
}

/** A browser that a provider has sent back. */
export interface ComingBack {
  readonly sent: URLSearchParams;
  /** Undefined if it holds nothing. */
  readonly browser: string | undefined;
}

/** What became of it. */
export interface CameBack {
  /** Undefined if a session that was there goes on. */
  readonly session?: NewSession;
  /** A page of the console. */
  readonly returnTo: string;
}

/** Sign-in at providers elsewhere, as a service knows it. All refusals are thrown as `Refusal`. */
export interface ProviderSignIn {
  /** Where the browser goes. Throws `missing`. */
  leave(leaving: Leave, from: From): Promise<string>;
  comeBack(coming: ComingBack, from: From): Promise<CameBack>;
  /** A provider says that some of its sessions are over. Throws `malformed` for a token that does not say so. */
  endSessions(provider: string, logoutToken: string, from: From): Promise<void>;
}
