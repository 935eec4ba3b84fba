import type { IncomingMessage } from 'node:http';
import { parseCookie, stringifySetCookie } from 'cookie';
import { isOwnPage } from './same-origin';

/** The format of a session id: 32 random bytes in base64url. Other strings are never looked up. */
const idForm = /^[\w-]{43}$/;

/**
 * The cookie with the id of a console session. Its name contains the service, because cookies ignore ports. If the
 * browser uses HTTPS, the name begins with `__Host-`, so no other host and no plain connection can have set it.
 */
export class SessionCookie {
  private readonly plain: string;
  private readonly hosted: string;

  /** @param secureOnly The service is reached only over HTTPS: a cookie without `__Host-` is never accepted. */
  constructor(
    service: string,
    private readonly secureOnly: boolean,
    /** `lax`: also sent when another site links or redirects to us. */
    private readonly sameSite: 'strict' | 'lax' = 'strict',
  ) {
    this.plain = `keystead-${service}`;
    this.hosted = `__Host-${this.plain}`;
  }

  /** The session id in a request from one of our pages; undefined for all other requests, even with cookies. */
  idOf(req: IncomingMessage): string | undefined {
    return isOwnPage(req) ? this.sentId(req) : undefined;
  }

  /**
   * The id that a browser sent, from any page. It identifies the browser, but does not prove that the user intended the
   * request.
   */
  sentId(req: IncomingMessage): string | undefined {
    const sent = req.headers.cookie;
    if (sent === undefined) return undefined;
    const cookies = parseCookie(sent);
    const id = cookies[this.hosted] ?? (this.secureOnly ? undefined : cookies[this.plain]);
    return id !== undefined && idForm.test(id) ? id : undefined;
  }

  /** The `Set-Cookie` line that sets an id for `seconds`. */
  set(req: IncomingMessage, id: string, seconds: number): string {
    const secure = this.isSecure(req);
    const name = secure ? this.hosted : this.plain;
    return stringifySetCookie({ name, value: id, ...this.attributes(secure), maxAge: seconds });
  }

  /** The `Set-Cookie` lines that delete the cookie, under each name that was sent. */
  clear(req: IncomingMessage): string[] {
    const sent = parseCookie(req.headers.cookie ?? '');
    return [this.hosted, this.plain]
      .filter((name) => sent[name] !== undefined)
      .map((name) => stringifySetCookie({ name, value: '', ...this.attributes(name === this.hosted), maxAge: 0 }));
  }

  private attributes(secure: boolean) {
    return { httpOnly: true, sameSite: this.sameSite, path: '/', secure } as const;
  }

  // The page's origin shows how the browser reached us, even through proxies.
  private isSecure(req: IncomingMessage): boolean {
    return this.secureOnly || 'encrypted' in req.socket || /^https:/.test(req.headers.origin ?? '');
  }
}
