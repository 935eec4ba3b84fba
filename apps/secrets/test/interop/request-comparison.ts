import type { Answer, Speaker } from './reference-server';
import type { Difference, Told } from './transit-differences';

/** A request below a mount. Texts `«field:n»` mean what the nth earlier answer of the same server held in that field. */
export interface ComparedRequest {
  readonly method: 'GET' | 'POST' | 'DELETE';
  readonly path: string;
  readonly body?: Readonly<Record<string, unknown>>;
  /** Sent without a token. */
  readonly anonymous?: true;
}

/** A server and who asks it. */
export interface ComparedServer {
  readonly speaker: Speaker;
  readonly rootToken: string;
  /** What requests to it say in place of `«name:0»`. */
  readonly places?: Readonly<Record<string, string>>;
}

/** What two servers are asked, and what counts as the same. */
export interface Comparison {
  readonly type: string;
  /** The requests of the nth run. Each has its own mount; those at the same moment do not meet. */
  readonly runOf: (index: number) => readonly ComparedRequest[];
  /** Runs are begun until this number of requests was answered. A run ends early where one changed what is stored on one side only. */
  readonly total: number;
  /** Runs at the same moment. */
  readonly lanes?: number;
  /** Fields of answers that later requests send. */
  readonly kept: readonly string[];
  /** An answer without what is random or of its time. */
  readonly plain: (told: Told, request: ComparedRequest) => Told;
  readonly differences: readonly Difference[];
}

/** What the servers differ in, one example of each kind, and how often each path answered how. */
export interface Compared {
  readonly differences: readonly string[];
  readonly seen: ReadonlyMap<string, number>;
}

class Side {
  private readonly kept: Map<string, unknown[]>;
  constructor(
    private readonly server: ComparedServer,
    private readonly mount: string,
  ) {
    this.kept = new Map(Object.entries(server.places ?? {}).map(([name, place]) => [name, [place]]));
  }

  async send({ method, path, body, anonymous }: ComparedRequest, kept: readonly string[]): Promise<Answer> {
    const token = anonymous ? undefined : this.server.rootToken;
    const sent = { method, path: `${this.mount}/${this.filled(path)}`, body: this.filled(body) as object, token };
    const answer = await this.server.speaker.send(sent).catch((error) => {
      throw new Error(`${method} ${sent.path} ${JSON.stringify(sent.body)}: ${error}`);
    });
    for (const field of kept) {
      const value = (answer.body.data as Record<string, unknown> | null | undefined)?.[field] ?? answer.body[field];
      if (value !== undefined) this.kept.set(field, [...(this.kept.get(field) ?? []), value]);
    }
    return answer;
  }

  start(type: string): Promise<unknown> {
    const { speaker, rootToken: token } = this.server;
    return speaker.must({ method: 'POST', path: `sys/mounts/${this.mount}`, body: { type }, token });
  }

  async end(): Promise<void> {
    const { speaker, rootToken: token } = this.server;
    const unmount = { method: 'DELETE', path: `sys/mounts/${this.mount}`, token };
    if ((await speaker.send(unmount)).status < 300) return;
    // Leases whose end cannot be carried out keep a mount.
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
      const all = this.kept.get(field) ?? [];
      return String(all[Number(n) % (all.length || 1)] ?? 'none');
    });
  }
}

/** What a server said: errors without the frame that the reference puts around its faults, which are 400 here. */
function told({ status, body }: Answer): Told {
  const errors = (body.errors as string[] | undefined)?.map((text) =>
    text
      .replace(/^\d errors? occurred:\n\t\* (.*?)\n\n$/s, '$1')
      .replace(/^(?:Field validation failed: )?(error converting input ).*?(for field "\w+"): .*$/s, '$1$2'),
  );
  const warnings = [...((body.warnings as string[] | null) ?? [])].sort();
  return { status: status === 500 ? 400 : status, errors, warnings, data: body.data ?? body.text ?? null };
}

/** Asks both servers the same. */
export async function compare(servers: readonly ComparedServer[], comparison: Comparison): Promise<Compared> {
  const { type, runOf, total, lanes = 3, kept, plain } = comparison;
  const differences = new Map<string, string>();
  const seen = new Map<string, number>();
  const count = (what: string) => seen.set(what, (seen.get(what) ?? 0) + 1);
  let next = 0;
  let answered = 0;
  const work = async () => {
    while (answered < total && differences.size < 20) {
      const index = next++;
      const sides = servers.map((server) => new Side(server, `${type}-${index}`));
      await Promise.all(sides.map((side) => side.start(type)));
      for (const request of runOf(index)) {
        answered++;
        const answers = await Promise.all(sides.map((side) => side.send(request, kept)));
        const [ours, theirs] = answers.map((answer) => plain(told(answer), request)) as [Told, Told];
        count(`${request.method} ${request.path.split(/[/?]/)[0]} ${Math.floor(theirs.status / 100)}xx`);
        const [one, other] = [ours, theirs].map((each) => JSON.stringify(each));
        if (one === other) continue;
        const meant = comparison.differences.find(({ fits }) => fits(ours, theirs, request));
        if (meant) count(meant.why);
        else {
          const kind = `${request.path.split(/[/?]/)[0]} ${one} ${other}`.replace(/\d+/g, '0');
          const text = `${index} ${JSON.stringify(request)}\n  ours   ${one}\n  theirs ${other}`;
          differences.set(kind, differences.get(kind) ?? text);
        }
        // What is stored may differ, too.
        if (request.method !== 'GET' && ours.status !== theirs.status) break;
      }
      await Promise.all(sides.map((side) => side.end()));
    }
  };
  await Promise.all(Array.from({ length: lanes }, work));
  return { differences: [...differences.values()], seen };
}
