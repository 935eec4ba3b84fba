import { IncomingMessage, ServerResponse } from 'node:http';
import type { Course } from '@keystead/tracing';
import express from 'express';
import { isTooLongToDiscard } from './read-body';

/**
 * An Express 5 application at the speed of bare `node:http`.
 *
 * Express changes the prototype of every request and response, which makes V8 use its slow path. The classes created
 * here have Express's members on their prototypes and are the application's `request` and `response`. `createServer`
 * and `serve` build all objects from them, so setting the prototype changes nothing. Everything else is Express.
 */
export function createApp(): express.Express {
  const app = express();
  app.disable('x-powered-by');
  app.disable('etag');
  app.set('query parser', false);
  app.request = requestClass(app).prototype as unknown as express.Request;
  app.response = responseClass(app).prototype as unknown as express.Response;
  return app;
}

/** The classes from which an HTTP server must build the messages of an application made by `createApp`. */
export function messageClasses(app: express.Express): {
  IncomingMessage: typeof IncomingMessage;
  ServerResponse: typeof ServerResponse;
} {
  return {
    IncomingMessage: app.request.constructor as typeof IncomingMessage,
    ServerResponse: app.response.constructor as unknown as typeof ServerResponse,
  };
}

// The fields that Express, its router and this package add to a message are declared, so that they do not reshape it.
function requestClass(app: express.Express) {
  class NativeRequest extends IncomingMessage {
    res: unknown = undefined;
    next: unknown = undefined;
    baseUrl: unknown = undefined;
    originalUrl: unknown = undefined;
    params: unknown = undefined;
    route: unknown = undefined;
    _parsedUrl: unknown = undefined;
  }
  return withMembers(NativeRequest, express.request, app);
}

function responseClass(app: express.Express) {
  class NativeResponse extends ServerResponse {
    locals: unknown = undefined;
    startedAtMs: number | undefined = undefined;
    answeredAtMs: number | undefined = undefined;
    course: Course | undefined = undefined;

    override writeHead(...args: unknown[]): this {
      // Measured at the start of the response, because a long response, or a slow client, does not make a request slow.
      if (this.course !== undefined) this.answeredAtMs ??= performance.now();
      // A refusal is often written before the body has been read. Without this, a client could then send a body of any
      // size.
      if (!this.req.complete && isTooLongToDiscard(this.req)) this.shouldKeepAlive = false;
      return (super.writeHead as (...args: unknown[]) => this).apply(this, args);
    }
  }
  return withMembers(NativeResponse, express.response, app);
}

function withMembers<C extends { prototype: object }>(type: C, members: object, app: express.Express): C {
  Object.defineProperties(type.prototype, Object.getOwnPropertyDescriptors(members));
  Object.defineProperty(type.prototype, 'app', { configurable: true, enumerable: true, writable: true, value: app });
  return type;
}
