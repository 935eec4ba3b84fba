import { describe, expect } from '@jest/globals';
import type { Page } from 'playwright-core';
import { journey, signOut, soon } from '../stage';
import { at } from './installation';

const services = ['secrets', 'workspaces'] as const;

/** Everything that the scripts of a page have in memory, as text. */
async function heapOf(page: Page): Promise<string> {
  const cdp = await page.context().newCDPSession(page);
  await cdp.send('HeapProfiler.collectGarbage');
  const pieces: string[] = [];
  cdp.on('HeapProfiler.addHeapSnapshotChunk', ({ chunk }) => pieces.push(chunk));
  await cdp.send('HeapProfiler.takeHeapSnapshot', { reportProgress: false });
  return pieces.join('');
}

describe.each(services)('a session of the %s console', (service) => {
  const address = () => (service === 'secrets' ? at.installation.secretsUrl : at.installation.workspacesUrl);
  const credentials = () => {
    const { secrets, workspaces } = at.installation.firstRun();
    return [secrets.root_token, workspaces.password, workspaces.token];
  };

  journey('begins at / and ends with signing out; going back then shows nothing', async () => {
    const page = await at.open(`${address()}/`);
    await soon(() => expect(new URL(page.url()).pathname).toBe('/ui/'));
    await page.close();
    const signed = await at.signedIn(service, service === 'secrets' ? '/ui/engines' : '/ui/account');
    await signOut(signed);
    await signed.getByRole('heading', { name: 'Sign in' }).waitFor();
    // The next person does not start on this person's last page.
    await soon(() => expect(new URL(signed.url()).pathname).toBe('/ui/'));
    await signed.goBack().catch(() => undefined);
    await signed.goto(`${address()}/ui/`);
    await signed.getByRole('heading', { name: 'Sign in' }).waitFor();
  });

  journey('leaves no credential in storage, script-readable cookies, the page, its history or its heap', async () => {
    const page = await at.signedIn(service);
    const seen = await page.evaluate(() => ({
      local: JSON.stringify({ ...localStorage }),
      session: JSON.stringify({ ...sessionStorage }),
      cookie: document.cookie,
      html: document.documentElement.outerHTML,
      url: location.href,
      title: document.title,
    }));
    const heap = await heapOf(page);
    expect(heap.length).toBeGreaterThan(100_000);
    for (const secret of credentials()) {
      for (const [where, text] of Object.entries({ ...seen, heap }))
        expect([where, text.includes(secret)]).toEqual([where, false]);
    }
    expect(seen.cookie).toBe('');
    const [cookie] = await page.context().cookies();
    expect(cookie).toMatchObject({ name: `keystead-${service}`, httpOnly: true, sameSite: 'Strict', path: '/' });
  });

  journey('ends in every window at once, even in a cached page', async () => {
    const left = await at.signedIn(service);
    const page = await left.context().newPage();
    await page.goto(`${address()}/ui/`);
    await signOut(page);
    await page.getByRole('heading', { name: 'Sign in' }).waitFor();
    // The page was not used, and sent no requests by itself.
    await left.getByText('Your session has ended.').waitFor();
    // A page from the browser's cache is shown again: simulates the event that the browser sends then.
    const kept = await at.signedIn(service);
    await kept.context().clearCookies();
    await kept.evaluate(() => dispatchEvent(new PageTransitionEvent('pageshow', { persisted: true })));
    await kept.getByText('Your session has ended.').waitFor();
  });

  journey('is not extended by automatic requests of a page', async () => {
    const seat = await at.signedIn(service);
    await seat.clock.install();
    await seat.goto(`${address()}${service === 'secrets' ? '/ui/operations' : '/ui/admin/runs'}`);
    await seat.getByRole('heading', { level: 1 }).waitFor();
    // A request sent before the key was pressed may be reported only now.
    const asked = (background: boolean) =>
      seat.waitForRequest(
        (one) => /\/(v1|api\/v2)\//.test(one.url()) && 'x-keystead-background' in one.headers() === background,
      );
    await seat.keyboard.press('Shift');
    await Promise.all([asked(false), seat.clock.runFor(6000)]);
    await seat.clock.runFor(61_000);
    await Promise.all([asked(true), seat.clock.runFor(6000)]);
    await seat.keyboard.press('Shift');
    await Promise.all([asked(false), seat.clock.runFor(6000)]);
  });

  journey('refuses a wrong proof, and reports it', async () => {
    const page = await at.open(`${address()}/ui/`);
    if (service === 'secrets') await page.getByLabel('Token', { exact: true }).fill('s.unknown');
    else {
      await page.getByLabel('Username').fill('unknown');
      await page.getByLabel('Password').fill('wrong');
    }
    await page.getByRole('button', { name: 'Sign in', exact: true }).click();
    await page.getByRole('alert').waitFor();
    await page.getByRole('heading', { name: 'Sign in' }).waitFor();
  });

  journey('is valid only for our own page', async () => {
    const page = await at.signedIn(service);
    const path = service === 'secrets' ? '/v1/auth/token/lookup-self' : '/api/v2/account/details';
    const ask = (headers: Record<string, string>) =>
      page.evaluate(async ([path, headers]) => (await fetch(path, { headers })).status, [path, headers] as const);
    expect(await ask({ 'X-Keystead-Console': '1' })).toBe(200);
    expect(await ask({})).toBe(service === 'secrets' ? 403 : 401);
    const framed = await page.evaluate(async () => (await fetch('/ui/')).headers.get('content-security-policy'));
    expect(framed).toContain("frame-ancestors 'none'");
    expect(framed).toContain("require-trusted-types-for 'script'; trusted-types 'none'");
  });

  journey('has a sign-in page without axe violations in both themes, also in a narrow window', async () => {
    const page = await at.open(`${address()}/ui/`);
    await page.getByRole('heading', { name: 'Sign in' }).waitFor();
    for (const theme of ['light', 'dark'] as const) {
      await page.emulateMedia({ colorScheme: theme });
      for (const width of [1440, 320]) {
        await page.setViewportSize({ width, height: 900 });
        expect(await at.violations(page, theme === 'light' ? undefined : ['color-contrast'])).toEqual([]);
        await at.picture(page, `${service}-sign-in-${theme}-${width}`);
        await soon(async () =>
          expect(await page.evaluate(() => document.documentElement.scrollWidth - innerWidth)).toBeLessThanOrEqual(0),
        );
      }
    }
  });
});

// Answers and forms of a page are removed from memory when the user leaves it.
describe('a page of the workspaces console that is left', () => {
  journey('no longer has the created token and the typed secret in memory', async () => {
    const page = await at.signedIn('workspaces', '/ui/account');
    await page.getByLabel('Description').fill('soon forgotten');
    await page.getByRole('button', { name: 'Create token' }).first().click();
    await page.getByRole('button', { name: 'Reveal New token' }).click();
    const token = (await page.getByRole('alert').locator('pre').textContent()) ?? '';
    expect(token.length).toBeGreaterThan(20);
    await page.getByRole('link', { name: 'Administration' }).click();
    await page.getByRole('link', { name: 'Sign-in', exact: true }).click();
    await page.getByRole('link', { name: 'Add provider' }).first().click();
    await page.getByLabel('Name', { exact: true }).fill('Forgotten');
    await page.getByLabel('Issuer').fill('https://id.example.com/forgotten');
    await page.getByLabel('Client id').fill('keystead');
    const secret = `typed-${'and-to-be-gone-'.repeat(3)}`;
    await page.getByLabel('Client secret').fill(secret);
    await page.getByRole('button', { name: 'Add provider' }).last().click();
    await page.getByRole('heading', { name: 'Forgotten', level: 1 }).waitFor();
    await page.getByRole('button', { name: 'Delete Forgotten' }).click();
    await page.getByRole('dialog').getByLabel('Type Forgotten to confirm').fill('Forgotten');
    await page.getByRole('dialog').getByRole('button', { name: 'Delete Forgotten' }).click();
    await page.getByRole('heading', { name: 'Sign-in providers', level: 1 }).waitFor();
    await page.getByRole('link', { name: 'Organizations', exact: true }).first().click();
    await page.getByRole('heading', { name: 'Organizations', level: 1 }).waitFor();
    const heap = await heapOf(page);
    expect(heap.length).toBeGreaterThan(100_000);
    expect([heap.includes(token), heap.includes(secret)]).toEqual([false, false]);
  });
});
