import { randomBytes } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { Refusal } from '@keystead/refusal';
import type { SessionCookie } from './session-cookie';
import type { From, SessionView } from './sessions';

/** The purpose of a passkey request: to sign in, to confirm the identity, or to add a passkey to the account. */
export const passkeyPurposes = ['sign-in', 'step-up', 'add'] as const;
export type PasskeyPurpose = (typeof passkeyPurposes)[number];

/** Where a challenge was issued; its response is accepted only there. */
export interface PasskeyAsker {
  /** The cookie of the browser. */
  readonly browser: string;
  /** Absent if no one is signed in yet. */
  readonly session?: string | undefined;
}

/** The passkeys (WebAuthn) of a service. All refusals are thrown as `Refusal`. */
export interface Passkeys {
  /** The options for the browser's WebAuthn call. */
  ask(purpose: PasskeyPurpose, asker: PasskeyAsker): Promise<SessionView>;
  list(session: string): Promise<readonly SessionView[]>;
  add(
    deps: Readonly<Record<string, unknown>>,
    asker: PasskeyAsker & { session: string },
    from: From,
  ): Promise<SessionView>;
  /** Throws `missing`. */
  remove(session: string, id: string, from: From): Promise<void>;
}

/** How long the browser may take. */
const answerSeconds = 300;
const one = /^\/ui\/passkeys\/([\w-]{1,64})$/;

type Answering = (req: IncomingMessage, res: ServerResponse) => Promise<void>;

/** The parts of the console host that the routes use. */
export interface PasskeyRoutesParts {
  readonly passkeys: Passkeys;
  readonly sessions: SessionCookie;
  readonly browsers: SessionCookie;
  from(req: IncomingMessage): From;
  read(req: IncomingMessage): Promise<Readonly<Record<string, unknown>>>;
  json(res: ServerResponse, status: number, value: unknown): void;
}

/** The handlers of `POST /ui/passkeys/ask`, `GET` and `POST /ui/passkeys`, and `DELETE /ui/passkeys/:id`, by method. */
export function passkeyRoutes(
  parts: PasskeyRoutesParts,
  path: string,
): Readonly<Record<string, Answering>> | undefined {
  const { passkeys, sessions, browsers, from, read, json } = parts;
  const sessionOf = (req: IncomingMessage): string => {
    const session = sessions.idOf(req);
    if (session === undefined) throw new Refusal('unauthenticated', 'sign in first');
    return session;
  };
  if (path === '/ui/passkeys/ask') {
    return {
      POST: async (req, res) => {
        const { for: purposeName } = await read(req);
        const purpose = passkeyPurposes.find((name) => name === purposeName);
        if (purpose === undefined) throw new Refusal('invalid', `for must be one of ${passkeyPurposes.join(', ')}`);
        const browser = browsers.idOf(req) ?? randomBytes(32).toString('base64url');
        const session = purpose === 'sign-in' ? undefined : sessionOf(req);
        const question = await passkeys.ask(purpose, { browser, session });
        res.setHeader('Set-Cookie', browsers.set(req, browser, answerSeconds));
        json(res, 200, question);
      },
    };
  }
  if (path === '/ui/passkeys') {
    return {
      GET: async (req, res) => json(res, 200, await passkeys.list(sessionOf(req))),
      POST: async (req, res) => {
        const session = sessionOf(req);
        const browser = browsers.idOf(req) ?? '';
        json(res, 201, await passkeys.add(await read(req), { browser, session }, from(req)));
      },
    };
  }
  const id = one.exec(path)?.[1];
  if (id === undefined) return undefined;
  return {
    DELETE: async (req, res) => {
      await passkeys.remove(sessionOf(req), id, from(req));
      res.writeHead(204, { 'Cache-Control': 'no-store' }).end();
    },
  };
}
