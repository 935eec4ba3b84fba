/** A session as its page may see it: plain JSON without secrets. */
export type SessionView = Readonly<Record<string, unknown>>;

/** A new session. */
export interface NewSession {
  /** The value of the cookie: 32 random bytes in base64url. */
  readonly id: string;
  /** The lifetime of the cookie in seconds: until the absolute end of the session. */
  readonly seconds: number;
  readonly view: SessionView;
}

/** The console sessions of a service. All refusals are thrown as `Refusal`. */
export interface Sessions {
  /** Returns the data for the sign-in page: methods, other addresses, state of the service. */
  config(): Promise<SessionView>;
  /**
   * Checks credentials and creates a session. A refusal with an issue at `code` means that a second factor is required.
   */
  signIn(proof: Readonly<Record<string, unknown>>, from: From): Promise<NewSession>;
  /** Undefined if it has ended. */
  show(id: string): Promise<SessionView | undefined>;
  signOut(id: string, from: From): Promise<void>;
  /** Undefined if the session has ended. */
  stepUp(id: string, proof: Readonly<Record<string, unknown>>, from: From): Promise<SessionView>;
}

/** Where a request came from, for logs and limits. */
export interface From {
  readonly address: string;
  readonly requestId: string;
  /** The secret that binds passkey challenges to this browser; undefined if it has requested none. */
  readonly browser?: string | undefined;
}
