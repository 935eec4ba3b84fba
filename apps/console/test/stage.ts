import { mkdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, afterEach, beforeAll, expect, it } from '@jest/globals';
import { findBrowser } from '@keystead/testing';
import type { Browser, BrowserContext, Locator, Page } from 'playwright-core';
import { createInstallation, type TestInstallation } from '../../../local/test/installation';

/** Without a browser the journeys show as skipped, never as passed. */
export const journey = findBrowser() === undefined ? it.skip : it;

export type Theme = 'light' | 'dark';

interface OpenOptions {
  readonly theme?: Theme;
  readonly width?: number;
  /** An origin that the page may link to; every request to it is allowed. */
  readonly leadsTo?: string;
  /** Other origins that the page really visits, such as a provider where people sign in. */
  readonly visits?: readonly string[];
}

/** Repeats a check until it succeeds, because a page reacts to an action a moment later. */
export async function soon(look: () => unknown, withinMs = 15_000): Promise<void> {
  for (const end = Date.now() + withinMs; ; ) {
    try {
      await look();
      return;
    } catch (error) {
      if (Date.now() > end) throw error;
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  }
}

/**
 * An enabled button: that of the open dialog if there is one, because the button that opens a dialog often has the same
 * name.
 */
export const button = (page: Page, name: string): Locator =>
  page.locator('dialog[open], body:not(:has(dialog[open]))').getByRole('button', { name, exact: true });

/** Signs out through the account menu. */
export async function signOut(page: Page): Promise<void> {
  await page.getByRole('button', { name: /^Account of/ }).click();
  await page.getByRole('menuitem', { name: 'Sign out' }).click();
}

/** A real installation, as `npm start` creates it, and a real browser. */
export interface Stage {
  readonly installation: TestInstallation;
  /** Opens an address in a new browser without cookies and storage. */
  open(url: string, options?: OpenOptions): Promise<Page>;
  /** Opens a console and signs in with the credentials of the first run. */
  signedIn(service: 'secrets' | 'workspaces', at?: string, options?: OpenOptions): Promise<Page>;
  /** Violations of axe's rules (all or some of them) on a page, each with its place. */
  violations(page: Page, rules?: readonly string[]): Promise<string[]>;
  /** Stores a screenshot if KEYSTEAD_PICTURES names a folder. */
  picture(page: Page, name: string): Promise<void>;
}

const axe = readFileSync(require.resolve('axe-core/axe.min.js'), 'utf8');

/** Runs in each page: reports visible text that an unfilled template or a missing value left behind. */
function watchText(): void {
  const wrong = /\$\{|\{\w+[.[]|\[object |\bundefined\b|\bNaN\b/;
  const look = (node: Node): void => {
    for (const child of node.childNodes) look(child);
    if (node.nodeType !== 3 || node.parentElement?.closest('script, style, pre, code, textarea, option')) return;
    if (wrong.test(node.nodeValue ?? '')) console.error(`a page shows ${JSON.stringify(node.nodeValue)}`);
  };
  const watch = new MutationObserver((changes) => {
    for (const { target, addedNodes } of changes) {
      if (target.nodeType === 3) look(target);
      for (const added of addedNodes) look(added);
    }
  });
  watch.observe(document, { childList: true, subtree: true, characterData: true });
}

/**
 * Starts both services and a browser for the tests of a file. A violation of the content policy, an error of a script or
 * in the console, or a request to another origin fails the test that caused it.
 */
export function stage(env: Record<string, string> = {}): Stage {
  let installation: TestInstallation;
  let browser: Browser;
  const contexts: BrowserContext[] = [];
  const troubles: string[] = [];
  if (findBrowser() !== undefined) {
    beforeAll(async () => {
      const { chromium } = await import('playwright-core');
      const args = process.getuid?.() === 0 ? ['--no-sandbox'] : [];
      browser = await chromium.launch({ executablePath: findBrowser()!, args });
      installation = await createInstallation(env);
      await installation.start();
    }, 400_000);
    afterAll(async () => {
      await browser?.close();
      await installation?.remove();
    }, 60_000);
    afterEach(async () => {
      for (const context of contexts.splice(0)) await context.close();
      expect(troubles.splice(0)).toEqual([]);
    });
  }
  const open = async (
    url: string,
    { theme = 'light', width = 1440, leadsTo, visits = [] }: OpenOptions = {},
  ): Promise<Page> => {
    const context = await browser.newContext({
      viewport: { width, height: 900 },
      colorScheme: theme,
      reducedMotion: 'reduce',
    });
    await context.grantPermissions(['clipboard-read', 'clipboard-write'], { origin: new URL(url).origin });
    contexts.push(context);
    await context.addInitScript(watchText);
    const page = await context.newPage();
    page.setDefaultTimeout(60_000);
    const own = new Set([installation.secretsUrl, installation.workspacesUrl, leadsTo, ...visits]);
    if (leadsTo !== undefined) await page.route(`${leadsTo}/**`, (route) => route.fulfill({ body: 'Thank you.' }));
    page.on('request', (request) => {
      const { protocol, origin } = new URL(request.url());
      if (protocol.startsWith('http') && !own.has(origin)) troubles.push(`request: ${request.url()}`);
    });
    const elsewhere = (url: string) => visits.some((origin) => url.startsWith(`${origin}/`));
    page.on('pageerror', (error) => {
      if (!elsewhere(page.url())) troubles.push(`error: ${error.message}`);
    });
    page.on('console', (message) => {
      if (elsewhere(message.location().url)) return;
      // The page shows refusals of a service; the browser also logs them.
      if (message.type() === 'error' && !/Failed to load resource: .* status of 4\d\d/.test(message.text())) {
        troubles.push(`console: ${message.text()}`);
      }
    });
    await page.goto(url);
    return page;
  };
  return {
    get installation() {
      return installation;
    },
    open,
    async signedIn(service, at = '/ui/', options) {
      const first = installation.firstRun();
      const secrets = service === 'secrets';
      const page = await open(`${secrets ? installation.secretsUrl : installation.workspacesUrl}${at}`, options);
      await page.getByRole('heading', { name: 'Sign in' }).waitFor();
      if (secrets) await page.getByLabel('Token', { exact: true }).fill(first.secrets.root_token);
      else {
        await page.getByLabel('Username').fill(first.workspaces.username);
        await page.getByLabel('Password').fill(first.workspaces.password);
      }
      await page.getByRole('button', { name: 'Sign in', exact: true }).click();
      await page.getByRole('button', { name: /^Account of/ }).waitFor();
      return page;
    },
    async violations(page, rules) {
      // Wait until the page is complete before checking it.
      await page.getByRole('heading', { level: 1 }).first().waitFor();
      if (!(await page.evaluate(() => 'axe' in globalThis))) await page.evaluate(axe);
      return page.evaluate(async (only) => {
        const { axe } = globalThis as unknown as {
          axe: { run(options: object): Promise<{ violations: Violation[] }> };
        };
        const { violations } = await axe.run(only === undefined ? {} : { runOnly: only });
        return violations.flatMap(({ id, nodes }) =>
          nodes.map(({ target, failureSummary }) => `${id}: ${target.join(' ')} ${failureSummary}`),
        );
      }, rules);
    },
    async picture(page, name) {
      const folder = process.env.KEYSTEAD_PICTURES;
      if (folder === undefined) return;
      mkdirSync(folder, { recursive: true });
      await page.screenshot({ path: path.join(folder, `${name}.png`), fullPage: true });
    },
  };
}

interface Violation {
  readonly id: string;
  readonly nodes: readonly { readonly target: readonly string[]; readonly failureSummary: string }[];
}
