import type { IncomingMessage, ServerResponse } from 'node:http';
import type { ApiPage } from '@keystead/api-page';
import { networkOf, readBearer } from '@keystead/auth';
import type { ConsoleHost } from '@keystead/console-host';
import { Query } from '@keystead/jsonapi';
import { isConnectionLoss, isReadOnlyServer, type ReplayLag, type Silence, type Wait } from '@keystead/postgres';
import { PrimaryNeeded, Refusal } from '@keystead/refusal';
import {
  clientAddress,
  createApp,
  discardBody,
  type GatePlace,
  type Logger,
  labelRoute,
  requestId,
} from '@keystead/server';
import type { TrustedProxies } from '@keystead/settings';
import type express from 'express';
import { actorOf } from '../kernel/audit/audit';
import type { Outage } from '../kernel/database/outage';
import type { DialectAt } from '../kernel/endpoints/dialect';
import type { Endpoint } from '../kernel/endpoints/endpoint';
import type { AuthenticatedCaller, SiteSettings } from '../kernel/endpoints/environment';
import { RateLimit, type RateVerdict } from '../kernel/endpoints/rate-limit';
import type { Match, Routes } from '../kernel/endpoints/routes';
import { type Kernel, loadEarly, openLink, type Request, runEndpoint } from '../kernel/endpoints/run-endpoint';
import {
  asRefusal,
  commonHeaders,
  fixedHeaders,
  readJson,
  readStream,
  sendAnswer,
  sendLimited,
  sendRefusal,
  sendToPrimary,
} from './messages';

/** The path prefix of every endpoint that is not declared as `outside`. */
const PREFIX = '/api/v2';

/** The dependencies of the application. */
export interface AppParts {
  readonly kernel: Kernel;
  readonly inside: Routes;
  readonly outside: Routes;
  readonly dialectAt: DialectAt;
  readonly trustedProxies: TrustedProxies;
  readonly log: Logger;
  readonly outage: Outage;
  /** Detects that the database does not answer. In this case requests fail immediately, including waiting requests. */
  readonly silence: Pick<Silence, 'lasts' | 'begin' | 'end'>;
  /** Set if this node only reads, from a standby. `primaryUrl` is the address of the writing nodes. */
  readonly standby: { readonly lag: Pick<ReplayLag, 'trouble'>; readonly primaryUrl: string | undefined } | undefined;
  /** Undefined if no page shows the API. */
  readonly apiPage: ApiPage | undefined;
  /** If undefined, there is no console, and console sessions are not accepted. */
  readonly console: ConsoleHost | undefined;
}

/** A run's page, as the tool prints its address. */
const RUN_PAGE = /^\/app\/([\w.-]+)\/([\w.-]+)\/runs\/(run-\w+)(?:\?.*)?$/;

/** The rate limit treats all agents of a pool as one caller, and each agent sends requests all the time. */
const AGENTS_OF_A_POOL = 20;

const UNLIMITED: RateVerdict = { allowed: true, limit: 0, remaining: 0, resetSeconds: 0 };

/**
 * The HTTP application: finds the endpoint and the caller, reads the body, answers. Errors become responses only here.
 */
export function buildApp(parts: AppParts): express.Express {
  const { env } = parts.kernel;
  const fixed = fixedHeaders(env.edition, env.aliases);
  const rates = new RateLimit(env.now);
  const app = createApp();

  const find = (method: string, path: string): Match | undefined =>
    path.startsWith(`${PREFIX}/`)
      ? parts.inside.find(method, path.slice(PREFIX.length))
      : parts.outside.find(method, path);

  const limitFor = (caller: string, { apiRateLimitingEnabled, apiRateLimit }: SiteSettings, times = 1): RateVerdict =>
    apiRateLimitingEnabled ? rates.take(caller, apiRateLimit * times) : UNLIMITED;

  const silent = (): Refusal => {
    const refusal = new Refusal('unavailable', 'storage is unavailable');
    parts.outage.lost(refusal);
    return refusal;
  };

  const handle = async (req: IncomingMessage, res: ServerResponse): Promise<void> => {
    const id = requestId(req);
    let rate = UNLIMITED;
    let request: Request | undefined;
    let place: GatePlace | undefined;
    const dialect = parts.dialectAt(req.url ?? '/');
    const wait = waitFor(req, res);
    try {
      if (parts.silence.lasts) throw silent();
      requireReading(parts, req);
      const url = req.url ?? '/';
      const queryAt = url.indexOf('?');
      const path = queryAt < 0 ? url : url.slice(0, queryAt);
      const match = find(req.method ?? 'GET', path);
      if (match !== undefined) labelRoute(req, match.endpoint.path);
      const query = Query.parse(queryAt < 0 ? '' : url.slice(queryAt + 1));
      const link = match && openLink(parts.kernel, match.endpoint, match.params, query);
      const early =
        match === undefined || (req.headers.authorization === undefined && link === undefined)
          ? undefined
          : loadEarly(parts.kernel, match.endpoint, match.params);
      const caller = match === undefined ? undefined : await authenticate(parts, match.endpoint, req);
      const principal = caller?.principal;
      const settings = caller?.settings ?? (await env.settings());
      const address = clientAddress(req, parts.trustedProxies);
      const times = principal?.kind === 'agent' ? AGENTS_OF_A_POOL : 1;
      rate = limitFor(
        principal === undefined ? networkOf(address) : `${principal.kind} ${principal.id}`,
        settings,
        times,
      );
      if (!rate.allowed) return sendLimited(res, commonHeaders(fixed, id, rate), dialect);
      if (match === undefined) throw new Refusal('unsupported-path', '');
      const turn = (): Promise<void> => {
        place = env.largeUploads.place(principal?.id);
        return place.enter();
      };
      // If an endpoint accepts no body, the body is not read, and Node discards it with the response.
      const takesBody = match.endpoint.body !== undefined;
      const isWaiting = takesBody && !req.complete;
      const body = takesBody ? await readJson(req, match.endpoint, principal !== undefined, turn) : undefined;
      // The sender decides how long a body takes, and may lose the token or the right in the meantime.
      const sender = isWaiting ? await authenticate(parts, match.endpoint, req, true) : caller;
      request = {
        id,
        method: match.endpoint.method,
        path,
        query,
        params: match.params,
        headers: req.headers,
        isGone: () => res.destroyed,
        address,
        principal: sender?.principal,
        settings: sender?.settings ?? settings,
        early: isWaiting ? undefined : early,
        link: isWaiting ? openLink(parts.kernel, match.endpoint, match.params, query) : link,
        again: async () => (await authenticate(parts, match.endpoint, req, true))?.principal,
        body,
        stream: match.endpoint.streams ? readStream(req) : undefined,
        isArriving: !req.complete,
      };
      const answer = await runEndpoint(parts.kernel, match.endpoint, request);
      if (principal !== undefined) parts.outage.answered();
      if (res.headersSent) return;
      const sending = sendAnswer(res, answer, commonHeaders(fixed, id, rate));
      if (sending) await sending;
    } catch (error) {
      if (res.writableEnded) return;
      const refusal = parts.standby && isReadOnlyServer(error) ? new PrimaryNeeded() : asRefusal(error);
      const primary = refusal instanceof PrimaryNeeded ? parts.standby?.primaryUrl : undefined;
      if (primary !== undefined && !res.headersSent) {
        sendToPrimary(res, `${primary}${req.url}`, commonHeaders(fixed, id, rate));
        return;
      }
      if (refusal?.kind === 'unavailable' && !(refusal instanceof PrimaryNeeded) && isConnectionLoss(error)) {
        parts.outage.lost(error);
      } else if (refusal === undefined) {
        parts.log.error({ err: error, requestId: id }, 'request failed');
      }
      if (res.headersSent) {
        res.destroy();
        return;
      }
      const options = { pointers: request?.pointers, reasons: env.reasons, dialect };
      sendRefusal(res, refusal, commonHeaders(fixed, id, rate), options);
    } finally {
      parts.silence.end(wait);
      place?.leave();
      if (!req.complete) discardBody(req);
    }
  };

  // The work of a request that timed out continues. Only its response is dropped.
  const waitFor = (req: IncomingMessage, res: ServerResponse): Wait =>
    parts.silence.begin({
      giveUp() {
        if (!res.headersSent) sendRefusal(res, silent(), commonHeaders(fixed, requestId(req), UNLIMITED));
      },
    });

  const showPage = async (page: ApiPage, req: IncomingMessage, res: ServerResponse): Promise<void> => {
    labelRoute(req, '/docs');
    try {
      await page.answer(req, res);
    } catch (error) {
      parts.log.error({ err: error, requestId: requestId(req) }, 'request failed');
      sendRefusal(res, undefined, commonHeaders(fixed, requestId(req), UNLIMITED));
    }
  };

  const showConsole = async (host: ConsoleHost, req: IncomingMessage, res: ServerResponse): Promise<void> => {
    const wait = waitFor(req, res);
    try {
      if (req.method === 'POST' || req.url?.startsWith('/ui/sign-in/')) {
        const rate = limitFor(networkOf(clientAddress(req, parts.trustedProxies)), await env.settings());
        if (!rate.allowed) return sendLimited(res, commonHeaders(fixed, requestId(req), rate));
      }
      await host.answer(req, res);
    } catch (error) {
      if (!res.headersSent) sendRefusal(res, asRefusal(error), commonHeaders(fixed, requestId(req), UNLIMITED));
    } finally {
      parts.silence.end(wait);
      if (!req.complete) discardBody(req);
    }
  };

  app.use((req, res) => {
    const run = parts.console && req.method === 'GET' ? RUN_PAGE.exec(req.url) : null;
    if (run !== null) {
      const [, organization, workspace, id] = run;
      labelRoute(req, '/app/:organization_name/:workspace_name/runs/:run_id');
      const Location = `/ui/organizations/${organization}/workspaces/${workspace}/runs/${id}`;
      res.writeHead(302, { Location, 'Cache-Control': 'no-store', 'Content-Length': 0 }).end();
      return;
    }
    if (parts.console?.owns(req)) {
      void showConsole(parts.console, req, res);
      return;
    }
    if (parts.apiPage?.owns(req.url)) {
      void showPage(parts.apiPage, req, res);
      return;
    }
    void handle(req, res);
  });
  return app;
}

/** Paths that browsers use to sign in. */
const OF_BROWSERS = /^\/(ui|app|auth)\//;

/** A node that reads from a standby accepts only reads, and no requests while it lags too far behind. */
function requireReading({ standby }: AppParts, { method, url }: IncomingMessage): void {
  if (!standby) return;
  if ((method !== 'GET' && method !== 'HEAD') || OF_BROWSERS.test(url ?? '')) throw new PrimaryNeeded();
  const { trouble } = standby.lag;
  if (trouble !== undefined) throw new Refusal('unavailable', trouble);
}

/** The header that our own pages set in requests that their user did not cause. */
const BACKGROUND = 'x-keystead-background';

/**
 * The caller: from the token in the header, or for our own pages from the session cookie. With `again`, the check is
 * repeated for a response that is still being sent, and does not extend the session.
 */
async function authenticate(
  { kernel: { env }, console, trustedProxies }: AppParts,
  endpoint: Endpoint,
  req: IncomingMessage,
  again = false,
): Promise<AuthenticatedCaller | undefined> {
  if (endpoint.auth === 'none') return undefined;
  const { authorization } = req.headers;
  const session = authorization === undefined ? console?.idOf(req) : undefined;
  const token = readBearer(authorization);
  const background = again || req.headers[BACKGROUND] !== undefined;
  const caller =
    session !== undefined
      ? await env.authenticateConsole(session, background)
      : token === undefined
        ? undefined
        : await env.authenticate(token);
  if (caller === undefined && (endpoint.auth === 'token' || token !== undefined || session !== undefined)) {
    throw new Refusal('unauthenticated', '');
  }
  if (caller === undefined) return undefined;
  const address = clientAddress(req, trustedProxies);
  const { principal } = caller;
  if (principal.onlyFrom?.has(address) === false) {
    const { id, name, organizationId = null } = principal;
    const target = { type: 'agent-pools', id, name };
    const change = { organizationId, action: 'agent.refuse', target, after: { path: endpoint.path, address } };
    await env.trail.refused(actorOf({ principal, request: { id: requestId(req) } }), change);
    throw new Refusal('unauthenticated', '');
  }
  return { ...caller, principal: { ...principal, address } };
}
