import { describe, expect } from '@jest/globals';
import type { Page } from 'playwright-core';
import { journey, stage } from './stage';

/** What somebody may have written anywhere: none of it may become markup or run. */
const hostile = `"'><img src=x onerror="window.harmed=1"><script>window.harmed=1</script>{{7*7}}\u202e`;

const at = stage({ WORKSPACES_RATE_LIMIT: '0' });
const services = ['secrets', 'workspaces'] as const;

describe.each(services)('every page in the rail of the %s console', (service) => {
  const addresses = async (page: Page): Promise<string[]> => {
    const links = page.getByRole('navigation', { name: 'Pages' }).locator('a[href^="/ui"]');
    await links.first().waitFor();
    return links.evaluateAll((found) => found.map((link) => link.getAttribute('href')!));
  };
  const settled = async (page: Page): Promise<void> => {
    await page.locator('main h1').waitFor();
    await page.waitForLoadState('networkidle');
  };
  const overflow = (page: Page) => page.evaluate(() => Math.max(0, document.documentElement.scrollWidth - innerWidth));

  journey(
    'is without a violation of axe in both themes, fits 320 pixels and a zoom of 200 %',
    async () => {
      for (const theme of ['light', 'dark'] as const) {
        const page = await at.signedIn(service, '/ui/', { theme });
        for (const address of await addresses(page)) {
          await page.setViewportSize({ width: 1440, height: 900 });
          await page.goto(new URL(address, page.url()).href);
          await settled(page);
          expect({ address, violations: await at.violations(page) }).toEqual({ address, violations: [] });
          await at.picture(page, `${service}${address.replace(/\W+/g, '-')}-${theme}`);
          // A window of 1440 pixels at 200 % has 720 of the style sheet's.
          for (const width of [720, 320]) {
            await page.setViewportSize({ width, height: 900 });
            expect({ address, width, over: await overflow(page) }).toEqual({ address, width, over: 0 });
          }
        }
        await page.close();
      }
    },
    300_000,
  );

  journey(
    'asks at most once a second while it is seen, and not at all while it is not',
    async () => {
      const page = await at.signedIn(service);
      const asked: string[] = [];
      page.on('request', (request) => asked.push(request.url()));
      for (const address of await addresses(page)) {
        await page.goto(new URL(address, page.url()).href);
        await settled(page);
        asked.length = 0;
        await page.waitForTimeout(4000);
        expect({ address, asked: asked.length > 4 ? asked : [] }).toEqual({ address, asked: [] });
        await page.evaluate(() => {
          Object.defineProperty(document, 'visibilityState', { value: 'hidden', configurable: true });
          document.dispatchEvent(new Event('visibilitychange'));
        });
        await page.waitForTimeout(500);
        asked.length = 0;
        await page.waitForTimeout(6000);
        expect({ address, hidden: asked }).toEqual({ address, hidden: [] });
      }
    },
    300_000,
  );

  journey(
    'takes no markup from what somebody wrote',
    async () => {
      const { secrets, workspaces } = at.installation.firstRun();
      const send = async (url: string, headers: Record<string, string>, body: unknown, method = 'POST') =>
        (await fetch(url, { method, headers, body: JSON.stringify(body) })).status;
      const made =
        service === 'secrets'
          ? [
              await send(
                `${at.installation.secretsUrl}/v1/sys/mounts/hostile`,
                { 'X-Service-Token': secrets.root_token },
                { type: 'kv', description: hostile },
              ),
              await send(
                `${at.installation.secretsUrl}/v1/hostile/${encodeURIComponent(hostile.replace(/[/\u202e]/g, ''))}`,
                { 'X-Service-Token': secrets.root_token },
                { [hostile]: hostile },
              ),
              await send(
                `${at.installation.secretsUrl}/v1/identity/entity`,
                { 'X-Service-Token': secrets.root_token },
                { name: 'hostile', metadata: { hostile } },
              ),
            ]
          : [
              await send(
                `${at.installation.workspacesUrl}/api/v2/organizations`,
                { Authorization: `Bearer ${workspaces.token}`, 'Content-Type': 'application/vnd.api+json' },
                { data: { type: 'organizations', attributes: { name: 'hostile', email: 'h@example.com' } } },
              ),
              await send(
                `${at.installation.workspacesUrl}/api/v2/organizations/hostile/workspaces`,
                { Authorization: `Bearer ${workspaces.token}`, 'Content-Type': 'application/vnd.api+json' },
                { data: { type: 'workspaces', attributes: { name: 'hostile', description: hostile } } },
              ),
            ];
      expect(made.filter((status) => status >= 300)).toEqual([]);
      const page = await at.signedIn(service);
      for (const address of await addresses(page)) {
        await page.goto(new URL(address, page.url()).href);
        await settled(page);
        expect(
          await page.evaluate(() => [(window as unknown as { harmed?: number }).harmed, document.images.length]),
        ).toEqual([undefined, 0]);
      }
    },
    300_000,
  );
});
