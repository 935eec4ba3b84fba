/** A session as its page may see it: plain JSON, without anything that opens a door. */
export type SessionView = Readonly<Record<string, unknown>>;

/** A session that was just made. */
export interface NewSession {
  /** What the cookie holds: 32 random bytes in base64url. */
  readonly id: string;
  /** How long the browser keeps the cookie, in seconds: until the absolute end. */
  readonly seconds: number;
  readonly view: SessionView;
}

/** What a service knows of console sessions. All refusals are thrown as `Refusal`. */
export interface Sessions {
  /** Tells what the sign-in page needs: methods, other addresses, state of the service. */
  config(): Promise<SessionView>;
  /** Checks what a person has and makes a session. An issue at `code` asks for a second factor. */
  signIn(proof: Readonly<Record<string, unknown>>, from: From): Promise<NewSession>;
  /** Undefined if it has ended. */
  show(id: string): Promise<SessionView | undefined>;
  signOut(id: string, from: From): Promise<void>;
  /** Proves again who sits there. Throws `unauthenticated` for a wrong proof. */
  stepUp(id: string, proof: Readonly<Record<string, unknown>>, from: From): Promise<SessionView>;
}

/** Where a request came from, as logs and limits see it. */
export interface From {
  readonly address: string;
  readonly requestId: string;
  /** What binds questions to a passkey to this browser, where it has asked one. */
  readonly browser?: string | undefined;
}
