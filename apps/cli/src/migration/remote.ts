import { setTimeout as sleep } from 'node:timers/promises';
import { exitCodes, Problem } from '../problem';

/** A JSON:API resource as far as copying it needs. */
export interface Resource {
  id: string;
  type: string;
  attributes: Record<string, unknown>;
  relationships?: Record<string, { data?: { id: string; type: string } | { id: string; type: string }[] | null }>;
}

const MEDIA = 'application/vnd.api+json';
const PAGE = 100;
const ATTEMPTS = 6;
const LONGEST_WAIT_MS = 60_000;

/** A server of the workspace API, spoken to with patience: a rate limit or a passing fault is waited out. */
export class Remote {
  constructor(
    readonly name: string,
    private readonly address: string,
    private readonly token: string,
  ) {
    if (!/^https?:\/\/[^/]+$/.test(address)) throw new Problem(`${address} is no address: use https://host`);
  }

  async get(path: string): Promise<Resource> {
    return (await this.document('GET', path)).data as Resource;
  }

  /** The resource, or undefined where there is none that we may see. */
  async find(path: string): Promise<Resource | undefined> {
    return (await this.document('GET', path, undefined, [404]))?.data as Resource | undefined;
  }

  /** All resources of a list, page by page; none where there is no such list here. */
  async list(path: string): Promise<Resource[]> {
    const all: Resource[] = [];
    for (let page = 1; ; page += 1) {
      const query = `${path.includes('?') ? '&' : '?'}page%5Bnumber%5D=${page}&page%5Bsize%5D=${PAGE}`;
      const answer = await this.document('GET', path + query, undefined, [404]);
      const found = (answer?.data ?? []) as Resource[];
      all.push(...found);
      const pages = (answer?.meta as { pagination?: { 'total-pages'?: number } } | undefined)?.pagination;
      if (page >= (pages?.['total-pages'] ?? 1)) return all;
    }
  }

  async create(path: string, data: unknown): Promise<Resource> {
    return (await this.document('POST', path, { data })).data as Resource;
  }

  async act(path: string, body: unknown = {}): Promise<void> {
    await this.document('POST', path, body);
  }

  /** Bytes behind a URL that the server gave, signed or to be called with our token. */
  async download(url: string): Promise<Buffer> {
    const answer = await this.send('GET', this.absolute(url));
    if (!answer.ok) throw await this.refusal('GET', url, answer);
    return Buffer.from(await answer.arrayBuffer());
  }

  async upload(url: string, bytes: Buffer): Promise<void> {
    const answer = await this.send('PUT', this.absolute(url), bytes, 'application/octet-stream');
    if (!answer.ok) throw await this.refusal('PUT', url, answer);
  }

  private async document(method: string, path: string, body?: unknown, absent: readonly number[] = []) {
    const text = body === undefined ? undefined : JSON.stringify(body);
    const answer = await this.send(method, `${this.address}/api/v2/${path}`, text, MEDIA);
    if (absent.includes(answer.status)) return {};
    if (!answer.ok) throw await this.refusal(method, path, answer);
    const said = await answer.text();
    return said === '' ? {} : (JSON.parse(said) as { data?: unknown; meta?: unknown });
  }

  private async send(method: string, url: string, body?: string | Buffer, type?: string): Promise<Response> {
    for (let attempt = 1; ; attempt += 1) {
      const headers = {
        Authorization: `Bearer ${this.token}`,
        ...(body === undefined || !type ? {} : { 'Content-Type': type }),
      };
      let answer: Response;
      try {
        answer = await fetch(url, { method, headers, body });
      } catch (error) {
        const reason = ((error as Error).cause as Error | undefined)?.message ?? (error as Error).message;
        throw new Problem(`${this.name} cannot be reached: ${reason}`, exitCodes.unreachable);
      }
      // Nothing was done where the server says "not now"; a create that failed otherwise is never sent twice.
      const later = answer.status === 429 || answer.status === 503;
      if (!later || attempt === ATTEMPTS) return answer;
      await answer.body?.cancel();
      await sleep(waitOf(answer, attempt));
    }
  }

  private absolute(url: string): string {
    return new URL(url, this.address).href;
  }

  private async refusal(method: string, path: string, answer: Response): Promise<Problem> {
    const text = await answer.text();
    let said = '';
    try {
      const { errors } = JSON.parse(text) as { errors: { detail?: string; title?: string }[] };
      said = errors.map(({ detail, title }) => detail ?? title).join('; ');
    } catch {
      said = text.slice(0, 200);
    }
    return new Problem(`${this.name}: ${method} ${path.split('?')[0]}: ${answer.status} ${said}`, exitCodes.refused);
  }
}

function waitOf(answer: Response, attempt: number): number {
  const seconds = Number(answer.headers.get('retry-after') ?? answer.headers.get('x-ratelimit-reset'));
  const told = Number.isFinite(seconds) && seconds > 0 ? seconds * 1000 : 250 * 2 ** attempt;
  return Math.min(told, LONGEST_WAIT_MS);
}
