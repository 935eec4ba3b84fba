import { Caller, type Finding, type Measured, type Place, Tally } from './caller';
import { type Document, Operations } from './operations';
import { Pools } from './pools';

// A program of its own that sends requests made up from a document, so that neither the service nor the test waits for it.

/** What a program is told to do. */
export interface FuzzOrder {
  readonly place: Place;
  readonly document: Document;
  readonly token: string;
  readonly seed: string;
  readonly requests: number;
  readonly callers: number;
}

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

const tell = (news: FuzzNews) => process.send?.(news);

async function run({ place, document, token, seed, requests, callers }: FuzzOrder): Promise<void> {
  const operations = new Operations(document, place.dialect.faults);
  const tally = new Tally();
  const pools = new Pools(new Set(place.never));
  let renewing: Promise<void> | undefined;
  const held = {
    value: token,
    renew: () => {
      renewing ??= new Promise<void>((resolve) => {
        process.once('message', ({ token: fresh }: { token: string }) => {
          held.value = fresh;
          renewing = undefined;
          resolve();
        });
        tell({ tokenGone: true });
      });
      return renewing;
    },
  };
  const progress = setInterval(() => tell({ sent: tally.sent }), 250);
  await Promise.all(
    Array.from({ length: callers }, (_none, i) =>
      new Caller(place, operations, tally, pools, `${seed}.${i}`, held).run(() => tally.sent < requests),
    ),
  );
  clearInterval(progress);
  const { sent, raw, statuses, findings } = tally;
  tell({ done: { sent, raw, statuses, operations: tally.operations, findings: [...findings.values()] } });
  process.disconnect();
}

process.once('message', (order: FuzzOrder) => {
  run(order).catch((error) => {
    process.stderr.write(`${(error as Error).stack}\n`);
    process.exit(1);
  });
});
// Orphans end with the test that made them.
process.once('disconnect', () => process.exit());
