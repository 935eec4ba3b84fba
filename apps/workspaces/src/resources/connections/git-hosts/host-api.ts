import { type OutsideRequest, type OutsideResponse, outsideCall, type Reach, Unreachable } from '@keystead/outside';
import { textAt } from './reading';

/** How a Git host is called: by this service, or by an agent in its network. Responses with any status are returned. */
export type HostCall = (url: string, request: OutsideRequest, timeoutMs: number) => Promise<OutsideResponse>;

/** Calls a host from this service, if its address may be called. */
export const directly =
  (reach: Reach): HostCall =>
  (url, request, timeoutMs) =>
    outsideCall('the Git host', url, { ...request, reach }, timeoutMs);

/** A Git host answered with a refusal. */
export class HostRefused extends Error {
  override readonly name = 'HostRefused';
  constructor(
    readonly status: number,
    message: string,
  ) {
    super(message);
  }
}

const timeoutMs = 15_000;
const longestMessage = 300;
/** Matches segments that would make a URL lead to another path. */
const dotSegment = /\/\.{1,2}(?:\/|$)/;

type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';

/** The API of one Git host, with the credential of one connection. */
export class HostApi {
  readonly base: string;

  constructor(
    base: string,
    private readonly headers: Readonly<Record<string, string>>,
    private readonly send: HostCall,
  ) {
    this.base = base.replace(/(?<!\/)\/+$/, '');
  }

  /** Throws HostRefused for statuses of 300 and above, and `upstream` if there is no response. */
  async call(method: Method, path: string, json?: unknown): Promise<unknown> {
    const url = path.startsWith('/') ? this.base + path : path;
    // The name of a repository or a branch must not lead to another address that the credential can use.
    if (dotSegment.test(url.split('?', 1)[0]!))
      throw new HostRefused(404, 'a name must not contain . or .. as a segment');
    const answer = await this.send(url, { method, headers: this.headers, json }, timeoutMs);
    // GitHub answers 403 to a client that sends too many requests.
    const isTooOften =
      answer.status === 403 && (answer.retryAfterSeconds > 0 || /rate limit/i.test(messageOf(answer.json)));
    if (answer.status === 429 || answer.status >= 500 || isTooOften) {
      throw new Unreachable(`the Git host answered ${answer.status}: ${messageOf(answer.json)}`);
    }
    // Azure DevOps answers an unknown token with its sign-in page.
    if (answer.status === 203) throw new HostRefused(401, 'the Git host does not know the token');
    if (answer.status >= 300) {
      throw new HostRefused(answer.status, `the Git host answered ${answer.status}: ${messageOf(answer.json)}`);
    }
    return answer.json;
  }

  get(path: string): Promise<unknown> {
    return this.call('GET', path);
  }

  /** Like `call` with GET; undefined if the object does not exist. */
  async find(path: string): Promise<unknown> {
    try {
      return await this.get(path);
    } catch (error) {
      if (error instanceof HostRefused && error.status === 404) return undefined;
      throw error;
    }
  }

  /** Deletes an object. It is not an error if the object no longer exists. */
  async remove(path: string): Promise<void> {
    try {
      await this.call('DELETE', path);
    } catch (error) {
      if (!(error instanceof HostRefused && [404, 410].includes(error.status))) throw error;
    }
  }
}

const wordsAt = [['message'], ['error', 'message'], ['error'], ['errors', 0, 'message']] as const;

function messageOf(json: unknown): string {
  const message = wordsAt.map((path) => textAt(json, ...path)).find((text) => text !== '');
  return (message ?? 'it gave no reason').slice(0, longestMessage);
}
