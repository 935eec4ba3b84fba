import { faultOf, judgeRaw } from './judge';
import { minimiseBytes, minimiseRequest, printable, shownRequest } from './minimise';
import type { Operations } from './operations';
import { Random } from './random';
import { type RawCase, rawCase } from './raw-requests';
import { type Dialect, encode, type Framing, type FuzzRequest, type Known, Requests } from './requests';
import { type Answer, jsonIn, type NoAnswer, Wire } from './wire';

/** The data that the callers of one program share. */
export interface Place {
  readonly port: number;
  readonly dialect: Dialect;
  /** Paths for raw cases, without the prefix. */
  readonly paths: { readonly found: string; readonly missing: string; readonly writes: string; readonly self: string };
  /** Ids from answers that must not be sent, because they would end the caller. */
  readonly never: readonly string[];
}

/** A fault of a service. */
export interface Finding {
  /** The operation or the kind of case, and the fault: findings with the same text are the same. */
  readonly what: string;
  /**
   * The smallest request that reproduces it, as bytes, and the response. If it cannot be reproduced: how it was found.
   */
  readonly evidence: string;
}

/** The results of an operation. */
export interface Measured {
  sent: number;
  /** Answered 2xx. */
  good: number;
  ms: number;
  /** How often each refusal came, until the operation is first answered 2xx. */
  readonly refusals: Record<string, number>;
}

/** The counters of all callers of a program. */
export class Tally {
  sent = 0;
  raw = 0;
  readonly statuses: Record<string, number> = {};
  readonly operations: Record<string, Measured> = {};
  readonly findings = new Map<string, Finding & { times: number }>();

  count(status: number | NoAnswer): void {
    this.sent++;
    this.statuses[status] = (this.statuses[status] ?? 0) + 1;
  }

  measure(operation: string, good: boolean, ms: number): Measured {
    this.operations[operation] ??= { sent: 0, good: 0, ms: 0, refusals: {} };
    const measured = this.operations[operation];
    measured.sent++;
    measured.good += Number(good);
    measured.ms += ms;
    return measured;
  }
}

const shareOfRaw = 0.15;
/** How long to wait for an answer. Password hashes wait for each other, which takes minutes on a busy machine. */
const patienceMs = 180_000;
const largestHarvest = 60_000;
const longestList = 40;
const keepsBody = 0.5;
const forgetsParents = 0.3;
const selfEvery = 400;
const refusedInARow = 6;
const kindsKept = 40;
/** How long an incomplete request is left open before the connection is half-closed. */
const hurryMs = 100;
const wholeMs = 20_000;

/** One caller with its own connection, random choices and memory. */
export class Caller {
  private readonly random: Random;
  private readonly requests: Requests;
  private readonly host: string;
  private readonly lately: string[] = [];
  private wire: Wire | undefined;
  private sent = 0;
  /** How many requests in a row were refused because of their sender. */
  private refused = 0;

  constructor(
    private readonly place: Place,
    private readonly operations: Operations,
    private readonly tally: Tally,
    private readonly known: Known,
    private readonly seed: string,
    private readonly token: { value: string; renew(): Promise<void> },
  ) {
    this.random = new Random(seed);
    this.requests = new Requests(operations, place.dialect, this.random, known);
    this.host = `127.0.0.1:${place.port}`;
  }

  async run(goesOn: () => boolean): Promise<void> {
    try {
      await this.loop(goesOn);
    } catch (error) {
      // Connections are refused or reset: the service has ended.
      if (!('code' in (error as object))) throw error;
      const what = `the service cannot be reached: ${(error as NodeJS.ErrnoException).code}`;
      if (this.isNew(what)) this.keep(what, this.lately.join('; '));
    }
    this.wire?.destroy();
  }

  private async loop(goesOn: () => boolean): Promise<void> {
    while (goesOn()) {
      if (this.sent++ % selfEvery === selfEvery - 1 || this.refused >= refusedInARow) await this.checkSelf();
      if (this.random.chance(shareOfRaw)) await this.raw();
      else await this.ordinary();
    }
  }

  private async ordinary(): Promise<void> {
    const request = this.requests.make(this.token.value, this.requests.next());
    const roll = this.random.next();
    const framing: Framing = request.body === undefined || roll < 0.9 ? 'length' : roll < 0.95 ? 'chunked' : 'split';
    const began = performance.now();
    const answer = await this.exchange(request, framing);
    const status = typeof answer === 'string' ? answer : answer.status;
    this.tally.count(status);
    this.refused = status === 401 || status === 403 ? this.refused + 1 : 0;
    const { operation } = request;
    const good = typeof status === 'number' && status < 400;
    const measured = this.tally.measure(operation.name, good, performance.now() - began);
    if (measured.good === 0 && typeof answer !== 'string') noteRefusal(measured.refusals, answer);
    if (good) this.learn(request, answer as Answer);
    else if (status === 404 && request.ownToken) this.forget(request);
    const wrong = faultOf(this.operations, request, answer);
    if (wrong !== undefined) await this.foundRequest(request, wrong, answer);
    this.lately.push(`${request.method} ${request.path} ${status}`);
    if (this.lately.length > 6) this.lately.shift();
  }

  private learn(request: FuzzRequest, answer: Answer): void {
    const { operation, body } = request;
    const { places, pools, bodies } = this.known;
    const path = this.pathOf(request);
    const mayStay = operation.method !== 'delete' && !request.astray;
    if (body !== undefined && this.random.chance(keepsBody)) {
      bodies.add(operation.name, { path: mayStay ? path : undefined, body });
    }
    if (operation.method === 'delete') this.forget(request);
    else if (!request.astray) places.learn(path);
    if (answer.body.length === 0 || answer.body.length > largestHarvest) return;
    const value = jsonIn(answer)?.value;
    if (value === undefined) return;
    pools.harvest(value);
    const { data } = (value ?? {}) as { data?: unknown };
    const keys = (data as { keys?: unknown } | null | undefined)?.keys;
    for (const key of Array.isArray(keys) ? keys.slice(0, longestList) : []) {
      if (typeof key === 'string' && key !== '') places.learnBelow(path, key);
    }
    for (const item of Array.isArray(data) ? data.slice(0, longestList) : [data]) {
      const { type, id, attributes } = (item ?? {}) as { type?: string; id?: string; attributes?: { name?: string } };
      if (typeof type === 'string' && typeof id === 'string') places.learnBelow(path, id, attributes?.name);
    }
  }

  private forget(request: FuzzRequest): void {
    const { operation } = request;
    // A 404 may mean that only a part of a resource is missing.
    if (!operation.template.endsWith('}') && !this.random.chance(forgetsParents)) return;
    const forgotten = this.known.places.forget(this.pathOf(request));
    if (forgotten !== undefined) this.known.pools.remove(forgotten.type, forgotten.id);
  }

  private pathOf({ path }: FuzzRequest): string {
    return path.slice(this.place.dialect.prefix.length);
  }

  /** Sends one request on the kept connection, or on a new one if the service has closed it. */
  private async exchange(request: FuzzRequest, framing: Framing): Promise<Answer | NoAnswer> {
    for (;;) {
      const fresh = this.wire === undefined || this.wire.closed;
      if (fresh) this.wire = await Wire.open(this.place.port);
      const wire = this.wire!;
      const answer = await this.send(wire, request, framing);
      if (answer === 'closed' && !fresh) continue;
      const closes = typeof answer === 'string' || answer.headers.get('connection') === 'close';
      if (closes || wire.surplus.length > 0) wire.destroy();
      if (typeof answer !== 'string' && wire.surplus.length > 0) return 'malformed';
      return answer;
    }
  }

  private async send(wire: Wire, request: FuzzRequest, framing: Framing): Promise<Answer | NoAnswer> {
    const bytes = encode(request, this.host, framing);
    const answer = wire.receive({ head: request.method === 'HEAD', patienceMs });
    if (framing !== 'split') wire.write(bytes);
    else {
      const step = 1 + this.random.below(Math.max(1, bytes.length / 3));
      for (let at = 0; at < bytes.length && !wire.closed; at += step) {
        wire.write(bytes.subarray(at, at + step));
        await new Promise((resolve) => setImmediate(resolve));
      }
    }
    return answer;
  }

  private async raw(): Promise<void> {
    const { dialect, paths } = this.place;
    const raw = rawCase(this.random, {
      host: this.host,
      found: dialect.prefix + paths.found,
      missing: dialect.prefix + paths.missing,
      writes: dialect.prefix + paths.writes,
      secret: `${dialect.token.header}: ${dialect.token.before}${this.token.value}`,
      request: () => this.requests.make(this.token.value),
    });
    const { answers, ended } = await this.sendRaw(raw);
    this.tally.raw++;
    this.tally.count(answers[0]?.status ?? ended);
    for (const { status } of answers.slice(1)) this.tally.statuses[status] = (this.tally.statuses[status] ?? 0) + 1;
    const wrong = judgeRaw(this.operations, raw, answers, ended);
    // A token that has ended is refused before anything else.
    if (wrong !== undefined && raw.exactly && answers.some(({ status }) => status === 403)) return this.checkSelf();
    if (wrong !== undefined) await this.foundRaw(raw, wrong, answers);
  }

  private async sendRaw(
    { pieces, atMost, exactly }: RawCase,
    endsAfterMs = exactly ? wholeMs : hurryMs,
  ): Promise<{ answers: Answer[]; ended: NoAnswer }> {
    const wire = await Wire.open(this.place.port);
    const answers: Answer[] = [];
    const head = /^HEAD /.test(
      pieces
        .map((piece) => piece.toString('latin1'))
        .join('')
        .slice(0, 5),
    );
    let next = wire.receive({ head, patienceMs });
    for (const piece of pieces) {
      wire.write(piece);
      if (pieces.length > 1) await new Promise((resolve) => setImmediate(resolve));
    }
    // A complete request ends by itself. An incomplete request ends when no more bytes come.
    let closed = false;
    const hurry = setTimeout(() => {
      closed = true;
      wire.halfClose();
    }, endsAfterMs);
    let ended: NoAnswer;
    for (;;) {
      const answer = await next;
      if (typeof answer === 'string') {
        // A client that leaves gets no more pieces of a chunked answer.
        ended = answer === 'cut' && closed ? 'closed' : answer;
        break;
      }
      answers.push(answer);
      if (answers.length >= atMost + 3) {
        ended = 'closed';
        break;
      }
      next = wire.receive({ head, patienceMs });
    }
    clearTimeout(hurry);
    wire.destroy();
    return { answers, ended };
  }

  private async checkSelf(): Promise<void> {
    const { dialect, paths } = this.place;
    const headers = { [dialect.token.header]: dialect.token.before + this.token.value };
    const operation = this.operations.all[0]!;
    const path = dialect.prefix + paths.self;
    const request: FuzzRequest = { operation, method: 'GET', path, query: [], headers, astray: true };
    const answer = await this.exchange(request, 'length');
    this.refused = 0;
    if (typeof answer === 'string' || answer.status !== 200) await this.token.renew();
  }

  private async foundRequest(request: FuzzRequest, wrong: string, answer: Answer | NoAnswer): Promise<void> {
    const what = `${request.operation.name}: ${wrong}`;
    if (!this.isNew(what)) return;
    let last = answer;
    const fails = async (candidate: FuzzRequest) => {
      const again = await this.exchange(candidate, 'length');
      const same = faultOf(this.operations, candidate, again) === wrong;
      if (same) last = again;
      return same;
    };
    const repeats = await fails(request);
    const smallest = repeats ? await minimiseRequest(request, fails) : request;
    const result = typeof last === 'string' ? last : `${last.status} ${last.body.toString().slice(0, 400)}`;
    const history = repeats ? '' : `\n  once, not repeatable by itself; before it: ${this.lately.join('; ')}`;
    this.keep(what, `${shownRequest(smallest, this.host)}\n  answered: ${result}${history}`);
  }

  private async foundRaw(raw: RawCase, wrong: string, answers: readonly Answer[]): Promise<void> {
    const what = `${raw.name}: ${wrong}`;
    if (!this.isNew(what)) return;
    const fails = async (bytes: Buffer) => {
      const again = await this.sendRaw({ ...raw, pieces: [bytes] }, hurryMs);
      return judgeRaw(this.operations, raw, again.answers, again.ended) === wrong;
    };
    const bytes = Buffer.concat(raw.pieces.map((piece) => Buffer.from(piece as string)));
    const repeats = await fails(bytes);
    const smallest = repeats && !raw.exactly ? await minimiseBytes(bytes, fails) : bytes;
    const result = answers.map(({ status, body }) => `${status} ${body.toString().slice(0, 200)}`).join(' | ');
    this.keep(
      what,
      `${printable(smallest)}\n  answered: ${result}${repeats ? '' : '\n  once, not again in one piece'}`,
    );
  }

  private isNew(what: string): boolean {
    const finding = this.tally.findings.get(what);
    if (finding) finding.times++;
    else if (this.tally.findings.size < kindsKept) {
      // A finding is recorded before it is examined, so that no other caller examines it too.
      this.tally.findings.set(what, { what, evidence: '', times: 1 });
      return true;
    }
    return false;
  }

  private keep(what: string, text: string): void {
    const { times } = this.tally.findings.get(what)!;
    this.tally.findings.set(what, { what, evidence: `${text}\n  seed ${this.seed}, request ${this.sent}`, times });
  }
}

function noteRefusal(refusals: Record<string, number>, { status, body }: Answer): void {
  const text = `${status} ${body.toString('utf8', 0, 160)}`;
  if (text in refusals || Object.keys(refusals).length < 20) refusals[text] = (refusals[text] ?? 0) + 1;
}
