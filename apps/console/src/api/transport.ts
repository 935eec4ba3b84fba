import { exactJson, parseExact } from '@keystead/envelope';
import { ApiError, type Refused, readError } from './api-error';

/** Callbacks of the transport to the page around it. */
export interface TransportEvents {
  /** Asks the user to confirm their identity. Resolves to whether they did. */
  stepUp(): Promise<boolean>;
  /** The session has ended. */
  signedOut(): void;
}

/** How long after the last key or click requests are still attributed to the user. */
const attendedMs = 60_000;

/** Sends requests from this page. The browser adds the cookie, which is only accepted with this header. */
export class Transport {
  /** Headers of every request, such as the namespace. */
  readonly headers = new Map<string, string>();

  private attendedAt = Date.now();

  constructor(private readonly events: TransportEvents) {
    const attend = () => {
      this.attendedAt = Date.now();
    };
    for (const eventName of ['pointerdown', 'pointermove', 'keydown', 'wheel']) {
      addEventListener(eventName, attend, { capture: true, passive: true });
    }
  }

  /** For `openapi-fetch`. If the service requires a step-up, asks for it and sends the request again. */
  readonly fetch = async (request: Request): Promise<Response> => {
    const again = request.clone();
    const response = await this.send(request);
    if (response.status === 403 && response.headers.get('X-Keystead-Step-Up') === 'required') {
      return (await this.events.stepUp()) ? this.send(again) : response;
    }
    // A mistyped proof does not end the session.
    const isProof = new URL(request.url).pathname.startsWith('/ui/session');
    if (response.status === 401 && !isProof) this.events.signedOut();
    return response;
  };

  /** Sends JSON and returns JSON. Throws `ApiError`. */
  async call<T>(method: string, path: string, body?: unknown, headers: Record<string, string> = {}): Promise<T> {
    const init: RequestInit = { method, headers };
    if (body !== undefined) {
      init.body = exactJson(body);
      init.headers = { 'Content-Type': 'application/json', ...headers };
    }
    const response = await this.fetch(new Request(new URL(path, location.origin), init));
    return (await readAnswer(response, { method, path })) as T;
  }

  private send(request: Request): Promise<Response> {
    request.headers.set('X-Keystead-Console', '1');
    // A page that polls does not keep an unused session alive.
    if (Date.now() - this.attendedAt > attendedMs) request.headers.set('X-Keystead-Background', '1');
    for (const [name, value] of this.headers) if (!request.headers.has(name)) request.headers.set(name, value);
    return fetch(request);
  }
}

async function readAnswer(response: Response, request: Refused): Promise<unknown> {
  const text = await response.text();
  let body: unknown;
  try {
    body = text === '' ? undefined : parseExact(text);
  } catch {
    body = text;
  }
  if (!response.ok) throw readError(response.status, body, request);
  return body;
}

/** Returns the data of an `openapi-fetch` result, or throws its error. */
export async function dataOf<T>(answer: Promise<{ data?: T; error?: unknown; response: Response }>): Promise<T> {
  const { data, error, response } = await answer;
  if (!response.ok) throw error === undefined ? new ApiError(response.status, []) : readError(response.status, error);
  return data as T;
}
