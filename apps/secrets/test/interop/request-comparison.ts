import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { startSecrets } from '../start-secrets';
import { type Answer, type ReferenceServer, Speaker, startReferenceServer } from './reference-server';
import type { Difference, Told } from './transit-differences';

/**
 * A request below a mount. Strings `«field:n»` are replaced by that field of the nth earlier answer of the same server.
 */
export interface ComparedRequest {
  readonly method: 'GET' | 'POST' | 'PATCH' | 'DELETE';
  readonly path: string;
  readonly body?: Readonly<Record<string, unknown>>;
  /** Sent without a token. */
  readonly anonymous?: true;
}

/** A server and the caller. */
export interface ComparedServer {
  readonly speaker: Speaker;
  readonly rootToken: string;
  /** Values for `«name:0»` in requests to it. */
  readonly places?: Readonly<Record<string, string>>;
}

/** The requests to two servers, and which answers are treated as equal. */
interface Comparison {
  readonly type: string;
  /** The requests of the nth run. Each run has its own mount, so simultaneous runs do not interfere. */
  readonly runOf: (index: number) => readonly ComparedRequest[];
  /** The first run; any run can be repeated by itself. */
  readonly first: number;
  /**
   * Runs are started until this number of requests was answered. A run ends early if a request changed the state of
   * only one side.
   */
  readonly total: number;
  /** Simultaneous runs. */
  readonly lanes?: number;
  /** Whether a run continues if only one side carried out this request: later requests do not read its effect. */
  readonly isApart?: (request: ComparedRequest) => boolean;
  /** Fields of answers that later requests use, if both sides have them. */
  readonly kept: readonly string[];
  /** Derives the values for strings with these names from the kept ones: the nth of its kind. */
  readonly made?: Readonly<Record<string, (keptOf: (field: string, n: number) => string, n: number) => string>>;
  /** An answer without its random parts and times. */
  readonly plain: (told: Told, request: ComparedRequest) => Told;
  readonly differences: readonly Difference[];
}

/** The differences of the servers, one example of each kind, and the statuses by path. */
interface Compared {
  readonly differences: readonly string[];
  readonly seen: ReadonlyMap<string, number>;
}

class Side {
  private readonly kept: Map<string, unknown[]>;
  constructor(
    private readonly server: ComparedServer,
    private readonly mount: string,
    private readonly made: NonNullable<Comparison['made']>,
  ) {
    this.kept = new Map(Object.entries(server.places ?? {}).map(([name, place]) => [name, [place]]));
  }

  send({ method, path, body, anonymous }: ComparedRequest): Promise<Answer> {
    const token = anonymous ? undefined : this.server.rootToken;
    const sent = { method, path: `${this.mount}/${this.filled(path)}`, body: this.filled(body) as object, token };
    return this.server.speaker.send(sent).catch((error) => {
      throw new Error(`${method} ${sent.path} ${JSON.stringify(sent.body)}: ${error}`);
    });
  }

  keep(field: string, value: unknown): void {
    this.kept.set(field, [...(this.kept.get(field) ?? []), value]);
  }

  private keptOf(field: string, n: number): string {
    const all = this.kept.get(field) ?? [];
    return String(all[n % (all.length || 1)] ?? 'none');
  }

  start(type: string): Promise<unknown> {
    const { speaker, rootToken: token } = this.server;
    return speaker.must({ method: 'POST', path: `sys/mounts/${this.mount}`, body: { type }, token });
  }

  async end(): Promise<void> {
    const { speaker, rootToken: token } = this.server;
    const unmount = { method: 'DELETE', path: `sys/mounts/${this.mount}`, token };
    if ((await speaker.send(unmount)).status < 300) return;
    // A mount cannot be removed while its leases cannot be revoked.
    await speaker.must({ method: 'POST', path: `sys/leases/revoke-force/${this.mount}`, token });
    await speaker.must(unmount);
  }

  private filled(value: unknown): unknown {
    if (Array.isArray(value)) return value.map((each) => this.filled(each));
    if (typeof value === 'object' && value !== null) {
      return Object.fromEntries(Object.entries(value).map(([name, each]) => [name, this.filled(each)]));
    }
    if (typeof value !== 'string') return value;
    return value.replace(/«(\w+):(\d+)»/g, (_text, field: string, n: string) => {
      return this.made[field]?.((name, at) => this.keptOf(name, at), Number(n)) ?? this.keptOf(field, Number(n));
    });
  }
}

/** The text of an answer: errors without the prefix of the reference's internal errors, which are 400 here. */
function told({ status, body }: Answer): Told {
  const errors = (body.errors as string[] | undefined)?.map((text) =>
    text
      .replace(/^\d errors? occurred:\n\t\* (.*?)\n\n$/s, '$1')
      .replace(/^(?:Field validation failed: )?(error converting input ).*?(for field "\w+"): .*$/s, '$1$2'),
  );
  const bare = 'request_id' in body || 'errors' in body || Object.keys(body).length === 0 ? null : body;
  const warnings = [...((body.warnings as string[] | null) ?? [])].sort();
  return { status: status === 500 ? 400 : status, errors, warnings, data: body.data ?? body.text ?? bare };
}

const { env } = process;
const long = env.KEYSTEAD_LONG === '1';
/** Whether each request is printed, with both answers. */
const isTold = env.KEYSTEAD_REFERENCE_FIRST !== undefined;

const valueIn = ({ body }: Answer, field: string): unknown =>
  (body.data as Record<string, unknown> | null | undefined)?.[field] ?? body[field];

type Members = Readonly<Record<string, unknown>>;
const membersOf = (value: unknown): Members | undefined =>
  typeof value === 'object' && value !== null ? (value as Members) : undefined;

/** The members in which two answers differ: their paths, and both values. */
function differing(one: unknown, other: unknown, at = ''): (readonly [path: string, one: unknown, other: unknown])[] {
  if (JSON.stringify(one) === JSON.stringify(other)) return [];
  const [left, right] = [membersOf(one), membersOf(other)];
  const isApart = Array.isArray(one) !== Array.isArray(other) || (Array.isArray(one) && one.length !== right?.length);
  if (!left || !right || isApart) return [[at, one, other]];
  const names = [...new Set([...Object.keys(left), ...Object.keys(right)])];
  return names.flatMap((name) => differing(left[name], right[name], at === '' ? name : `${at}.${name}`));
}

/** Whether two answers differ only in members with such paths. */
export const onlyDiffer = (ours: Told, theirs: Told, members: RegExp): boolean =>
  differing(ours, theirs).every(([path]) => members.test(path));

const shortened = (value: unknown): string => (JSON.stringify(value) ?? 'nothing').slice(0, 600);

/** Sends the same to both servers. */
async function compare(servers: readonly ComparedServer[], comparison: Comparison): Promise<Compared> {
  const { type, runOf, first, total, lanes = 3, kept, plain } = comparison;
  const differences = new Map<string, { text: string; times: number }>();
  const seen = new Map<string, number>();
  const count = (what: string) => seen.set(what, (seen.get(what) ?? 0) + 1);
  let next = first;
  let answered = 0;
  const work = async () => {
    while (answered < total) {
      const index = next++;
      const sides = servers.map((server) => new Side(server, `${type}-${index}`, comparison.made ?? {}));
      await Promise.all(sides.map((side) => side.start(type)));
      for (const request of runOf(index)) {
        answered++;
        const answers = await Promise.all(sides.map((side) => side.send(request)));
        for (const field of kept) {
          const values = answers.map((answer) => valueIn(answer, field));
          if (values.includes(undefined)) continue;
          for (const [at, side] of sides.entries()) side.keep(field, values[at]);
        }
        const [ours, theirs] = answers.map((answer) => plain(told(answer), request)) as [Told, Told];
        const head = request.path.split(/[/?]/)[0];
        count(`${request.method} ${head} ${Math.floor(theirs.status / 100)}xx`);
        if (isTold) process.stdout.write(`${JSON.stringify({ index, request, ours, theirs })}\n`);
        if (JSON.stringify(ours) === JSON.stringify(theirs)) continue;
        const meant = comparison.differences.find(({ fits }) => fits(ours, theirs, request));
        if (meant) count(meant.why);
        else {
          const parts = differing(ours, theirs).map(
            ([path, one, other]) => `\n  ${path}: ${shortened(one)} but theirs ${shortened(other)}`,
          );
          const kind = `${head} ${parts.join('')}`.replace(/\d+/g, '0');
          const text = `${index} ${JSON.stringify(request)}${parts.join('')}`;
          const known = differences.get(kind);
          differences.set(kind, { text: known?.text ?? text, times: (known?.times ?? 0) + 1 });
        }
        // The stored state may differ, too.
        if (meant?.parts && ours.status < 300) break;
        if (request.method !== 'GET' && ours.status !== theirs.status && !comparison.isApart?.(request)) break;
      }
      await Promise.all(sides.map((side) => side.end()));
    }
  };
  await Promise.all(Array.from({ length: lanes }, work));
  return { differences: [...differences.values()].map(({ text, times }) => `${times} × ${text}`), seen };
}

/** The comparison of one engine, as a test. */
export interface EngineComparison extends Omit<Comparison, 'runOf' | 'first' | 'total'> {
  /** The number of requests, normally and in a long test. */
  readonly requests: number;
  readonly longRequests: number;
  readonly perRun: number;
  readonly runOf: (seed: number, index: number, perRun: number) => readonly ComparedRequest[];
  /** Statuses that must occur at least once in `oneIn` requests: comparing only refusals proves little. */
  readonly often: { readonly oneIn: number; readonly of: readonly string[] };
  /** The servers, and the values for names in requests to each. */
  readonly placed?: (servers: readonly [ComparedServer, ComparedServer]) => readonly ComparedServer[];
}

/**
 * Compares an engine with that of the program in KEYSTEAD_REFERENCE_SERVER; skipped if there is no such program. To see
 * each request of some runs: KEYSTEAD_REFERENCE_SEED, KEYSTEAD_REFERENCE_FIRST (the number of the run) and
 * KEYSTEAD_REFERENCE_REQUESTS.
 */
export function describeComparison(engine: EngineComparison): void {
  const program = env.KEYSTEAD_REFERENCE_SERVER;
  const total = Number(env.KEYSTEAD_REFERENCE_REQUESTS ?? (long ? engine.longRequests : engine.requests));
  const seed = Number(env.KEYSTEAD_REFERENCE_SEED ?? 20_261_128);
  const first = Number(env.KEYSTEAD_REFERENCE_FIRST ?? 0);
  describe(`${engine.type} against a reference server`, () => {
    const secrets = startSecrets();
    let reference: ReferenceServer;
    let speaker: Speaker;
    beforeAll(async () => {
      if (!program) return;
      reference = await startReferenceServer(program);
      speaker = new Speaker((secrets.server.address() as AddressInfo).port);
    }, 60_000);
    afterAll(async () => {
      speaker?.close();
      await reference?.stop();
    });

    (program ? it : it.skip)(
      `gives the same answers to ${total} requests of seed ${seed}`,
      async () => {
        const { perRun, often, placed = (servers) => servers } = engine;
        const servers = placed([{ speaker, rootToken: secrets.rootToken }, reference]);
        const runOf = (index: number) => engine.runOf(seed, index, perRun);
        const { seen, differences } = await compare(servers, { ...engine, first, total, runOf });
        if (long) process.stdout.write(`${JSON.stringify([...seen].sort())}\n`);
        expect(differences).toEqual([]);
        for (const what of often.of) expect([what, (seen.get(what) ?? 0) > total / often.oneIn]).toEqual([what, true]);
      },
      3_600_000,
    );
  });
}
