import { randomBytes } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { isRefusal, Refusal, usualStatus } from '@keystead/refusal';
import { BodyTooLarge, contentPolicy, pageGuards, readBody } from '@keystead/server';
import type { ProviderSignIn } from './provider-sign-in';
import { isOwnPage } from './same-origin';
import type { SessionCookie } from './session-cookie';
import type { From } from './sessions';

const root = '/ui/sign-in/';
const providerPath = /^\/ui\/sign-in\/([\w-]{1,64})(\/logout)?$/;
/** Forms are small, because a logout token contains no list of groups. */
const maxFormBytes = 64 * 1024;

/** The dependencies of these routes. */
export interface RoutesParts {
  readonly providers: ProviderSignIn;
  readonly sessions: SessionCookie;
  /** Binds a sign-in to the browser that started it; sent when a provider redirects the browser back. */
  readonly browsers: SessionCookie;
  from(req: IncomingMessage): From;
  onFault(error: unknown, req: IncomingMessage): void;
}

/**
 * Sign-in at providers. `GET /ui/sign-in/:provider` redirects to a provider, which redirects back to
 * `GET /ui/sign-in/callback`. `POST` to a provider confirms the identity again. Providers call `POST …/logout`.
 */
export class ProviderRoutes {
  constructor(private readonly parts: RoutesParts) {}

  /** Whether a path is one of the sign-in paths. */
  owns(path: string): boolean {
    return path.startsWith(root);
  }

  /** Answers a request for a sign-in path. Never throws. */
  async answer(req: IncomingMessage, res: ServerResponse, path: string): Promise<void> {
    const [, provider, isLogout] = providerPath.exec(path) ?? [];
    try {
      if (provider === undefined) throw new Refusal('missing', 'This page does not exist.');
      if (isLogout !== undefined) return await this.logout(req, res, provider);
      if (provider === 'callback') return await this.comeBack(req, res);
      if (req.method === 'POST') return await this.proveAgain(req, res, provider);
      await this.leave(req, res, provider);
    } catch (error) {
      if (!isRefusal(error)) this.parts.onFault(error, req);
      if (req.method === 'POST') refuseProgram(res, error);
      else refusePerson(res, error);
    }
  }

  private async leave(req: IncomingMessage, res: ServerResponse, provider: string): Promise<void> {
    const { providers, browsers, from } = this.parts;
    requireMethod(req, 'GET');
    const returnTo = queryOf(req).get('to') ?? undefined;
    const browser = browsers.sentId(req) ?? randomBytes(32).toString('base64url');
    const Location = await providers.leave({ provider, browser, returnTo }, from(req));
    res.setHeader('Set-Cookie', browsers.set(req, browser, 600));
    redirect(res, Location);
  }

  private async proveAgain(req: IncomingMessage, res: ServerResponse, provider: string): Promise<void> {
    const { providers, sessions, browsers, from } = this.parts;
    if (!isOwnPage(req)) throw new Refusal('denied', 'only pages of this service may send this request');
    const session = sessions.idOf(req);
    if (session === undefined) throw new Refusal('unauthenticated', 'sign in first');
    const returnTo = queryOf(req).get('to') ?? undefined;
    const browser = browsers.sentId(req) ?? randomBytes(32).toString('base64url');
    const location = await providers.leave({ provider, browser, returnTo, session }, from(req));
    res.setHeader('Set-Cookie', browsers.set(req, browser, 600));
    end(res, 200, 'application/json; charset=utf-8', JSON.stringify({ location }));
  }

  private async comeBack(req: IncomingMessage, res: ServerResponse): Promise<void> {
    const { providers, sessions, browsers, from } = this.parts;
    requireMethod(req, 'GET');
    const arrival = { sent: queryOf(req), browser: browsers.sentId(req) };
    const { session, returnTo } = await providers.comeBack(arrival, from(req));
    if (session !== undefined) res.setHeader('Set-Cookie', sessions.set(req, session.id, session.seconds));
    redirect(res, returnTo);
  }

  private async logout(req: IncomingMessage, res: ServerResponse, provider: string): Promise<void> {
    requireMethod(req, 'POST');
    const { providers, from } = this.parts;
    const bytes = await readBody(req, { limit: maxFormBytes }).catch((error) => {
      throw error instanceof BodyTooLarge
        ? new Refusal('too-large', error.message)
        : new Refusal('timeout', 'the body was not received', [], { cause: error });
    });
    const token = new URLSearchParams(bytes.toString()).get('logout_token');
    if (!token) throw new Refusal('malformed', 'logout_token is missing: send it as a form');
    await providers.endSessions(provider, token, from(req));
    res.writeHead(200, { 'Cache-Control': 'no-store', 'Content-Length': 0 }).end();
  }
}

function requireMethod(req: IncomingMessage, method: string): void {
  if (req.method !== method) throw new Refusal('unsupported-operation', 'method not allowed');
}

function queryOf(req: IncomingMessage): URLSearchParams {
  const queryStart = req.url!.indexOf('?');
  return new URLSearchParams(queryStart < 0 ? '' : req.url!.slice(queryStart + 1));
}

function redirect(res: ServerResponse, Location: string): void {
  res.writeHead(303, { ...pageGuards, Location, 'Cache-Control': 'no-store', 'Content-Length': 0 }).end();
}

function end(res: ServerResponse, status: number, type: string, body: string): void {
  const length = Buffer.byteLength(body);
  res.writeHead(status, { ...pageGuards, 'Content-Type': type, 'Content-Length': length, 'Cache-Control': 'no-store' });
  res.end(body);
}

const statusOf = (error: unknown): number => (isRefusal(error) ? usualStatus[error.kind] : 500);

/** Answers a provider's request with an error in the wording of OAuth. */
function refuseProgram(res: ServerResponse, error: unknown): void {
  const message = isRefusal(error) ? error.message : 'internal error';
  const body = {
    error: statusOf(error) >= 500 ? 'temporarily_unavailable' : 'invalid_request',
    error_description: message,
  };
  end(res, statusOf(error), 'application/json; charset=utf-8', JSON.stringify(body));
}

function refusePerson(res: ServerResponse, error: unknown): void {
  const text = isRefusal(error) ? error.message : 'Something went wrong here.';
  res.setHeader('Content-Security-Policy', contentPolicy());
  end(
    res,
    statusOf(error),
    'text/html; charset=utf-8',
    `<!doctype html><html lang="en"><head><meta charset="utf-8"><title>Not signed in</title></head>
<body><main><h1>Not signed in</h1><p>${escaped(text)}</p><p><a href="/ui/">Back to the sign-in page</a></p></main></body></html>`,
  );
}

const escaped = (text: string): string => text.replace(/[&<>"']/g, (sign) => `&#${sign.charCodeAt(0)};`);
