import { existsSync } from 'node:fs';
import type { Browser, Page } from 'playwright-core';

/** Where Chromium is on the systems that people develop on. */
const known = [
  '/usr/bin/chromium',
  '/usr/bin/chromium-browser',
  '/usr/bin/google-chrome',
  '/Applications/Google Chrome.app/Contents/MacOS/Google Chrome',
];

/** The browser of this machine; undefined if there is none. */
export function findBrowser(): string | undefined {
  return known.find((file) => existsSync(file));
}

/** A page in a real browser, and everything that went wrong or went elsewhere there. */
export interface Visit {
  readonly page: Page;
  /** Violations of the content security policy, errors of scripts, and errors in the browser's console. */
  readonly troubles: string[];
  /** Everything that was requested, other sites included: method and address. */
  readonly requests: string[];
  close(): Promise<void>;
}

/** Opens a page in a browser without a window and without a profile. */
export async function visit(url: string): Promise<Visit> {
  // Loaded here: only the few tests that open a page pay for it.
  const { chromium } = await import('playwright-core');
  const args = process.getuid?.() === 0 ? ['--no-sandbox'] : [];
  const browser: Browser = await chromium.launch({ executablePath: findBrowser(), args });
  try {
    const page = await browser.newPage({ viewport: { width: 1280, height: 900 }, ignoreHTTPSErrors: true });
    // Most of a minute, where twenty other things are done: nothing here waits for a time to pass.
    page.setDefaultTimeout(100_000);
    const troubles: string[] = [];
    const requests: string[] = [];
    page.on('request', (request) => requests.push(`${request.method()} ${request.url()}`));
    page.on('pageerror', (error) => troubles.push(`error: ${error.message}`));
    page.on('console', (message) => {
      if (message.type() === 'error') troubles.push(`console: ${message.text()}`);
    });
    await page.goto(url);
    return { page, troubles, requests, close: () => browser.close() };
  } catch (error) {
    await browser.close();
    throw error;
  }
}
