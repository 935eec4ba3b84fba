import { Bodies } from './bodies';
import { Caller, type Finding, type Measured, type Place, Tally } from './caller';
import { type Document, Operations } from './operations';
import { Places } from './places';
import { Pools } from './pools';

// A separate program that sends requests made up from a document, so that neither the service nor the test waits for it.

/** The order that starts a program. */
export interface FuzzOrder {
  readonly place: Place;
  readonly document: Document;
  readonly token: string;
  readonly seed: string;
  readonly requests: number;
  readonly callers: number;
  readonly examples: readonly Example[];
  /** When it ends, however little was sent. */
  readonly untilMs?: number;
}

/** A request that is right: a path of the document where something lives, and a body that is taken there. */
export interface Example {
  readonly operation?: string;
  readonly path?: string;
  /** Sent as JSON. */
  readonly body?: unknown;
  /** Sent as it is; base64. */
  readonly bytes?: string;
  /** Not a request, but a value that requests may send, for a pool. */
  readonly pooled?: readonly [pool: string, value: string];
}

/** What it may be sent later: another token, and the paths of what exists. */
export type FuzzWord = { readonly token: string } | { readonly examples: readonly Example[] };

/** What it tells: how far it is, that its token is gone, and what it found in the end. */
export type FuzzNews = { readonly sent: number } | { readonly tokenGone: true } | { readonly done: FuzzResult };

/** What a program counted. */
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
  const known = { pools, places, bodies };
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
  const held = {
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
      held.value = word.token;
      renewing = undefined;
      renewed();
    }
  });
  const progress = setInterval(() => tell({ sent: tally.sent }), 250);
  await Promise.all(
    Array.from({ length: callers }, (_none, i) =>
      new Caller(place, operations, tally, known, `${seed}.${i}`, held).run(
        () => tally.sent < requests && Date.now() < untilMs,
      ),
    ),
  );
  clearInterval(progress);
  const { sent, raw, statuses, findings } = tally;
  // A long message takes a while to go out.
  const done = { sent, raw, statuses, operations: tally.operations, findings: [...findings.values()] };
  tell({ done }, () => process.disconnect());
}

process.once('message', (order: FuzzOrder) => {
  run(order).catch((error) => {
    process.stderr.write(`${(error as Error).stack}\n`);
    process.exit(1);
  });
});
// Orphans end with the test that made them.
process.once('disconnect', () => process.exit());
