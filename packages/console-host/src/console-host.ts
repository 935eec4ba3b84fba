import type { IncomingMessage, ServerResponse } from 'node:http';
import { isRefusal, Refusal, usualStatus } from '@keystead/refusal';
import { BodyTooLarge, labelRoute, readBody } from '@keystead/server';
import { Pages } from './pages';
import { type Passkeys, passkeyRoutes } from './passkeys';
import { ProviderRoutes } from './provider-routes';
import type { ProviderSignIn } from './provider-sign-in';
import { isOwnPage } from './same-origin';
import { SessionCookie } from './session-cookie';
import type { From, Sessions } from './sessions';

export interface ConsoleHostOptions {
  /** The page to serve, and the name in the cookie. */
  readonly service: 'secrets' | 'workspaces';
  readonly sessions: Sessions;
  /** Sign-in at providers; absent if the service does not support it. */
  readonly providers?: ProviderSignIn;
  /** Passkeys; absent if the service does not support them. */
  readonly passkeys?: Passkeys;
  /** Whether the service is reached only over HTTPS. */
  readonly secureOnly: boolean;
  from(req: IncomingMessage): From;
  /** Logs errors that are not refusals. */
  onFault(error: unknown, req: IncomingMessage): void;
}

/** Bodies contain only a few names and passwords. */
const maxBodyBytes = 64 * 1024;

/**
 * The console of a service: its pages below `/ui/`, and the sessions of their users. A session is a cookie that scripts
 * cannot read. It is accepted only in requests of our own pages (`idOf`).
 */
export class ConsoleHost {
  private readonly pages: Pages;
  private readonly cookie: SessionCookie;
  private readonly providerRoutes: ProviderRoutes | undefined;
  /** Binds a passkey challenge to the browser that requested it. */
  private readonly askers: SessionCookie;

  constructor(private readonly options: ConsoleHostOptions) {
    this.pages = new Pages(options.service);
    const { service, secureOnly, providers, from, onFault } = options;
    this.cookie = new SessionCookie(service, secureOnly);
    this.askers = new SessionCookie(`${service}-passkey`, secureOnly);
    const browsers = new SessionCookie(`${service}-sign-in`, secureOnly, 'lax');
    this.providerRoutes =
      providers && new ProviderRoutes({ providers, sessions: this.cookie, browsers, from, onFault });
  }

  /** Whether a path, including its query, belongs to the console: `/ui` and below, and `/` for a browser. */
  owns(req: IncomingMessage): boolean {
    const url = req.url!;
    if (url === '/') return req.method === 'GET' && (req.headers.accept ?? '').includes('text/html');
    return url.startsWith('/ui') && (url.length === 3 || url[3] === '/' || url[3] === '?');
  }

  /** The id of the session whose page makes this request; undefined for all other requests. */
  idOf(req: IncomingMessage): string | undefined {
    return this.cookie.idOf(req);
  }

  /** Answers a request for the console. Never throws. */
  async answer(req: IncomingMessage, res: ServerResponse): Promise<void> {
    try {
      if (req.url === '/') {
        res
          .writeHead(302, { Location: '/ui/', Vary: 'Accept', 'Cache-Control': 'no-store', 'Content-Length': 0 })
          .end();
        return;
      }
      const [path = ''] = req.url!.split('?', 1);
      if (this.providerRoutes?.owns(path)) {
        labelRoute(req, '/ui/sign-in');
        return await this.providerRoutes.answer(req, res, path);
      }
      const endpoint = this.endpointOf(path, req.method ?? 'GET');
      labelRoute(req, endpoint === undefined ? '/ui' : path.replace(/^(\/ui\/passkeys\/)(?!ask$).*/, '$1:id'));
      if (endpoint === undefined) await this.pages.answer(req, res);
      else {
        if (!isOwnPage(req)) throw new Refusal('denied', 'only pages of this service may send this request');
        await endpoint(req, res);
      }
    } catch (error) {
      this.refuse(req, res, error);
    }
  }

  private endpointOf(path: string, method: string): HostEndpoint | undefined {
    const { sessions, passkeys } = this.options;
    const from = (req: IncomingMessage): From => ({ ...this.options.from(req), browser: this.askers.idOf(req) });
    const session: Readonly<Record<string, HostEndpoint>> = {
      GET: async (req, res) => {
        const id = this.cookie.idOf(req);
        const view = id === undefined ? undefined : await sessions.show(id);
        if (view !== undefined) return json(res, 200, view);
        // A request without a session is not an error here, because browsers would report an error.
        res.setHeader('Set-Cookie', this.cookie.clear(req));
        res.writeHead(204, { 'Cache-Control': 'no-store' }).end();
      },
      POST: async (req, res) => {
        const before = this.cookie.idOf(req);
        const created = await sessions.signIn(await readProof(req), from(req));
        // A second sign-in gets a new id, and the old session ends.
        if (before !== undefined) await sessions.signOut(before, from(req));
        res.setHeader('Set-Cookie', this.cookie.set(req, created.id, created.seconds));
        json(res, 201, created.view);
      },
      DELETE: async (req, res) => {
        const id = this.cookie.idOf(req);
        if (id !== undefined) await sessions.signOut(id, from(req));
        res.setHeader('Set-Cookie', this.cookie.clear(req));
        res.writeHead(204, { 'Cache-Control': 'no-store' }).end();
      },
    };
    const stepUp: HostEndpoint = async (req, res) => {
      const id = this.cookie.idOf(req);
      if (id === undefined) throw new Refusal('unauthenticated', 'sign in first');
      json(res, 200, await sessions.stepUp(id, await readProof(req), from(req)));
    };
    const table: Readonly<Record<string, Readonly<Record<string, HostEndpoint>>>> = {
      '/ui/session': session,
      '/ui/session/step-up': { POST: stepUp },
      '/ui/config': { GET: async (_req, res) => json(res, 200, await sessions.config()) },
    };
    const parts = { sessions: this.cookie, browsers: this.askers, from, read: readProof, json };
    const methods = Object.hasOwn(table, path) ? table[path] : passkeys && passkeyRoutes({ passkeys, ...parts }, path);
    if (methods === undefined) return undefined;
    return Object.hasOwn(methods, method) ? methods[method] : notAllowed;
  }

  private refuse(req: IncomingMessage, res: ServerResponse, error: unknown): void {
    if (!isRefusal(error)) this.options.onFault(error, req);
    const refusal = isRefusal(error) ? error : undefined;
    const status = refusal === undefined ? 500 : usualStatus[refusal.kind];
    const detail =
      refusal === undefined ? 'internal error' : refusal.message || (wordless[refusal.kind] ?? refusal.kind);
    if (error instanceof ProofNeeded) res.setHeader('X-Keystead-Step-Up', 'required');
    const errors = (refusal?.issues.length ? refusal.issues : [undefined]).map((issue) => ({
      status: String(status),
      title: refusal?.kind ?? 'fault',
      detail: issue === undefined ? detail : `${issue.path.join('.')} ${issue.message}`,
      ...(issue === undefined ? {} : { field: issue.path.join('.') }),
      ...(issue?.path[0] === 'code' && issue.message === codeMessage ? { code: 'code-required' } : {}),
    }));
    json(res, status, { errors });
  }
}

/**
 * Shown if a service gives no reason, so that the response does not reveal which part of the credentials was correct.
 */
const wordless: Readonly<Partial<Record<Refusal['kind'], string>>> = {
  unauthenticated: 'The name, the password, the code or the token is wrong.',
  limited: 'Too many attempts: wait a while.',
};

const codeMessage = 'is required';

/** The refusal that makes the page ask for credentials again and then repeat its request. */
export class ProofNeeded extends Refusal {
  constructor() {
    super('denied', 'step-up-required: confirm your identity at /ui/session/step-up, then send the request again');
  }
}

/** The refusal that makes the sign-in page ask for the code of a second factor. */
export function codeRequired(): Refusal {
  return new Refusal('invalid', 'a second factor is required', [{ path: ['code'], message: codeMessage }]);
}

type HostEndpoint = (req: IncomingMessage, res: ServerResponse) => Promise<void>;

const notAllowed: HostEndpoint = async () => {
  throw new Refusal('unsupported-operation', 'method not allowed');
};

async function readProof(req: IncomingMessage): Promise<Readonly<Record<string, unknown>>> {
  if (!/^application\/json\b/i.test(req.headers['content-type'] ?? '')) {
    throw new Refusal('media-type', 'send application/json');
  }
  const bytes = await readBody(req, { limit: maxBodyBytes }).catch((error) => {
    throw error instanceof BodyTooLarge
      ? new Refusal('too-large', error.message)
      : new Refusal('timeout', 'the body was not received', [], { cause: error });
  });
  let value: unknown;
  try {
    value = JSON.parse(bytes.toString());
  } catch {
    throw new Refusal('malformed', 'the body is not JSON');
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw new Refusal('malformed', 'the body must be an object');
  }
  return value as Readonly<Record<string, unknown>>;
}

function json(res: ServerResponse, status: number, value: unknown): void {
  const body = JSON.stringify(value);
  res.writeHead(status, {
    'Content-Type': 'application/json; charset=utf-8',
    'Content-Length': Buffer.byteLength(body),
    'Cache-Control': 'no-store',
    'X-Content-Type-Options': 'nosniff',
  });
  res.end(body);
}
