import { describe, expect } from '@jest/globals';
import { journey } from '../stage';
import { at } from './installation';

const services = ['secrets', 'workspaces'] as const;

describe.each(services)('a session of the %s console', (service) => {
  const address = () => (service === 'secrets' ? at.installation.secretsUrl : at.installation.workspacesUrl);
  const credentials = () => {
    const { secrets, workspaces } = at.installation.firstRun();
    return [secrets.root_token, workspaces.password, workspaces.token];
  };

  journey('begins at / and ends with signing out, after which going back shows nothing', async () => {
    const page = await at.open(`${address()}/`);
    expect(new URL(page.url()).pathname).toBe('/ui/');
    await page.close();
    const signed = await at.signedIn(service);
    await signed.getByRole('button', { name: 'Sign out' }).click();
    await signed.getByRole('heading', { name: 'Sign in' }).waitFor();
    await signed.goBack().catch(() => undefined);
    await signed.goto(`${address()}/ui/`);
    await signed.getByRole('heading', { name: 'Sign in' }).waitFor();
  });

  journey('leaves no credential in storage, cookies that scripts read, the page, its history or its heap', async () => {
    const page = await at.signedIn(service);
    const seen = await page.evaluate(() => ({
      local: JSON.stringify({ ...localStorage }),
      session: JSON.stringify({ ...sessionStorage }),
      cookie: document.cookie,
      html: document.documentElement.outerHTML,
      url: location.href,
      title: document.title,
    }));
    const cdp = await page.context().newCDPSession(page);
    await cdp.send('HeapProfiler.collectGarbage');
    const pieces: string[] = [];
    cdp.on('HeapProfiler.addHeapSnapshotChunk', ({ chunk }) => pieces.push(chunk));
    await cdp.send('HeapProfiler.takeHeapSnapshot', { reportProgress: false });
    const heap = pieces.join('');
    expect(heap.length).toBeGreaterThan(100_000);
    for (const secret of credentials()) {
      for (const [where, text] of Object.entries({ ...seen, heap }))
        expect([where, text.includes(secret)]).toEqual([where, false]);
    }
    expect(seen.cookie).toBe('');
    const [cookie] = await page.context().cookies();
    expect(cookie).toMatchObject({ name: `keystead-${service}`, httpOnly: true, sameSite: 'Strict', path: '/' });
  });

  journey('refuses a wrong proof, and says so', async () => {
    const page = await at.open(`${address()}/ui/`);
    if (service === 'secrets') await page.getByLabel('Token', { exact: true }).fill('s.nobody');
    else {
      await page.getByLabel('User name').fill('nobody');
      await page.getByLabel('Password').fill('wrong');
    }
    await page.getByRole('button', { name: 'Sign in', exact: true }).click();
    await page.getByRole('alert').waitFor();
    await page.getByRole('heading', { name: 'Sign in' }).waitFor();
  });

  journey('counts for our own page alone', async () => {
    const page = await at.signedIn(service);
    const path = service === 'secrets' ? '/v1/auth/token/lookup-self' : '/api/v2/account/details';
    const ask = (headers: Record<string, string>) =>
      page.evaluate(async ([path, headers]) => (await fetch(path, { headers })).status, [path, headers] as const);
    expect(await ask({ 'X-Keystead-Console': '1' })).toBe(200);
    expect(await ask({})).toBe(service === 'secrets' ? 403 : 401);
    const framed = await page.evaluate(async () => (await fetch('/ui/')).headers.get('content-security-policy'));
    expect(framed).toContain("frame-ancestors 'none'");
  });

  journey('is signed into without a violation of axe in both themes, also narrow', async () => {
    const page = await at.open(`${address()}/ui/`);
    await page.getByRole('heading', { name: 'Sign in' }).waitFor();
    for (const theme of ['light', 'dark'] as const) {
      await page.emulateMedia({ colorScheme: theme });
      for (const width of [1440, 320]) {
        await page.setViewportSize({ width, height: 900 });
        expect(await at.violations(page, theme === 'light' ? undefined : ['color-contrast'])).toEqual([]);
        await at.picture(page, `${service}-sign-in-${theme}-${width}`);
        expect(await page.evaluate(() => document.documentElement.scrollWidth - innerWidth)).toBeLessThanOrEqual(0);
      }
    }
  });
});
