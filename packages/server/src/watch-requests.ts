import type http from 'node:http';
import { Course, type Tracing } from '@keystead/tracing';
import type { Logger } from 'pino';
import { requestId, sentRequestId } from './request-id';
import { routeOf } from './route';

/** An answer and the course of its request. */
export interface WatchedAnswer extends http.ServerResponse {
  startedAtMs?: number;
  /** When its headers were sent; only for watched requests. */
  answeredAtMs?: number;
  course?: Course;
}

/** Watches requests. `end` is called once for each request for which `begin` returned a course. */
export interface RequestWatch {
  begin(req: http.IncomingMessage, res: WatchedAnswer): Course | undefined;
  end(res: WatchedAnswer): void;
}

const rounded = (ms: number): number => Math.round(ms * 1000) / 1000;

/**
 * Traces requests, and logs each slow request on a separate line, with the time until its response began (without any
 * wait that the caller requested) and a breakdown of this time. Undefined if neither is configured. Like the log, it
 * names routes, never paths.
 */
export function watchRequests(options: { log: Logger; tracing?: Tracing; slowMs?: number }): RequestWatch | undefined {
  const { log, tracing, slowMs } = options;
  if (tracing === undefined && slowMs === undefined) return undefined;
  return {
    begin(req, res) {
      const span = tracing?.begin('request', 'server', headerOf(req));
      if (span === undefined && slowMs === undefined) return undefined;
      res.course = new Course(span);
      return res.course;
    },
    end(res) {
      const { course, req, statusCode: status } = res;
      const { span, spentMs } = course!;
      const { waiting, database, outside, asked: requestedMs } = spentMs;
      const nowMs = performance.now();
      course!.end();
      const route = routeOf(req);
      if (span) {
        const sentId = sentRequestId(req);
        span.rename(`${req.method} ${route}`);
        span.set({
          'http.request.method': req.method ?? '',
          'http.route': route,
          'http.response.status_code': status,
          'keystead.request_id': requestId(req),
          ...(sentId === undefined ? {} : { 'keystead.sent_request_id': sentId }),
          'keystead.waiting_ms': rounded(waiting),
          'keystead.database_ms': rounded(database),
          'keystead.outside_ms': rounded(outside),
        });
        span.end(status >= 500);
      }
      const ms = (res.answeredAtMs ?? nowMs) - res.startedAtMs! - requestedMs;
      if (slowMs === undefined || ms < slowMs) return;
      log.warn(
        {
          method: req.method,
          route,
          status,
          ms: rounded(ms),
          waitingMs: rounded(waiting),
          databaseMs: rounded(database),
          outsideMs: rounded(outside),
          requestId: requestId(req),
          traceId: span?.traceId,
        },
        'slow request',
      );
    },
  };
}

function headerOf(req: http.IncomingMessage): string | undefined {
  const { traceparent } = req.headers;
  return typeof traceparent === 'string' ? traceparent : undefined;
}
