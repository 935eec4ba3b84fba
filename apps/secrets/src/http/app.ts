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
import { crossOrigin, type OriginRules } from './cross-origin';
import { readFields } from './read-fields';
import { Detour, type RequestRules, readRequest, readTarget } from './request';
import { send, sendOutcome, sendRefusal } from './response';

/** The parts of the HTTP edge. */
export interface AppParts {
  readonly handle: (request: Request) => Promise<Outcome>;
  /** Parses a path whose doubled slashes are significant; undefined if they are not. */
  readonly readBase64: (text: string) => SentPath | undefined;
  readonly rules: RequestRules;
  readonly origins: OriginRules;
  readonly log: Logger;
  /** Where requests with large bodies wait for each other. */
  readonly largeBodies: Gate;
  /** Undefined: no page shows the interface. */
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
    answer(parts, req, res).catch((error) => fail(parts, req, res, error));
  });
  return app;
}

async function answer(parts: AppParts, req: IncomingMessage, res: ServerResponse): Promise<void> {
  const url = req.url!;
  if (!url.startsWith(prefix)) {
    if (parts.apiPage?.owns(url)) {
      labelRoute(req, '/docs');
      await parts.apiPage.answer(req, res);
      return;
    }
    if (parts.console?.owns(req)) {
      await parts.console.answer(req, res);
      return;
    }
    if (parts.primaryUrl !== undefined && url.startsWith('/ui/')) sendToPrimary(parts.primaryUrl, req, res);
    else send(res, 404, errorBody([]));
    return;
  }
  const extra = extraHeaders(parts, req);
  if (req.headers.origin !== undefined && crossOrigin(parts.origins, req, res)) return;
  // Not tried if a header names the namespace, because clients that send such paths do not know our headers.
  const target = readTarget(url, (text) => (extra === undefined ? parts.readBase64(text) : undefined));
  if (target instanceof Detour) {
    send(res, 307, '', ['Location', target.location]);
    return;
  }
  let request: Request | undefined;
  let leave: (() => void) | undefined;
  const turn = async (): Promise<void> => {
    leave = await parts.largeBodies.enter(request?.token);
  };
  try {
    const consoleSession = parts.console?.sessionOf(req);
    const session = consoleSession && (await consoleSession);
    request = readRequest(req, target, parts.rules, (bounds) => readFields(req, bounds, turn), session);
    const outcome = await parts.handle(request);
    tellOfLimits(request, res);
    const sending = res.destroyed ? undefined : sendOutcome(res, outcome, extra);
    if (sending) await sending;
  } catch (error) {
    tellOfLimits(request, res);
    throw parts.console?.inPagesWords(error, req, request) ?? error;
  } finally {
    if (request?.route !== undefined) labelRoute(req, request.route);
    leave?.();
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
    // This is the only fault whose reason is shown, because operators must repair the device.
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
