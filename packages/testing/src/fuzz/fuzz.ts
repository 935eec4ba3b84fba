import { type ChildProcess, fork } from 'node:child_process';
import path from 'node:path';
import { fromSource } from '../from-source';
import type { Measured, Place } from './caller';
import { type Document, operationsOf } from './operations';
import type { Example, FuzzNews, FuzzOrder, FuzzResult, FuzzWord } from './program';
import type { ServiceProgram } from './service-program';

/** The service to fuzz, and the tokens to use. */
export interface FuzzTarget {
  readonly service: ServiceProgram;
  readonly metricsUrl: string;
  readonly document: Document;
  readonly place: Omit<Place, 'port'>;
  /** A token for a caller; called again when a caller has ended its token. */
  token(): Promise<string>;
  /**
   * Restores what callers removed that others need, and reports valid requests and the paths of existing resources.
   * Called before the callers start, and repeatedly.
   */
  restore(): Promise<readonly Example[]>;
}

/** How much to send. The same seed generates the same requests, as far as the answers are the same. */
export interface FuzzPlan {
  readonly seed: string;
  readonly requests: number;
  /** No request is sent after this time. */
  readonly minutes?: number;
  readonly programs: number;
  readonly callersEach: number;
  /** Report why operations were never answered 2xx. */
  readonly details?: boolean;
}

/** The state of the service at a time. */
interface Moment {
  readonly sent: number;
  readonly residentMb: number;
  readonly heapMb: number;
}

/** The outcome. */
export interface FuzzReport {
  readonly sent: number;
  readonly findings: readonly string[];
  readonly statuses: Readonly<Record<string, number>>;
  /** How many operations there are. */
  readonly operations: number;
  /** Operations that were never answered 2xx, and their commonest answers. */
  readonly neverGood: readonly string[];
  /** Resident memory in the middle of the second half and at the end: equal if memory does not grow. */
  readonly residentMb: { readonly start: number; readonly middle: number; readonly end: number };
  readonly text: string;
}

const sampleEveryMs = 500;
const restoreEveryMs = 1500;
const newsEveryMs = 60_000;

/** Sends generated requests to a service and reports its faults. */
export async function fuzz(target: FuzzTarget, plan: FuzzPlan): Promise<FuzzReport> {
  const began = performance.now();
  const port = Number(new URL(target.service.url).port);
  const sent = new Array<number>(plan.programs).fill(0);
  const moments: Moment[] = [];
  const lags: number[] = [];
  let tokens = 0;
  const token = () => {
    tokens++;
    return target.token();
  };
  const sample = repeat(sampleEveryMs, async () => {
    const metrics = await metricsOf(target.metricsUrl);
    lags.push(metrics.lagMs);
    moments.push({ sent: sum(sent), ...metrics });
  });
  const programs: ChildProcess[] = [];
  const examples = await target.restore();
  const restore = repeat(restoreEveryMs, async () => {
    const more: FuzzWord = { examples: await target.restore() };
    for (const program of programs) if (program.connected) program.send(more);
  });
  const news = setInterval(() => {
    const { residentMb, heapMb } = moments.at(-1) ?? {};
    process.stderr.write(`${plan.seed}: ${sum(sent)} sent, resident ${residentMb} MB, heap ${heapMb} MB\n`);
  }, newsEveryMs).unref();
  const results = await Promise.all(
    sent.map(async (_none, i) => {
      const order: FuzzOrder = {
        place: { ...target.place, port },
        document: target.document,
        token: await token(),
        seed: `${plan.seed}.${i}`,
        requests: Math.ceil(plan.requests / plan.programs),
        callers: plan.callersEach,
        examples,
        untilMs: plan.minutes === undefined ? undefined : Date.now() + plan.minutes * 60_000,
      };
      return runProgram(order, programs, token, (count) => {
        sent[i] = count;
      });
    }),
  ).finally(() => {
    clearInterval(news);
    return Promise.all([sample.stop(), restore.stop()]);
  });
  const seconds = (performance.now() - began) / 1000;
  return reportOf(target, plan, { results, moments, lags, tokens, seconds });
}

interface Seen {
  readonly results: readonly FuzzResult[];
  readonly moments: readonly Moment[];
  readonly lags: readonly number[];
  readonly tokens: number;
  readonly seconds: number;
}

function reportOf(target: FuzzTarget, plan: FuzzPlan, outcomes: Seen): FuzzReport {
  const { results, moments, lags, seconds } = outcomes;
  const all = operationsOf(target.document);
  const statuses: Record<string, number> = {};
  const operations = new Map<string, Measured>();
  const found = new Map<string, { evidence: string; times: number }>();
  for (const result of results) {
    for (const [status, count] of Object.entries(result.statuses)) statuses[status] = (statuses[status] ?? 0) + count;
    for (const [name, { sent, good, ms, refusals }] of Object.entries(result.operations)) {
      const before = operations.get(name) ?? { sent: 0, good: 0, ms: 0 };
      operations.set(name, { sent: before.sent + sent, good: before.good + good, ms: before.ms + ms, refusals });
    }
    for (const { what, evidence, times } of result.findings) {
      const before = found.get(what);
      found.set(what, { evidence: before?.evidence ?? evidence, times: times + (before?.times ?? 0) });
    }
  }
  const { service } = target;
  const findings = [...found].map(([what, { evidence, times }]) => `${what} (${times} times)\n  ${evidence}`);
  if (!service.running) findings.push(`the service ended: ${service.complaints.slice(-5).join('\n')}`);
  for (const line of service.complaints.slice(0, 20)) findings.push(`the service complained: ${line.slice(0, 1500)}`);
  const total = sum(results.map(({ sent }) => sent));
  // Garbage grows with the rate of requests and is collected again. A leak shows in every sample.
  const leastAfter = (share: number) => {
    const first = moments.findIndex(({ sent }) => sent >= total * share);
    const from = Math.max(0, Math.min(first, moments.length - 3));
    return Math.min(...moments.slice(from, from + Math.max(3, moments.length >> 4)).map((m) => m.residentMb));
  };
  const memoryAt = (share: number) => {
    const { residentMb, heapMb } = moments.find(({ sent }) => sent >= total * share) ?? moments.at(-1) ?? {};
    return `${residentMb} and ${heapMb} MB after ${share * 100} %`;
  };
  const residentMb = { start: moments[0]?.residentMb ?? 0, middle: leastAfter(0.5), end: leastAfter(0.93) };
  const neverGood = all
    .filter((name) => !operations.get(name)?.good)
    .map((name) => `${name}: ${commonest(operations.get(name)?.refusals ?? {}) || 'not called'}`);
  const slow = [...operations]
    .map(([name, { sent, ms }]) => ({ name, ms: ms / sent, share: ms }))
    .sort((a, b) => b.share - a.share)
    .slice(0, 5)
    .map(({ name, ms }) => `${name} ${ms.toFixed(1)} ms`);
  const text = [
    `seed ${plan.seed}: ${total} requests, ${sum(results.map(({ raw }) => raw))} of them raw, in ${seconds.toFixed(1)} s, ` +
      `${Math.round(total / seconds)}/s over ${plan.programs} × ${plan.callersEach} connections`,
    `statuses: ${Object.entries(statuses)
      .map(([status, count]) => `${status} × ${count}`)
      .join(', ')}`,
    `${all.length} operations, ${neverGood.length} of them never answered 2xx; most time: ${slow.join(', ')}`,
    `resident memory and heap: ${[0.1, 0.5, 1].map((share) => memoryAt(share)).join('; ')}; least from half on ${residentMb.middle}, in the end ${residentMb.end} MB`,
    `longest loop delay ${Math.round(Math.max(0, ...lags))} ms, median of the longest of every moment ${Math.round(median(lags))} ms`,
    `warnings: ${[...service.warnings].map(([what, times]) => `${times} × ${what}`).join('; ') || 'none'}`,
    `${outcomes.tokens - plan.programs} times a caller ended its own token`,
    ...(plan.details ? neverGood : []),
  ].join('\n');
  return { sent: total, findings, statuses, operations: all.length, neverGood, residentMb, text };
}

function runProgram(
  order: FuzzOrder,
  programs: ChildProcess[],
  token: () => Promise<string>,
  progress: (sent: number) => void,
): Promise<FuzzResult> {
  const child: ChildProcess = fork(path.join(__dirname, 'program.ts'), [], {
    execArgv: [...fromSource],
    env: { ...process.env, NODE_OPTIONS: '' },
    stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
  });
  programs.push(child);
  let output = '';
  child.stderr!.on('data', (piece) => {
    output = (output + piece).slice(-4000);
  });
  return new Promise<FuzzResult>((resolve, reject) => {
    child.on('message', (news: FuzzNews) => {
      if ('done' in news) resolve(news.done);
      else if ('sent' in news) progress(news.sent);
      else token().then((fresh) => child.send({ token: fresh } satisfies FuzzWord), reject);
    });
    child.once('exit', () => reject(new Error(`the program that sends requests ended: ${output}`)));
    child.send(order);
  }).finally(() => child.kill());
}

/** Repeats something until it is stopped. */
function repeat(everyMs: number, work: () => Promise<void>): { stop(): Promise<void> } {
  let stopped = false;
  let wake = () => {};
  const outcome = (async () => {
    while (!stopped) {
      // A busy service may refuse; the next attempt counts.
      await work().catch(() => undefined);
      await new Promise<void>((resolve) => {
        wake = resolve;
        setTimeout(resolve, everyMs);
      });
    }
  })();
  return {
    stop() {
      stopped = true;
      wake();
      return outcome;
    },
  };
}

async function metricsOf(url: string): Promise<{ residentMb: number; heapMb: number; lagMs: number }> {
  const text = await (await fetch(url)).text();
  const value = (name: string) => Number(new RegExp(`^${name} (.*)$`, 'm').exec(text)?.[1] ?? Number.NaN);
  return {
    residentMb: Math.round(value('process_resident_memory_bytes') / 1_048_576),
    heapMb: Math.round(value('nodejs_heap_size_used_bytes') / 1_048_576),
    lagMs: value('nodejs_eventloop_lag_max_seconds') * 1000,
  };
}

const commonest = (counts: Readonly<Record<string, number>>) =>
  Object.entries(counts)
    .sort(([, a], [, b]) => b - a)
    .slice(0, 4)
    .map(([what, count]) => `${count} × ${what}`)
    .join(' | ');
const sum = (numbers: readonly number[]) => numbers.reduce((total, one) => total + one, 0);
const median = (numbers: readonly number[]) => [...numbers].sort((a, b) => a - b)[numbers.length >> 1] ?? 0;
