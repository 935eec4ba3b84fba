import { existsSync } from 'node:fs';
import type { Browser, Page } from 'playwright-core';

/** Where Chromium is on common development systems. */
const candidates = [
  '/usr/bin/chromium',
  '/usr/bin/chromium-browser',
  '/usr/bin/google-chrome',
  '/Applications/Google Chrome.app/Contents/MacOS/Google Chrome',
];

/** The browser of this machine; undefined if there is none. */
export function findBrowser(): string | undefined {
  return candidates.find((file) => existsSync(file));
}

/** A page in a real browser, with all its errors and requests. */
export interface Visit {
  readonly page: Page;
  /** Violations of the content security policy, errors of scripts, and errors in the browser's console. */
  readonly troubles: string[];
  /** Every request, including those to other sites: method and address. */
  readonly requests: string[];
  close(): Promise<void>;
}

/** Opens a page in a headless browser without a profile. */
export async function visit(url: string): Promise<Visit> {
  // The library is loaded here, so that only the few tests that open a page wait for it.
  const { chromium } = await import('playwright-core');
  const args = process.getuid?.() === 0 ? ['--no-sandbox'] : [];
  const browser: Browser = await chromium.launch({ executablePath: findBrowser(), args });
  try {
    const page = await browser.newPage({ viewport: { width: 1280, height: 900 }, ignoreHTTPSErrors: true });
    // On a busy machine a page can take most of a minute; nothing here waits for a fixed time.
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
