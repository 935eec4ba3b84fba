import { Bodies } from './bodies';
import { Caller, type Finding, type Measured, type Place, Tally } from './caller';
import { type Document, Operations } from './operations';
import { Places } from './places';
import { Pools } from './pools';

// A separate program that sends requests generated from a document, so that it slows neither the service nor the test.

/** The order that starts a program. */
export interface FuzzOrder {
  readonly place: Place;
  readonly document: Document;
  readonly token: string;
  readonly seed: string;
  readonly requests: number;
  readonly callers: number;
  readonly examples: readonly Example[];
  /** The time at which it ends, even if it has not sent everything. */
  readonly untilMs?: number;
}

/** A valid request: the path of an existing resource, and a body that is accepted there. */
export interface Example {
  readonly operation?: string;
  readonly path?: string;
  /** Sent as JSON. */
  readonly body?: unknown;
  /** Sent unchanged; base64. */
  readonly bytes?: string;
  /** A value for a pool, instead of a request. */
  readonly pooled?: readonly [pool: string, value: string];
}

/** Messages to the program: another token, and the paths of existing resources. */
export type FuzzWord = { readonly token: string } | { readonly examples: readonly Example[] };

/** Messages from the program: its progress, that its token has become invalid, and its result. */
export type FuzzNews = { readonly sent: number } | { readonly tokenGone: true } | { readonly done: FuzzResult };

/** The counts of a program. */
export interface FuzzResult {
  readonly sent: number;
  readonly raw: number;
  readonly statuses: Readonly<Record<string, number>>;
  readonly operations: Readonly<Record<string, Measured>>;
  readonly findings: readonly (Finding & { readonly times: number })[];
}

const tell = (news: FuzzNews, sent = () => {}) => process.send?.(news, sent);

async function run({
  place,
  document,
  token,
  seed,
  requests,
  callers,
  examples,
  untilMs = Number.POSITIVE_INFINITY,
}: FuzzOrder): Promise<void> {
  const operations = new Operations(document, place.dialect.faults);
  const tally = new Tally();
  const never = new Set(place.never);
  const places = new Places(operations, never, (parameter, value) => pools.add(parameter, value));
  const pools: Pools = new Pools(never, places, `http://127.0.0.1:${place.port}`);
  const bodies = new Bodies(pools);
  const knowledge = { pools, places, bodies };
  const take = (examples: readonly Example[]) => {
    for (const { operation, path, body: value, bytes, pooled } of examples) {
      if (pooled !== undefined) pools.add(...pooled);
      if (path !== undefined) places.learn(path);
      const body = bytes === undefined ? { value } : { bytes: Buffer.from(bytes, 'base64') };
      if (operation !== undefined)
        bodies.add(operation, { path, body: value === undefined && !bytes ? undefined : body });
    }
  };
  take(examples);
  let renewing: Promise<void> | undefined;
  let renewed = () => {};
  const limits = {
    value: token,
    renew: () => {
      renewing ??= new Promise<void>((resolve) => {
        renewed = resolve;
        tell({ tokenGone: true });
      });
      return renewing;
    },
  };
  process.on('message', (word: FuzzWord) => {
    if ('examples' in word) take(word.examples);
    else {
      limits.value = word.token;
      renewing = undefined;
      renewed();
    }
  });
  const progress = setInterval(() => tell({ sent: tally.sent }), 250);
  await Promise.all(
    Array.from({ length: callers }, (_none, i) =>
      new Caller(place, operations, tally, knowledge, `${seed}.${i}`, limits).run(
        () => tally.sent < requests && Date.now() < untilMs,
      ),
    ),
  );
  clearInterval(progress);
  const { sent, raw, statuses, findings } = tally;
  // A long message takes a while to send.
  const result = { sent, raw, statuses, operations: tally.operations, findings: [...findings.values()] };
  tell({ done: result }, () => process.disconnect());
}

process.once('message', (order: FuzzOrder) => {
  run(order).catch((error) => {
    process.stderr.write(`${(error as Error).stack}\n`);
    process.exit(1);
  });
});
// Ends with the test that started it.
process.once('disconnect', () => process.exit());
