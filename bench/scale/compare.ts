import { setTimeout as sleep } from 'node:timers/promises';
import { median } from '../src/figures';
import type { Generator, Load } from '../src/load';
import { ENTRIES, type Installation } from './installation';
import { type ScaleNode, startNode } from './node';
import type { ScaleOptions } from './options';

/** The measurements of one start of a node. */
interface Round {
  readonly readyMs: number;
  readonly idleMb: number;
  readonly loadedMb: number;
}

/** One kind of load on both installations, in turn. */
export interface Rates {
  readonly empty: number;
  readonly full: number;
  /**
   * Requests per second of the full installation as a share of those of the empty one: the median of neighbouring runs.
   */
  readonly share: number;
  /** The same share for the processor time of a request. */
  readonly processorShare: number;
}

/** The results of both installations. */
export interface Compared {
  readonly empty: Round;
  readonly full: Round;
  readonly readyMore: number;
  readonly memoryMore: number;
  readonly rates: Readonly<Record<string, Rates>>;
}

const SETTLED_MS = 5000;
const CONNECTIONS = 32;

/** The loads that are compared, sent by the token of an installation. */
export function loads({ token }: Installation): Readonly<Record<string, Load>> {
  const headers = { 'X-Service-Token': token, 'Content-Type': 'application/json' };
  const paths = Array.from({ length: ENTRIES }, (_, i) => `/v1/cubbyhole/bench/${i}`);
  const body = '{"username":"app","password":"correct horse battery staple {n}"}';
  return {
    'cubbyhole read': { method: 'GET', paths, headers },
    'lookup-self': { method: 'GET', paths: ['/v1/auth/token/lookup-self'], headers },
    'cubbyhole write': { method: 'POST', paths, headers, body },
    'token create': {
      method: 'POST',
      paths: ['/v1/auth/token/create'],
      headers,
      body: '{"policies":["default"],"ttl":"240h"}',
    },
  };
}

/**
 * Starts both installations, round after round, and loads them in turn, so that both run under the same conditions of
 * the machine.
 */
export async function compare(
  empty: Installation,
  full: Installation,
  generator: Generator,
  { rounds, seconds }: ScaleOptions,
  log: (text: string) => void,
): Promise<Compared> {
  const measured: { empty: Round; full: Round; runs: Record<string, Pair[]> }[] = [];
  for (let n = 0; n < rounds; n++) {
    // One after the other, so that two starting nodes do not compete for the processor.
    const [first, second] = n % 2 === 0 ? [empty, full] : [full, empty];
    const nodes = new Map<Installation, ScaleNode>();
    for (const one of [first, second]) nodes.set(one, await startNode(one));
    await sleep(SETTLED_MS);
    const idle = new Map([...nodes].map(([one, node]) => [one, node.residentMb()]));
    const runs: Record<string, Pair[]> = {};
    for (const name of Object.keys(loads(empty))) {
      runs[name] = await alternate(
        { node: nodes.get(empty)!, load: loads(empty)[name]! },
        { node: nodes.get(full)!, load: loads(full)[name]! },
        generator,
        seconds,
      );
    }
    const round = (one: Installation): Round => {
      const node = nodes.get(one)!;
      return { readyMs: node.readyMs, idleMb: idle.get(one)!, loadedMb: node.residentMb() };
    };
    measured.push({ empty: round(empty), full: round(full), runs });
    log(JSON.stringify({ empty: round(empty), full: round(full) }));
    for (const node of nodes.values()) await node.stop();
  }
  return {
    empty: middle(measured.map((one) => one.empty)),
    full: middle(measured.map((one) => one.full)),
    readyMore: median(measured.map((one) => one.full.readyMs - one.empty.readyMs)),
    memoryMore: median(measured.map((one) => one.full.loadedMb - one.empty.loadedMb)),
    rates: Object.fromEntries(
      Object.keys(loads(empty)).map((name) => [name, ratesOf(measured.flatMap((one) => one.runs[name]!))]),
    ),
  };
}

interface Run {
  readonly perSecond: number;
  readonly processorMsPerRequest: number;
}
interface Pair {
  readonly empty: Run;
  readonly full: Run;
}
interface Target {
  readonly node: ScaleNode;
  readonly load: Load;
}

const PAIRS = 4;

/**
 * Runs are short and alternate, so that other load on the machine affects both installations. The first run of each is
 * not measured.
 */
async function alternate(empty: Target, full: Target, generator: Generator, seconds: number): Promise<Pair[]> {
  const run = async ({ node, load }: Target): Promise<Run> => {
    const before = node.processorMs();
    const { requestsPerSecond } = await generator.run(node.url, load, CONNECTIONS, seconds, nextStart());
    const processor = node.processorMs() - before;
    return { perSecond: requestsPerSecond, processorMsPerRequest: processor / (requestsPerSecond * seconds) };
  };
  await run(empty);
  await run(full);
  const pairs: Pair[] = [];
  for (let n = 0; n < PAIRS; n++) {
    const swapped = n % 2 === 1;
    const first = await run(swapped ? full : empty);
    const second = await run(swapped ? empty : full);
    pairs.push(swapped ? { empty: second, full: first } : { empty: first, full: second });
  }
  return pairs;
}

let start = 0;
function nextStart(): number {
  start += 100_000_000;
  return start;
}

function ratesOf(pairs: readonly Pair[]): Rates {
  return {
    empty: median(pairs.map((one) => one.empty.perSecond)),
    full: median(pairs.map((one) => one.full.perSecond)),
    share: median(pairs.map((one) => one.full.perSecond / one.empty.perSecond)),
    processorShare: median(pairs.map((one) => one.full.processorMsPerRequest / one.empty.processorMsPerRequest)),
  };
}

const middle = (rounds: readonly Round[]): Round => ({
  readyMs: median(rounds.map((one) => one.readyMs)),
  idleMb: median(rounds.map((one) => one.idleMb)),
  loadedMb: median(rounds.map((one) => one.loadedMb)),
});
