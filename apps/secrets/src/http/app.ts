import type { IncomingMessage, ServerResponse } from 'node:http';
import { errorBody } from '@keystead/envelope';
import { isRefusal, Refusal } from '@keystead/refusal';
import { BodyAborted, BodyTooLarge, createApp, type Gate, GateFull, type Logger, labelRoute } from '@keystead/server';
import type { Express } from 'express';
import { AuditFailed } from '../kernel/audit/audit';
import type { Outcome } from '../pipeline/outcome';
import type { Request } from '../pipeline/request';
import { crossOrigin, type OriginRules } from './cross-origin';
import { hasBody, type RequestRules, readFields, readRequest } from './request';
import { send, sendOutcome, sendRefusal } from './response';
import { Detour, readTarget } from './url';

/** What the HTTP edge is made of. */
export interface AppParts {
  readonly handle: (request: Request) => Promise<Outcome>;
  readonly rules: RequestRules;
  readonly origins: OriginRules;
  readonly log: Logger;
  /** Requests that take longer are answered with 504; what they began goes on. */
  readonly timeoutSeconds: number;
  /** Where requests with large bodies wait for each other. */
  readonly largeBodies: Gate;
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
    send(res, 404, errorBody([]));
    return;
  }
  const extra = extraHeaders(parts, req);
  if (req.headers.origin !== undefined && crossOrigin(parts.origins, req, res)) return;
  const target = readTarget(url);
  if (target instanceof Detour) {
    send(res, 307, '', ['Location', target.location]);
    return;
  }
  let request: Request | undefined;
  let leave: (() => void) | undefined;
  const turn = async (): Promise<void> => {
    leave = await parts.largeBodies.enter();
  };
  try {
    const body = hasBody(req.method!) ? await readFields(req, turn) : undefined;
    request = readRequest(req, target, body, parts.rules);
    const outcome = await within(parts.timeoutSeconds, parts.handle(request));
    if (!res.destroyed) sendOutcome(res, outcome, extra);
  } finally {
    if (request?.route !== undefined) labelRoute(req, request.route);
    leave?.();
  }
}

// A namespace that was asked for is echoed under the name it was asked with.
function extraHeaders(parts: AppParts, req: IncomingMessage): string[] | undefined {
  const own = req.headers['x-service-namespace'];
  if (own !== undefined) return ['X-Service-Namespace', String(own)];
  if (!parts.rules.familyHeaders) return undefined;
  const family = req.headers['x-vault-namespace'];
  return family === undefined ? undefined : ['X-Vault-Namespace', String(family)];
}

/** One timer wheel would be cheaper still; one timer a request costs less than a microsecond. */
function within<T>(seconds: number, work: Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(new Refusal('timeout', 'request timed out')), seconds * 1000);
    work.then(
      (value) => {
        clearTimeout(timer);
        resolve(value);
      },
      (error) => {
        clearTimeout(timer);
        reject(error);
      },
    );
  });
}

function fail(parts: AppParts, req: IncomingMessage, res: ServerResponse, error: unknown): void {
  if (res.headersSent || res.destroyed || error instanceof BodyAborted) {
    res.destroy();
    return;
  }
  const extra = extraHeaders(parts, req);
  if (isRefusal(error)) {
    if (error.cause !== undefined) parts.log.warn({ err: error.cause, reason: error.message }, 'refused');
    sendRefusal(res, error, extra);
  } else if (error instanceof BodyTooLarge) {
    send(res, 413, errorBody(['http: request body too large']), extra);
  } else if (error instanceof GateFull) {
    send(res, 503, errorBody([error.message]), extra);
  } else if (error instanceof AuditFailed) {
    // The one fault whose place is told: whoever sees it has to get the device going again.
    send(res, 500, errorBody([error.message]), extra);
  } else {
    parts.log.error({ err: error, method: req.method }, 'fault');
    send(res, 500, errorBody(['internal error']), extra);
  }
}
