import { quantile } from '../src/figures';
import type { Generator } from '../src/load';
import { ask } from '../src/service';
import type { Installation } from './installation';
import type { ScaleNode } from './node';

const PAGE = 1000;
const FIRST_KEY = 1_000_000_000;

/** How long pages of 1,000 took, in ms. */
export interface Pages {
  readonly p50Ms: number;
  readonly p95Ms: number;
  readonly slowestMs: number;
}

/** Reads pages at random positions among `keys`, one after the other, and checks each. */
export async function readPages(
  { url }: ScaleNode,
  { token }: Installation,
  keys: number,
  count = 200,
): Promise<Pages> {
  return timed(count, async () => {
    const from = Math.floor(Math.random() * (keys - 2 * PAGE));
    const after = `key-${FIRST_KEY + from}`;
    const names = await page(url, token, after);
    const right = names.length === PAGE && names.every((name, n) => name > (names[n - 1] ?? after));
    if (!right) throw new Error(`a wrong page after ${after}: ${names.length} names from ${names[0]}`);
  });
}

/** Deletes `deleted` keys in a row, then reads the page that begins before all of them, again and again. */
export async function readPagesOverDeleted(
  { url }: ScaleNode,
  { token }: Installation,
  { keys, deleted }: { keys: number; deleted: number },
  generator: Generator,
): Promise<{ first: Pages; again: Pages }> {
  const from = Math.floor((Math.random() * keys) / 2);
  const headers = { 'X-Service-Token': token };
  let next = FIRST_KEY + from;
  // Slightly more or fewer are deleted than requested, because the load is measured in seconds.
  while (next < FIRST_KEY + from + deleted) {
    const load = { method: 'DELETE', paths: ['/v1/cubbyhole/list/key-{n}'], headers };
    const { requestsPerSecond } = await generator.run(url, load, 32, 2, next);
    next += Math.ceil(requestsPerSecond * 2);
  }
  const read = () => page(url, token, `key-${FIRST_KEY + from - 501}`).then(() => undefined);
  return { first: await timed(1, read), again: await timed(50, read) };
}

async function page(url: string, token: string, after: string): Promise<string[]> {
  const address = `${url}/v1/cubbyhole/list?list=true&after=${after}&limit=${PAGE}`;
  const { data } = await ask<{ data: { keys: string[] } }>(address, 'GET', { 'X-Service-Token': token });
  return data.keys;
}

async function timed(count: number, work: () => Promise<void>): Promise<Pages> {
  const took: number[] = [];
  for (let n = 0; n < count; n++) {
    const startedAtMs = performance.now();
    await work();
    took.push(performance.now() - startedAtMs);
  }
  took.sort((a, b) => a - b);
  return { p50Ms: quantile(took, 0.5), p95Ms: quantile(took, 0.95), slowestMs: took.at(-1)! };
}
