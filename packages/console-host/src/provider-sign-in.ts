import type { From, NewSession } from './sessions';

/** A browser that is about to be redirected to a provider. */
export interface Leave {
  readonly provider: string;
  /** A secret that only this browser holds: 32 random bytes in base64url. */
  readonly browser: string;
  /** The page to return to, from the request: untrusted input. */
  readonly returnTo?: string;
  /** The session whose user must confirm their identity again. */
  readonly session?: string;
}

/** A browser that a provider has redirected back. */
export interface ComingBack {
  readonly sent: URLSearchParams;
  /** Undefined if the browser sent no secret. */
  readonly browser: string | undefined;
}

/** The outcome of a sign-in. */
export interface CameBack {
  /** Undefined if an existing session continues. */
  readonly session?: NewSession;
  /** A page of the console. */
  readonly returnTo: string;
}

/** A service's sign-in at external providers. All refusals are thrown as `Refusal`. */
export interface ProviderSignIn {
  /** Where to redirect the browser. Throws `missing`. */
  leave(departure: Leave, from: From): Promise<string>;
  comeBack(arrival: ComingBack, from: From): Promise<CameBack>;
  /** A provider has ended some of its sessions. Throws `malformed` for an invalid logout token. */
  endSessions(provider: string, logoutToken: string, from: From): Promise<void>;
}
