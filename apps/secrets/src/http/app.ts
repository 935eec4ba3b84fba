import type { IncomingMessage, ServerResponse } from 'node:http';
import type { ApiPage } from '@keystead/api-page';
import { errorBody } from '@keystead/envelope';
import { isRefusal, PrimaryNeeded } from '@keystead/refusal';
import { BodyAborted, createApp, discardBody, type Gate, type Logger, labelRoute } from '@keystead/server';
import type { Express } from 'express';
import { AuditFailed } from '../kernel/audit/device-set';
import type { SentPath } from '../kernel/routing/sent-path';
import { StepUpRequired } from '../pipeline/authorize';
import type { Outcome, Request } from '../pipeline/request';
import { type ConsoleEdge, SignedOut } from './console-edge';
import { Detour, HttpRequest, type RequestRules, readTarget, send, sendOutcome, sendRefusal } from './messages';

/** The parts of the HTTP edge. */
export interface AppParts {
  readonly handle: (request: Request) => Promise<Outcome>;
  /** Parses a path whose doubled slashes are significant; undefined for other paths. */
  readonly readBase64: (text: string) => SentPath | undefined;
  readonly rules: RequestRules;
  readonly origins: OriginRules;
  readonly log: Logger;
  /** Where requests with large bodies wait for each other. */
  readonly largeBodies: Gate;
  /** Undefined if no page shows the API. */
  readonly apiPage: ApiPage | undefined;
  /** The address of a writing node, to which this read-only node redirects callers. */
  readonly primaryUrl: string | undefined;
  /** If undefined, there is no console, and all cookies are ignored. */
  readonly console: ConsoleEdge | undefined;
}

const prefix = '/v1/';

/** The Express application: one handler for everything below `/v1/`, and the edge where errors become answers. */
export function createHttpApp(parts: AppParts): Express {
  const app = createApp();
  app.use((req, res) => {
    if (req.url.startsWith(prefix)) void answer(parts, req, res);
    else answerPage(parts, req, res).catch((error) => fail(parts, req, res, error));
  });
  return app;
}

async function answerPage(parts: AppParts, req: IncomingMessage, res: ServerResponse): Promise<void> {
  const url = req.url!;
  if (parts.apiPage?.owns(url)) {
    labelRoute(req, '/docs');
    await parts.apiPage.answer(req, res);
  } else if (parts.console?.owns(req)) await parts.console.answer(req, res);
  else if (parts.primaryUrl !== undefined && url.startsWith('/ui/')) sendToPrimary(parts.primaryUrl, req, res);
  else send(res, 404, errorBody([]));
}

async function answer(parts: AppParts, req: IncomingMessage, res: ServerResponse): Promise<void> {
  let request: HttpRequest | undefined;
  try {
    const extra = extraHeaders(parts, req);
    if (req.headers.origin !== undefined && crossOrigin(parts.origins, req, res)) return;
    // A path is not read as base64 if a header names the namespace: clients that send base64 paths do not know our
    // headers.
    const target = readTarget(req.url!, extra === undefined ? parts.readBase64 : undefined);
    if (target instanceof Detour) {
      send(res, 307, '', ['Location', target.location]);
      return;
    }
    const consoleSession = parts.console?.sessionOf(req);
    const session = consoleSession && (await consoleSession);
    request = new HttpRequest(req, target, parts.rules, parts.largeBodies, session);
    const outcome = await parts.handle(request);
    tellOfLimits(request, res);
    const sending = res.destroyed ? undefined : sendOutcome(res, outcome, extra);
    if (sending) await sending;
  } catch (error) {
    tellOfLimits(request, res);
    fail(parts, req, res, parts.console?.inPagesWords(error, req, request) ?? error);
  } finally {
    if (request?.route !== undefined) labelRoute(req, request.route);
    request?.end();
    if (!req.complete) discardBody(req);
  }
}

function sendToPrimary(base: string, req: IncomingMessage, res: ServerResponse, extra: readonly string[] = []): void {
  send(res, 307, '', [...extra, 'Location', `${base}${req.url}`]);
}

function tellOfLimits(request: Request | undefined, res: ServerResponse): void {
  if (request?.rateHeaders === undefined || res.headersSent) return;
  for (const [name, value] of Object.entries(request.rateHeaders)) res.setHeader(name, value);
}

// The namespace is echoed in the header that named it.
function extraHeaders(parts: AppParts, req: IncomingMessage): string[] | undefined {
  const namespaceHeader = req.headers['x-service-namespace'];
  if (namespaceHeader !== undefined) return ['X-Service-Namespace', String(namespaceHeader)];
  if (!parts.rules.familyHeaders) return undefined;
  const family = req.headers['x-vault-namespace'];
  return family === undefined ? undefined : ['X-Vault-Namespace', String(family)];
}

function fail(parts: AppParts, req: IncomingMessage, res: ServerResponse, error: unknown): void {
  if (res.headersSent || res.destroyed || isAborted(error)) {
    res.destroy();
    return;
  }
  const extra = extraHeaders(parts, req);
  if (error instanceof PrimaryNeeded && parts.primaryUrl !== undefined) {
    sendToPrimary(parts.primaryUrl, req, res, extra);
  } else if (isRefusal(error)) {
    if (error.cause !== undefined) parts.log.warn({ err: error.cause, reason: error.message }, 'refused');
    if (error instanceof SignedOut) {
      send(res, 401, errorBody([error.message]), extra);
      return;
    }
    if (error instanceof StepUpRequired) res.setHeader('X-Keystead-Step-Up', 'required');
    sendRefusal(res, error, extra);
  } else if (error instanceof AuditFailed) {
    // This is the only internal fault whose reason is shown, because operators must repair the device.
    send(res, 500, errorBody([error.message]), extra);
  } else {
    parts.log.error({ err: error, method: req.method }, 'fault');
    send(res, 500, errorBody(['internal error']), extra);
  }
}

// The client has disconnected.
function isAborted(error: unknown): boolean {
  return isRefusal(error) && error.cause instanceof BodyAborted;
}

/** The web pages that may call the service; stored in the database, and changed by an operator. */
interface OriginRules {
  readonly current: {
    readonly enabled: boolean;
    readonly allowedOrigins: readonly string[];
    readonly allowedHeaders: readonly string[];
  };
}

const methods = 'DELETE, GET, OPTIONS, POST, PUT, LIST, PATCH';

/** Adds the headers that browsers ask for. If the request is a preflight, answers it and returns true. */
function crossOrigin(rules: OriginRules, req: IncomingMessage, res: ServerResponse): boolean {
  const { enabled, allowedOrigins, allowedHeaders } = rules.current;
  if (!enabled) return false;
  const origin = req.headers.origin!;
  const preflight = req.method === 'OPTIONS';
  if (!allowedOrigins.includes('*') && !allowedOrigins.includes(origin)) {
    if (!preflight) return false;
    send(res, 403, errorBody(['origin not allowed']));
    return true;
  }
  res.setHeader('Access-Control-Allow-Origin', origin);
  res.setHeader('Vary', 'Origin');
  if (!preflight) return false;
  res.setHeader('Access-Control-Allow-Methods', methods);
  res.setHeader('Access-Control-Allow-Headers', allowedHeaders.join(','));
  res.setHeader('Access-Control-Max-Age', '300');
  send(res, 204, '');
  return true;
}
