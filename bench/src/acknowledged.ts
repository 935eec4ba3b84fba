import { setTimeout as sleep } from 'node:timers/promises';
import { runProgram } from './program';

const usage = `npx tsx bench/src/acknowledged.ts SECONDS

Writes to both services of an installation and reads from them for this many seconds, while you break something. Then reads
all acknowledged values back, and shows which were lost, which requests failed, and for how long. The environment names the
services, and tokens that may create a mount and an organization: SECRETS_ADDR, SECRETS_TOKEN, WORKSPACES_ADDR,
WORKSPACES_TOKEN.`;

const writersOfEach = 4;
const readersOfEach = 2;
const patienceMs = 10_000;
/** The first requests are retried for longer, because the services may have just started. */
const firstPatienceMs = 60_000;
/**
 * How long to retry reading a value after the end. A value that still cannot be read is reported as unread, not as lost
 * or stored.
 */
const readBackMs = 600_000;
/**
 * A caller's pause between requests. The program does not measure speed, so callers need not send as fast as possible.
 */
const pauseMs = 20;

/** A service, and how to write a numbered value there and read it again. */
interface Side {
  readonly name: string;
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly prepare: readonly { readonly at: string; readonly body: object }[];
  write(n: number): { readonly at: string; readonly body: object; readonly found: string; readonly shown: string };
}

function required(name: string): string {
  const value = process.env[name];
  if (!value) throw new Error(`${name} is not set`);
  return value.replace(/\/$/, '');
}

function sides(run: string): Side[] {
  const workspaces = '/api/v2/organizations';
  return [
    {
      name: 'secrets',
      url: required('SECRETS_ADDR'),
      headers: { 'X-Service-Token': required('SECRETS_TOKEN') },
      prepare: [{ at: `/v1/sys/mounts/${run}`, body: { type: 'kv' } }],
      write: (n) => ({ at: `/v1/${run}/${n}`, body: { n: `n${n}` }, found: `/v1/${run}/${n}`, shown: `"n${n}"` }),
    },
    {
      name: 'workspaces',
      url: required('WORKSPACES_ADDR'),
      headers: {
        Authorization: `Bearer ${required('WORKSPACES_TOKEN')}`,
        'Content-Type': 'application/vnd.api+json',
      },
      prepare: [
        {
          at: workspaces,
          body: { data: { type: 'organizations', attributes: { name: run, email: 'a@example.com' } } },
        },
      ],
      write: (n) => ({
        at: `${workspaces}/${run}/workspaces`,
        body: { data: { type: 'workspaces', attributes: { name: `n${n}` } } },
        found: `${workspaces}/${run}/workspaces/n${n}`,
        shown: `"n${n}"`,
      }),
    },
  ];
}

interface Answer {
  readonly good: boolean;
  readonly text: string;
}

/** The results of the callers of one service. */
class CallResults {
  readonly stored: { at: string; shown: string }[] = [];
  readonly failures: Record<string, number> = {};
  requests = 0;
  firstFailureMs: number | undefined;
  lastFailureMs: number | undefined;
  /** Longest time in which nothing succeeded. */
  longestSilenceMs = 0;
  private lastGoodMs = Date.now();

  constructor(private readonly side: Side) {}

  /**
   * Sends a request. Returns the answer; undefined if there is none or the service is unavailable. Counts all failures.
   */
  async send(method: string, at: string, body?: object, timeoutMs = patienceMs): Promise<Answer | undefined> {
    this.requests++;
    try {
      const response = await fetch(`${this.side.url}${at}`, {
        method,
        headers: this.side.headers,
        body: body && JSON.stringify(body),
        signal: AbortSignal.timeout(timeoutMs),
      });
      const text = await response.text();
      if (response.status >= 300) this.fail(String(response.status));
      if (response.status >= 500) return undefined;
      if (response.status >= 300) return { good: false, text };
      this.longestSilenceMs = Math.max(this.longestSilenceMs, Date.now() - this.lastGoodMs);
      this.lastGoodMs = Date.now();
      return { good: true, text };
    } catch (error) {
      const { name, cause } = error as Error & { cause?: { code?: string } };
      this.fail(cause?.code ?? name);
      return undefined;
    }
  }

  private fail(why: string): void {
    this.failures[why] = (this.failures[why] ?? 0) + 1;
    this.lastFailureMs = Date.now();
    this.firstFailureMs ??= this.lastFailureMs;
  }
}

async function watch(side: Side, endMs: number): Promise<Record<string, unknown>> {
  const results = new CallResults(side);
  for (const { at, body } of side.prepare) {
    if (!(await results.send('POST', at, body, firstPatienceMs))?.good)
      throw new Error(`${side.url}${at}: ${Object.keys(results.failures)}`);
  }
  let number = 0;
  const write = async () => {
    const { at, body, found, shown } = side.write(++number);
    if ((await results.send('POST', at, body))?.good) results.stored.push({ at: found, shown });
  };
  const wrong: string[] = [];
  const read = async () => {
    // Every node must show writes older than a second.
    const one = results.stored[Math.floor(Math.random() * (results.stored.length - 200))];
    const answer = one && (await results.send('GET', one.at));
    if (answer && !(answer.good && answer.text.includes(one.shown))) wrong.push(one.at);
  };
  const until = async (work: () => Promise<void>) => {
    for (; Date.now() < endMs; await sleep(pauseMs)) await work();
  };
  const many = (count: number, work: () => Promise<void>) => Array.from({ length: count }, () => until(work));
  await Promise.all([...many(writersOfEach, write), ...many(readersOfEach, read)]);
  const { requests, longestSilenceMs, firstFailureMs, lastFailureMs } = results;
  const failed = { ...results.failures };

  const lost: string[] = [];
  const unread: string[] = [];
  const waiting = [...results.stored];
  const readEndMs = Date.now() + readBackMs;
  await Promise.all(
    Array.from({ length: 8 }, async () => {
      for (let one = waiting.pop(); one; one = waiting.pop()) {
        let answer = await results.send('GET', one.at);
        for (; answer === undefined && Date.now() < readEndMs; await sleep(pauseMs))
          answer = await results.send('GET', one.at);
        if (answer === undefined) unread.push(one.at);
        else if (!answer.good || !answer.text.includes(one.shown)) lost.push(one.at);
      }
    }),
  );
  const time = (ms: number | undefined) => (ms === undefined ? undefined : new Date(ms).toISOString());
  return {
    service: side.name,
    requests,
    failed,
    acknowledged: results.stored.length,
    lost: lost.length,
    unread: unread.length,
    wrong: wrong.length,
    firstFailure: time(firstFailureMs),
    lastFailure: time(lastFailureMs),
    longestSilenceMs,
    examples: [...lost, ...unread, ...wrong].slice(0, 5),
  };
}

runProgram(usage, async ([seconds]) => {
  if (!(Number(seconds) > 0)) throw new Error('SECONDS must be a number greater than 0');
  const endMs = Date.now() + Number(seconds) * 1000;
  const reports = await Promise.all(sides(`watch-${Date.now()}`).map((side) => watch(side, endMs)));
  process.stdout.write(`${JSON.stringify(reports, undefined, 2)}\n`);
  return reports.every(({ lost, unread, wrong }) => lost === 0 && unread === 0 && wrong === 0);
});
