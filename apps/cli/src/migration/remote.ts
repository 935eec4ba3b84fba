import { setTimeout as sleep } from 'node:timers/promises';
import { exactJson, parseExact } from '@keystead/envelope';
import { whyNoAnswer } from '../failure';
import { exitCodes, Problem } from '../problem';
import { isWorthAskingAgain, isWorthRepeating, waitOf } from './patience';
import { type Objection, Refused } from './refused';
import type { RemoteResource } from './resource';

/** The items of a list that the server returned. */
export interface Listing {
  items: RemoteResource[];
  /** The list does not exist, or the token may not see it. Responses do not distinguish the two. */
  absent: boolean;
  /** The server has no such lists at all, for any owner. */
  unknown: boolean;
  /** The number of items that were on no page, although the server counted them. */
  withheld: number;
}

interface JsonApiDocument {
  data?: unknown;
  errors?: Objection[];
  meta?: { pagination?: { 'next-page'?: number | null; 'total-pages'?: number; 'total-count'?: number } };
}

/** The parts of an OpenAPI document that describe the bodies of creates. */
interface Description {
  paths?: Record<string, { post?: { requestBody?: { content?: Record<string, { schema?: Schema }> } } }>;
}

interface Schema {
  properties?: Record<string, Schema>;
}

const MEDIA = 'application/vnd.api+json';
const PAGE = 100;
const CALL_TIMEOUT_MS = 120_000;
const BYTES_TIMEOUT_MS = 900_000;
/** The statuses of servers that do not have an endpoint. */
const ABSENT = [404, 405, 410, 501];

/** A client of the workspace API with retries: it waits out rate limits and transient failures. */
export class Remote {
  private description: Promise<Description | undefined> | undefined;

  constructor(
    readonly name: string,
    private readonly address: string,
    private readonly token: string,
    /** `patient: false` turns retries off, for requests whose answer a user is waiting for. */
    private readonly options: { readonly patient: boolean; readonly tokenFrom?: string } = { patient: true },
  ) {
    if (!/^https?:\/\/[^/]+$/.test(address)) throw new Problem(`${address} is not an address: use https://host`);
  }

  async get(path: string): Promise<RemoteResource> {
    return this.resourceIn((await this.ask('GET', path)).document, `GET ${path}`);
  }

  /** The resource; undefined if it does not exist or we may not see it. */
  async find(path: string): Promise<RemoteResource | undefined> {
    return (await this.ask('GET', path, undefined, ABSENT)).document?.data as RemoteResource | undefined;
  }

  /** All resources of a list, page by page; empty if the list does not exist. */
  async list(path: string): Promise<RemoteResource[]> {
    return (await this.survey(path)).items;
  }

  /** The resources of a list, and whether the list is complete. */
  async survey(path: string): Promise<Listing> {
    const items = new Map<string, RemoteResource>();
    let total = 0;
    for (let page = 1; ; page += 1) {
      const query = `${path.includes('?') ? '&' : '?'}page%5Bnumber%5D=${page}&page%5Bsize%5D=${PAGE}`;
      const { document: answer, unknown } = await this.ask('GET', path + query, undefined, ABSENT);
      if (!answer && page === 1) return { items: [], absent: true, unknown, withheld: 0 };
      const before = items.size;
      const data = answer?.data ?? [];
      if (!Array.isArray(data) || !data.every(isResource)) throw this.strange(`GET ${path}`, 'no list');
      for (const item of data) items.set(item.id, item);
      const paging = answer?.meta?.pagination;
      total = paging?.['total-count'] ?? items.size;
      const goesOn = paging?.['next-page'] != null || page < (paging?.['total-pages'] ?? 1);
      // A server that ignores the requested page would return the same page forever.
      if (goesOn && items.size > before) continue;
      return { items: [...items.values()], absent: false, unknown, withheld: Math.max(0, total - items.size) };
    }
  }

  async create(path: string, data: unknown): Promise<RemoteResource> {
    return this.resourceIn((await this.ask('POST', path, { data })).document, `POST ${path}`);
  }

  async change(path: string, data: unknown): Promise<void> {
    await this.ask('PATCH', path, { data });
  }

  /** Changes a resource, or runs an action, and returns the result. */
  async patch(path: string, data: unknown): Promise<RemoteResource> {
    return this.resourceIn((await this.ask('PATCH', path, { data })).document, `PATCH ${path}`);
  }

  async remove(path: string): Promise<void> {
    await this.ask('DELETE', path);
  }

  async act(path: string, body: unknown = {}): Promise<void> {
    await this.ask('POST', path, body);
  }

  /** The attributes that a create at a path may have, according to the OpenAPI document of the server. */
  async createAttributes(path: string): Promise<string[]> {
    this.description ??= this.ask('GET', 'openapi.json').then(({ document }) => document as Description | undefined);
    const { requestBody } = (await this.description)?.paths?.[`/api/v2/${path}`]?.post ?? {};
    const body = requestBody?.content?.[MEDIA]?.schema;
    const attributes = body?.properties?.data?.properties?.attributes?.properties;
    if (attributes === undefined) throw this.strange('GET openapi.json', `no POST ${path}`);
    return Object.keys(attributes);
  }

  /** The bytes at a URL from the server; undefined if they no longer exist. */
  async download(url: string): Promise<Buffer | undefined> {
    const target = this.absolute(url);
    const options = { method: 'GET', accept: '*/*', timeout: BYTES_TIMEOUT_MS };
    let answer = await this.send(target, { ...options, signed: this.isOurs(target) });
    // Some servers store bytes on a related host that needs the token; no other host ever gets it.
    if (answer.status === 401 && !this.isOurs(target) && this.isRelated(target)) {
      answer = await this.send(target, { ...options, signed: true });
    }
    if (ABSENT.includes(answer.status)) return undefined;
    if (answer.failed) throw this.refusal('GET', target.pathname, answer);
    return answer.bytes;
  }

  /** The address of a module's archive, which the server returns at the module's download address. */
  async locate(url: string): Promise<string | undefined> {
    const target = this.absolute(url);
    const answer = await this.send(target, { method: 'GET', accept: '*/*', signed: this.isOurs(target) });
    if (answer.failed) throw this.refusal('GET', target.pathname, answer);
    return answer.headers.get('x-terraform-get') ?? undefined;
  }

  async upload(url: string, body: Buffer): Promise<void> {
    const target = this.absolute(url);
    const type = 'application/octet-stream';
    const signed = this.isOurs(target);
    const answer = await this.send(target, { method: 'PUT', body, type, signed, timeout: BYTES_TIMEOUT_MS });
    if (answer.failed) throw this.refusal('PUT', target.pathname, answer);
  }

  /** The response; without a document if the status is among `absent`, or if it is an HTML page. */
  private async ask(
    method: string,
    path: string,
    data?: unknown,
    absent: readonly number[] = [],
  ): Promise<{ document?: JsonApiDocument; unknown: boolean }> {
    const target = new URL(`${this.address}/api/v2/${path}`);
    const body = data === undefined ? undefined : exactJson(data);
    const answer = await this.send(target, { method, body, type: MEDIA, accept: MEDIA, signed: true });
    const document = answer.bytes.length === 0 ? {} : documentIn(answer.bytes);
    // If the API itself does not find something, it answers with an API error.
    if (absent.includes(answer.status)) return { unknown: answer.status !== 404 || document?.errors === undefined };
    if (answer.failed) throw this.refusal(method, path, answer);
    // Some servers answer an unknown path with an HTML page.
    if (!document && absent.length > 0) return { unknown: true };
    if (!document) throw new Problem(`${this.name}: ${method} ${path.split('?')[0]}: the answer is not JSON`);
    return { document, unknown: false };
  }

  private async send(target: URL, call: RemoteRequest): Promise<RemoteResponse> {
    const { method, body, type, accept, signed, timeout = CALL_TIMEOUT_MS } = call;
    const headers = {
      // A kept-alive connection may close just when it is used, and a write is not sent again.
      Connection: 'close',
      ...(accept ? { Accept: accept } : {}),
      ...(signed ? { Authorization: `Bearer ${this.token}` } : {}),
      ...(body === undefined || !type ? {} : { 'Content-Type': type }),
    };
    for (let attempt = 1; ; attempt += 1) {
      let response: RemoteResponse | undefined;
      try {
        const answer = await fetch(target, { method, headers, body, signal: AbortSignal.timeout(timeout) });
        const bytes = Buffer.from(await answer.arrayBuffer());
        response = { status: answer.status, failed: !answer.ok, headers: answer.headers, bytes };
      } catch (error) {
        if (!this.options.patient || !isWorthAskingAgain(method, attempt)) throw this.silence(target, error as Error);
      }
      if (response && !(this.options.patient && isWorthRepeating(method, response.status, attempt))) return response;
      await sleep(waitOf(response?.headers, attempt));
    }
  }

  private resourceIn(document: JsonApiDocument | undefined, what: string): RemoteResource {
    const data = document?.data;
    if (!isResource(data)) throw this.strange(what, 'no resource');
    return data;
  }

  private strange(what: string, content: string): Problem {
    const message = `${this.name}: ${what.split('?')[0]}: the answer holds ${content}: this may not be the address of the workspace service`;
    return new Problem(message, exitCodes.unreachable);
  }

  /**
   * The problem to report if a host does not answer. It names the host, because links may lead to a host other than the
   * service's.
   */
  private silence(target: URL, error: Error): Problem {
    const link = `${target.host}, the host of a link from ${this.name} (WORKSPACES_PUBLIC_URL),`;
    const host = this.isOurs(target) ? this.name : link;
    return new Problem(`${host} cannot be reached: ${whyNoAnswer(error)}`, exitCodes.unreachable);
  }

  private absolute(url: string): URL {
    return new URL(url, this.address);
  }

  private isOurs({ origin }: URL): boolean {
    return origin === new URL(this.address).origin;
  }

  private isRelated({ protocol, hostname }: URL): boolean {
    const parent = new URL(this.address).hostname.replace(/^[^.]*\./, '');
    return protocol === 'https:' && /\.[a-z]+$/.test(parent) && hostname.endsWith(`.${parent}`);
  }

  private refusal(method: string, path: string, { status, bytes }: RemoteResponse): Refused {
    const objections = documentIn(bytes)?.errors ?? [{ detail: bytes.toString('utf8', 0, 200) }];
    const { tokenFrom } = this.options;
    const hint = status === 401 && tokenFrom ? `, with the token of ${tokenFrom}` : '';
    return new Refused(`${this.name}: ${method} ${path.split('?')[0]}${hint}`, status, objections);
  }
}

interface RemoteRequest {
  method: string;
  body?: string | Buffer;
  type?: string;
  accept?: string;
  /** Whether the token is sent. */
  signed: boolean;
  timeout?: number;
}

interface RemoteResponse {
  status: number;
  failed: boolean;
  headers: Headers;
  bytes: Buffer;
}

function isResource(data: unknown): data is RemoteResource {
  const { id, attributes } = (data ?? {}) as Partial<RemoteResource>;
  return typeof id === 'string' && typeof (attributes ?? {}) === 'object';
}

function documentIn(response: Buffer): JsonApiDocument | undefined {
  try {
    const parsed: unknown = parseExact(response.toString('utf8'));
    return typeof parsed === 'object' && parsed !== null ? parsed : undefined;
  } catch {
    return undefined;
  }
}
