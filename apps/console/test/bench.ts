// `npm run bench:console`: how long pages of both consoles take to load and to respond, measured in turns with a bare
// page from a plain server. Prints a table; needs Chromium.
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { type Browser, type BrowserContext, type CDPSession, chromium, type Page } from 'playwright-core';
import type { FirstRun } from '../../../local/src/first-run';
import { start } from '../../../local/test/start';
// Imported by path, because much of the package works only in Jest.
import { findBrowser } from '../../../packages/testing/src/browser';
import { freePort } from '../../../packages/testing/src/free-port';

const rounds = 5;

interface Conditions {
  readonly name: string;
  /** The factor by which the processor is slowed down. */
  readonly cpu: number;
  readonly network?: {
    readonly latency: number;
    readonly downloadThroughput: number;
    readonly uploadThroughput: number;
  };
}

/** Slow 4G as page-speed tools define it: 150 ms round trip, 1.6 Mbit/s down, 750 kbit/s up. */
const slow4g = { latency: 150, downloadThroughput: 1_600_000 / 8, uploadThroughput: 750_000 / 8 };
const conditions: readonly Conditions[] = [
  { name: 'loopback', cpu: 1 },
  { name: '4 × slower, slow 4G', cpu: 4, network: slow4g },
];

interface Shown {
  readonly name: string;
  readonly url: string;
  /** Whose cookies the browser has. */
  readonly context: BrowserContext;
}

/** The lower bound of every page: only its text is sent and drawn. */
function bareServer(): Promise<Server> {
  const body = '<!doctype html><title>bare</title><main><h1>A page</h1><p>That has nothing to load.</p></main>';
  const server = createServer((_req, res) => {
    res.writeHead(200, { 'Content-Type': 'text/html; charset=utf-8', 'Cache-Control': 'no-store' }).end(body);
  });
  return new Promise((resolve) => server.listen(0, '127.0.0.1', () => resolve(server)));
}

async function hold(client: CDPSession, { cpu, network }: Conditions): Promise<void> {
  await client.send('Network.enable');
  await client.send('Network.setCacheDisabled', { cacheDisabled: true });
  await client.send('Emulation.setCPUThrottlingRate', { rate: cpu });
  const none = { latency: 0, downloadThroughput: -1, uploadThroughput: -1 };
  await client.send('Network.emulateNetworkConditions', { offline: false, ...none, ...network });
}

/** Milliseconds until the largest text of a page was drawn, with an empty cache. */
async function paintOf({ url, context }: Shown, under: Conditions): Promise<number> {
  const page = await context.newPage();
  try {
    await hold(await context.newCDPSession(page), under);
    await page.goto(url);
    await page.locator('h1').first().waitFor();
    // Content that appears this long after the heading is no longer part of loading.
    await page.waitForTimeout(1000);
    return await page.evaluate(
      () =>
        new Promise<number>((resolve) => {
          const observer = new PerformanceObserver((list) => resolve(list.getEntries().at(-1)!.startTime));
          observer.observe({ type: 'largest-contentful-paint', buffered: true });
        }),
    );
  } finally {
    await page.close();
  }
}

/** The slowest response to a key or click, in ms, while a person looks around. Browsers report it in steps of 8. */
async function answerOf({ url, context }: Shown, under: Conditions): Promise<number> {
  const page = await context.newPage();
  try {
    await page.goto(url);
    await page.locator('h1').first().waitFor();
    await hold(await context.newCDPSession(page), { ...under, network: undefined } as Conditions);
    await page.evaluate(() => {
      const slowest = globalThis as unknown as { slowestMs: number };
      slowest.slowestMs = 0;
      const observer = new PerformanceObserver((list) => {
        for (const { duration } of list.getEntries()) slowest.slowestMs = Math.max(slowest.slowestMs, duration);
      });
      observer.observe({ type: 'event', durationThreshold: 16 } as PerformanceObserverInit);
    });
    await lookAround(page);
    return await page.evaluate(() => (globalThis as unknown as { slowestMs: number }).slowestMs);
  } finally {
    await page.close();
  }
}

async function lookAround(page: Page): Promise<void> {
  const rail = page.locator('nav a[href^="/ui/"]');
  for (let at = 0; at < Math.min(await rail.count(), 6); at++) {
    await rail.nth(at).click();
    await page.waitForTimeout(300);
  }
  await page.keyboard.press('Control+k');
  await page.keyboard.type('tokens', { delay: 40 });
  await page.keyboard.press('Escape');
  await page.waitForTimeout(300);
}

const median = (values: readonly number[]) => [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)]!;

/** Starts both services as `npm start` does. */
async function startBoth() {
  const folder = mkdtempSync(path.join(tmpdir(), 'keystead-bench-console-'));
  const ports = { SECRETS_PORT: String(await freePort()), WORKSPACES_PORT: String(await freePort()) };
  const program = start([path.resolve(__dirname, '../../../local/start.mjs')], { KEYSTEAD_DATA: folder, ...ports });
  const stop = async () => {
    program.process.kill('SIGTERM');
    await program.ended;
    rmSync(folder, { recursive: true, force: true });
  };
  await program.says(/Ctrl-C stops everything/).catch(async (error) => {
    await stop();
    throw error;
  });
  const firstRun: FirstRun = JSON.parse(readFileSync(path.join(folder, 'first-run.json'), 'utf8'));
  return { firstRun, stop };
}

async function signedIn(browser: Browser, firstRun: FirstRun): Promise<[BrowserContext, BrowserContext]> {
  const { secrets, workspaces } = firstRun;
  const open = async (origin: string, proof: object) => {
    const context = await browser.newContext({ viewport: { width: 1440, height: 900 } });
    const page = await context.newPage();
    await page.goto(`${origin}/ui/`);
    const status = await page.evaluate(async (given) => {
      const headers = { 'Content-Type': 'application/json', 'X-Keystead-Console': '1' };
      return (await fetch('/ui/session', { method: 'POST', headers, body: JSON.stringify(given) })).status;
    }, proof);
    if (status !== 201) throw new Error(`${origin} answered ${status} to a sign-in`);
    await page.close();
    return context;
  };
  return [
    await open(secrets.address, { method: 'token', token: secrets.root_token }),
    await open(workspaces.address, {
      method: 'password',
      username: workspaces.username,
      password: workspaces.password,
    }),
  ];
}

async function main(): Promise<void> {
  const executablePath = findBrowser();
  if (executablePath === undefined) throw new Error('this needs Chromium, and there is none here');
  const { firstRun, stop } = await startBoth();
  const bare = await bareServer();
  const browser = await chromium.launch({ executablePath, args: process.getuid?.() === 0 ? ['--no-sandbox'] : [] });
  try {
    const [secrets, workspaces] = await signedIn(browser, firstRun);
    const anonymous = await browser.newContext({ viewport: { width: 1440, height: 900 } });
    const shown: readonly Shown[] = [
      { name: 'bare page', url: `http://127.0.0.1:${(bare.address() as AddressInfo).port}/`, context: anonymous },
      { name: 'secrets: sign-in', url: `${firstRun.secrets.address}/ui/`, context: anonymous },
      { name: 'secrets: overview', url: `${firstRun.secrets.address}/ui/`, context: secrets },
      { name: 'workspaces: sign-in', url: `${firstRun.workspaces.address}/ui/`, context: anonymous },
      { name: 'workspaces: organizations', url: `${firstRun.workspaces.address}/ui/`, context: workspaces },
    ];
    const rows = shown.map(({ name }): string[] => [name]);
    for (const under of conditions) {
      const paints = shown.map((): number[] => []);
      for (let round = 0; round < rounds; round++) {
        for (const [at, one] of shown.entries()) paints[at]!.push(await paintOf(one, under));
      }
      for (const [at, one] of shown.entries()) {
        rows[at]!.push(median(paints[at]!).toFixed(0));
        const inside = one.context !== anonymous;
        rows[at]!.push(inside ? (await answerOf(one, under)).toFixed(0) : '');
      }
    }
    const heads = conditions.flatMap(({ name }) => [`LCP, ${name}`, `slowest answer, ${name}`]);
    const lines = [['', ...heads], ['---', ...heads.map(() => '--:')], ...rows].map((row) => `| ${row.join(' | ')} |`);
    process.stdout.write(`${lines.join('\n')}\n\nms; LCP is the median of ${rounds}, nothing cached\n`);
  } finally {
    await browser.close();
    bare.close();
    await stop();
  }
}

main().catch((error) => {
  process.stderr.write(`${error instanceof Error ? error.message : error}\n`);
  process.exitCode = 1;
});
