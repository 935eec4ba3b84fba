import type http from 'node:http';
import { setFlagsFromString } from 'node:v8';
import type { Listen } from '@keystead/settings';
import { follow, type Tracing } from '@keystead/tracing';
import type express from 'express';
import type { Logger } from 'pino';
import type { Registry } from 'prom-client';
import { type ConnectionRefusal, createServer, type Limits } from './create-server';
import { type DrainTimes, drainable } from './drain';
import { answerHealth, type Readiness } from './health';
import { listenOn, urlOf } from './listen';
import { observe, observeProcess, type RequestMetrics } from './metrics';
import { lendMetrics } from './metrics-of-all';
import { createMetricsServer } from './metrics-server';
import { isOneOfSeveral } from './processes';
import { type RequestLog, requestLog } from './request-log';
import { shareOut } from './shared-port';
import { type WatchedAnswer, watchRequests } from './watch-requests';

/** Options of `serve`. */
export interface ServeOptions {
  app: express.Express;
  listen: Listen;
  log: Logger;
  /**
   * Requests are counted in `registry`. With `listen`, `/metrics` is served there; for several processes, by their
   * parent.
   */
  metrics?: { listen?: Listen; registry: Registry };
  ready(): Promise<Readiness>;
  limits?: Limits;
  /**
   * Resolves when load balancers must have noticed that `/readyz` answers 503. Until then the server still accepts
   * connections, but every response closes its connection. Default: immediately.
   */
  drainDelay?: () => Promise<unknown>;
  /** How long active responses may take after that; default 10 s. */
  drainSeconds?: number;
  /** Called with the server before it listens, to change how it handles connections. */
  onServer?(server: http.Server): void;
  /** Called when draining starts, to end responses that would otherwise never end. */
  onClose?(): void;
  /** Whether to log one line per request; default true. */
  logRequests?: boolean;
  refusal?: ConnectionRefusal;
  /** Traces requests; the caller closes it. */
  tracing?: Tracing;
  /** Requests whose answer took longer to start are logged on a separate line; default: none. */
  slowMs?: number;
}

/** A listening server. */
export interface Serving {
  url: string;
  port: number;
  server: http.Server;
  metricsPort?: number;
  /**
   * Answers `/readyz` with 503, stops accepting connections, lets active responses finish, and resolves when every
   * connection is closed.
   */
  close(): Promise<void>;
}

/**
 * The objects of a request are garbage when it ends. If many requests wait, their objects survive one or two
 * collections. V8 then concludes that such objects are long-lived and allocates them in the old generation until the
 * process ends, which costs a third of the throughput.
 */
const allocateYoung = () => setFlagsFromString('--no-allocation-site-pretenuring');

/**
 * Runs an application made by `createApp`: request ids, log lines, metrics, limits, `/livez`, `/readyz`, draining.
 *
 * If it cannot listen, rejects with Node's error and leaves nothing open.
 */
export async function serve(options: ServeOptions): Promise<Serving> {
  const { app, listen, metrics, ready } = options;
  allocateYoung();
  let closing: Promise<void> | undefined;
  const readiness = async (): Promise<Readiness> =>
    closing === undefined ? ready() : { ready: false, reasons: ['shutting down'] };
  const record = recorder(options);
  const server = createServer(
    app,
    { limits: options.limits, tls: listen.tls, refusal: options.refusal },
    (req, res) => {
      if (closing !== undefined) res.shouldKeepAlive = false;
      if (answerHealth(req, res, readiness)) return;
      const course = record(req, res);
      if (course === undefined) app(req, res);
      else follow(course, () => app(req, res));
    },
  );
  let leave: (() => void) | undefined;
  const drain = drainable(server, isOneOfSeveral() ? () => leave?.() : undefined);
  options.onServer?.(server);
  let port: number;
  if (isOneOfSeveral()) ({ port, leave } = await shareOut(server, listen));
  else port = await listenOn(server, listen);
  if (metrics && isOneOfSeveral()) {
    observeProcess(metrics.registry);
    lendMetrics(metrics.registry);
  }
  const metricsServer =
    metrics?.listen &&
    !isOneOfSeveral() &&
    (await showMetrics(metrics.registry, metrics.listen).catch(async (error) => {
      await drain({ seconds: 0 });
      throw error;
    }));
  const seconds = options.drainSeconds ?? 10;
  return {
    url: urlOf(listen, port),
    port,
    server,
    metricsPort: metricsServer ? metricsServer.port : undefined,
    close() {
      if (closing === undefined) options.onClose?.();
      closing ??= drain({ delay: options.drainDelay, seconds }).then(() =>
        metricsServer ? metricsServer.drain({ seconds: 0 }) : undefined,
      );
      return closing;
    },
  };
}

/** Returns the course of the request if it is watched. */
type Recorder = (req: http.IncomingMessage, res: http.ServerResponse) => WatchedAnswer['course'];

// One listener shared by all responses. Its data is stored on the response itself.
function recorder({ log, logRequests = true, metrics, tracing, slowMs }: ServeOptions): Recorder {
  const writeLine: RequestLog | undefined = logRequests && log.isLevelEnabled('info') ? requestLog(log) : undefined;
  const requestMetrics: RequestMetrics | undefined = metrics && observe(metrics.registry);
  const watched = watchRequests({ log, tracing, slowMs });
  if (writeLine === undefined && requestMetrics === undefined && watched === undefined) return () => undefined;
  function onClose(this: WatchedAnswer): void {
    const ms = performance.now() - (this.startedAtMs as number);
    writeLine?.(this.req, this.statusCode, ms, this.writableFinished, this.course?.span?.traceId);
    requestMetrics?.end(this.req, this.statusCode, ms / 1000);
    if (this.course !== undefined) watched?.end(this);
  }
  return (req, res: WatchedAnswer) => {
    res.startedAtMs = performance.now();
    requestMetrics?.begin();
    res.on('close', onClose);
    return watched?.begin(req, res);
  };
}

async function showMetrics(
  registry: Registry,
  listen: Listen,
): Promise<{ drain: (times: DrainTimes) => Promise<void>; port: number }> {
  observeProcess(registry);
  const server = createMetricsServer(registry, listen.tls);
  const drain = drainable(server);
  return { drain, port: await listenOn(server, listen) };
}
