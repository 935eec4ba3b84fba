import type { IncomingMessage, ServerResponse } from 'node:http';
import { ConsoleHost, isOwnPage, type Sessions } from '@keystead/console-host';
import { Refusal } from '@keystead/refusal';
import { clientAddress, type Logger, requestId } from '@keystead/server';
import type { TrustedProxies } from '@keystead/settings';
import type { Request } from '../pipeline/request';
import type { PageSession } from './messages';

/** The parts of the console's edge. */
export interface ConsoleParts {
  readonly sessions: Sessions;
  /**
   * The session with an id and its token; undefined if it has ended. `background`: the page sends the request
   * automatically, so it does not extend the session.
   */
  find(id: string, background: boolean): Promise<PageSession | undefined>;
  /** Whether the service is reached only over HTTPS. */
  readonly secureOnly: boolean;
  readonly trustedProxies: TrustedProxies;
  readonly log: Logger;
}

const backgroundHeader = 'x-keystead-background';

/** A console page sent a request without a valid session: its user has to sign in. */
export class SignedOut extends Refusal {
  constructor() {
    super('denied', 'sign in first');
  }
}

/** The HTTP side of the console: its pages, and the handling of session cookies in API requests. */
export class ConsoleEdge {
  private readonly host: ConsoleHost;

  constructor(private readonly parts: ConsoleParts) {
    const { sessions, secureOnly, trustedProxies, log } = parts;
    this.host = new ConsoleHost({
      service: 'secrets',
      sessions,
      secureOnly,
      from: (req) => ({ address: clientAddress(req, trustedProxies), requestId: requestId(req) }),
      onFault: (error, req) => log.error({ err: error, method: req.method }, 'fault'),
    });
  }

  owns(req: IncomingMessage): boolean {
    return this.host.owns(req);
  }

  answer(req: IncomingMessage, res: ServerResponse): Promise<void> {
    return this.host.answer(req, res);
  }

  /** The session of the console page that makes a request; undefined for other requests, with or without cookies. */
  sessionOf(req: IncomingMessage): Promise<PageSession | undefined> | undefined {
    const id = req.headers.cookie === undefined ? undefined : this.host.idOf(req);
    return id === undefined ? undefined : this.parts.find(id, req.headers[backgroundHeader] !== undefined);
  }

  /** The error that reports to a console page that its session has ended; undefined for other callers. */
  inPagesWords(error: unknown, req: IncomingMessage, request: Request | undefined): SignedOut | undefined {
    const isDenied = error instanceof Refusal && error.kind === 'denied' && request?.token === undefined;
    return isDenied && isOwnPage(req) ? new SignedOut() : undefined;
  }
}
