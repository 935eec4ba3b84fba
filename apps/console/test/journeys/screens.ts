import { describe, expect } from '@jest/globals';
import type { Page } from 'playwright-core';
import { problemsOf, spokenNodes } from '../accessibility-tree';
import { journey } from '../stage';
import { gardenOf, type Planted, vaultOf } from './hostile';
import { at, elsewhere } from './installation';

const services = ['secrets', 'workspaces'] as const;
type Service = (typeof services)[number];

/** Pages that no navigation leads to, or that are empty without an object. */
const secretsPages = [
  '/ui/secrets?at=every/',
  '/ui/secrets?at=every/a/b',
  '/ui/secrets?at=every/a/b&version=2&with=1',
  '/ui/policies/default',
  '/ui/policies/explain?path=every/data/a/b&operation=read',
  '/ui/access/entities',
  '/ui/access/groups',
  '/ui/access/tokens',
  '/ui/access/second-factor',
  '/ui/access/view-as',
  '/ui/access/applications',
  '/ui/unwrap',
  '/ui/leases/lease',
  '/ui/audit/reads',
  '/ui/audit/reads?path=every/data/a/b',
  '/ui/operations/key-shares',
  '/ui/engines/new',
  '/ui/access/new',
  '/ui/engines/new?type=kv',
  '/ui/engines/mount?mount=identity/&place=oidc/client/%7Bname%7D',
  '/ui/engines/mount?mount=scheduler/',
  '/ui/engines/mount?mount=scheduler/&tab=endpoints',
  '/ui/engines/mount?mount=scheduler/&tab=role&create=true',
  '/ui/engines/mount?mount=thorns/',
  '/ui/engines/mount?mount=thorns/&tab=configuration',
  ...['briar', 'thistle'].map((name) => `/ui/engines/mount?mount=thorns/&tab=keys&name=${name}`),
  '/ui/engines/mount?mount=nettles/',
  ...['issuers', 'roles', 'certificates', 'keys', 'acme'].map((tab) => `/ui/engines/mount?mount=nettles/&tab=${tab}`),
  '/ui/engines/mount?mount=nettles/&tab=issuers&name=stem',
  ...['', '&part=root', '&part=intermediate', '&part=external', '&part=import'].map(
    (part) => `/ui/engines/mount?mount=nettles/&tab=issuers&create=true${part}`,
  ),
  ...['issue', 'sign', 'settings'].map((part) => `/ui/engines/mount?mount=nettles/&tab=roles&name=leaf&part=${part}`),
  '/ui/engines/mount?mount=nettles/&tab=roles&create=true',
  ...['connections', 'roles', 'static-roles'].flatMap((tab) =>
    ['', '&create=true'].map((more) => `/ui/engines/mount?mount=brambles/&tab=${tab}${more}`),
  ),
  ...['postgresql', 'redis'].map(
    (kind) => `/ui/engines/mount?mount=brambles/&tab=connections&create=true&part=${kind}-database-plugin`,
  ),
  ...['overview', 'settings'].map(
    (part) => `/ui/engines/mount?mount=brambles/&tab=connections&name=hedge&part=${part}`,
  ),
  ...['credentials', 'settings'].map((part) => `/ui/engines/mount?mount=brambles/&tab=roles&name=berry&part=${part}`),
  ...['ca', 'roles'].map((tab) => `/ui/engines/mount?mount=burrs/&tab=${tab}`),
  ...['', '&part=ca', '&part=otp'].map((part) => `/ui/engines/mount?mount=burrs/&tab=roles&create=true${part}`),
  ...['stalk', 'spine'].flatMap((name) =>
    ['', '&part=settings'].map((part) => `/ui/engines/mount?mount=burrs/&tab=roles&name=${name}${part}`),
  ),
  '/ui/engines/mount?mount=ivy/',
  '/ui/engines/mount?mount=ivy/&tab=keys&name=leaf',
  ...['', '&part=generate', '&part=import'].map((part) => `/ui/engines/mount?mount=ivy/&tab=keys&create=true${part}`),
  ...['roles', 'configuration'].map((tab) => `/ui/engines/mount?mount=moss/&tab=${tab}`),
  '/ui/engines/mount?mount=moss/&tab=roles&create=true',
  ...['credentials', 'settings'].map((part) => `/ui/engines/mount?mount=moss/&tab=roles&name=sporeling&part=${part}`),
  '/ui/access/mount?mount=auth/token/',
  '/ui/engines/mount?mount=scheduler/&place=role/%7Bname%7D',
];
const parts = [
  '',
  '/runs',
  '/queries',
  '/variables',
  '/states',
  '/access',
  '/change-requests',
  '/notifications',
  '/settings',
];
const workspacePages = (planted: Planted): string[] => {
  const { project, team, pool, run, provider, connection, notification, module } = planted;
  const organization = '/ui/organizations/thicket';
  const workspace = `${organization}/workspaces/hedge`;
  return [
    ...[
      `/projects/${project}`,
      `/projects/${project}/notifications`,
      `/projects/${project}/notifications/new`,
      `/teams/${team}`,
      `/agents/${pool}`,
      `/addresses/${planted.addresses}`,
      `/version-control/${connection}`,
      '/version-control/new',
      ...['/providers', '/modules', '/versions'].map((view) => `/explorer${view}`),
      '/runs/queue',
      `/varsets/${planted.set}`,
      '/registry/providers',
      ...['', '/tests', `/tests/${planted.test}`].map((part) => `/registry/modules/${module}${part}`),
      `/policies/${planted.policy}`,
      '/policies/sets',
      `/policies/sets/${planted.policySet}`,
      '/policies/dry-runs',
      `/policies/dry-runs/${planted.dryRun}`,
      '/workspaces/past/states',
      `/workspaces/past/states/${planted.state}`,
    ].map((below) => organization + below),
    ...parts.map((below) => workspace + below),
    `${workspace}/queries/${planted.query}`,
    `${workspace}/notifications/${notification}`,
    `${workspace}/notifications/new`,
    ...parts.map((rest) => `${organization}/workspaces/bare${rest}`),
    ...['resources', 'plan%20log', 'inputs', 'access', 'data'].map((view) => `${workspace}/runs/${run}?view=${view}`),
    ...[
      '',
      '/users',
      '/sign-in',
      '/sign-in/new',
      `/sign-in/${provider}`,
      '/saml',
      '/scim',
      '/organizations',
      '/runs',
      '/versions',
    ].map((below) => `/ui/admin${below}`),
    '/ui/admin/retention',
    '/ui/admin/audit',
    '/ui/admin/versions?tool=opa',
  ];
};

/** The answers of the services if there is nothing to list, and no policy. */
const isNothing = /^404 GET .*\/(v1\/\S*(list|scan)=true|data-retention-policy$)/;

const settled = async (page: Page): Promise<void> => {
  await page.locator('main h1').waitFor();
  await page.waitForFunction(() => document.querySelector('main .skeleton') === null);
};

/** The links in the navigation of the open page. */
async function rail(page: Page): Promise<string[]> {
  const links = page.getByRole('navigation', { name: 'Pages' }).locator('a[href^="/ui"]');
  await links.first().waitFor();
  return links.evaluateAll((found) => found.map((link) => link.getAttribute('href')!));
}

/** Every screen of a service, with something on it. */
async function screens(service: Service, page: Page): Promise<string[]> {
  const begin = await rail(page);
  if (service === 'secrets') {
    await vaultOf(at.installation);
    return [...new Set([...begin, ...secretsPages])];
  }
  const planted = await gardenOf(at.installation, elsewhere.url);
  await page.goto(new URL('/ui/organizations/thicket', page.url()).href);
  await page.getByRole('link', { name: 'Variable sets' }).waitFor();
  return [...new Set([...begin, ...(await rail(page)), ...workspacePages(planted)])];
}

/** Checks every screen of a service in every theme and width; returns the problems. */
async function inspect(service: Service): Promise<string[]> {
  const page = await at.signedIn(service);
  const all = await screens(service, page);
  expect(all.length).toBeGreaterThan(20);
  const found: string[] = [];
  let refused: string[] = [];
  page.on('response', (answer) => {
    if (answer.status() >= 400) refused.push(`${answer.status()} ${answer.request().method()} ${answer.url()}`);
  });
  for (const address of all) {
    refused = [];
    await page.emulateMedia({ colorScheme: 'light' });
    await page.setViewportSize({ width: 1440, height: 900 });
    await page.goto(new URL(address, page.url()).href);
    await settled(page);
    const note = (what: string) => found.push(`${address}: ${what}`);
    for (const violation of await at.violations(page)) note(violation);
    for (const problem of problemsOf(await spokenNodes(page))) note(`read aloud: ${problem}`);
    await at.picture(page, `${service}${address.replace(/\W+/g, '-')}-light`);
    // The other theme differs only in its colours.
    await page.emulateMedia({ colorScheme: 'dark' });
    for (const violation of await at.violations(page, ['color-contrast'])) note(`dark: ${violation}`);
    await at.picture(page, `${service}${address.replace(/\W+/g, '-')}-dark`);
    for (const theme of ['light', 'dark'] as const) {
      await page.emulateMedia({ colorScheme: theme });
      for (const width of [768, 390]) {
        await page.setViewportSize({ width, height: 900 });
        await at.picture(page, `${service}${address.replace(/\W+/g, '-')}-${width}-${theme}`);
      }
    }
    // A window of 1440 pixels at 200 % zoom has 720 CSS pixels.
    for (const width of [768, 720, 390, 320]) {
      await page.setViewportSize({ width, height: 900 });
      const over = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
      if (over > 0) note(`${over} pixels too wide for ${width}`);
    }
    // The narrow page has a menu instead of its navigation, with other names and roles.
    for (const violation of await at.violations(page, ['button-name', 'aria-hidden-focus', 'region'])) note(violation);
    const [harmed, images] = await page.evaluate(() => [
      (window as unknown as { harmed?: number }).harmed,
      document.images.length,
    ]);
    if (harmed !== undefined || images !== 0) note('took markup from text');
    for (const answer of refused.filter((one) => !isNothing.test(one))) note(answer);
  }
  return found;
}

interface Tab {
  readonly address: string;
  readonly page: Page;
  readonly asked: string[];
}

/** Checks every screen of a service, each in its own window. */
async function openAll(service: Service): Promise<Tab[]> {
  const first = await at.signedIn(service);
  const tabs: Tab[] = [];
  for (const address of await screens(service, first)) {
    const page = await first.context().newPage();
    const asked: string[] = [];
    page.on('request', (request) => asked.push(request.url()));
    await page.goto(new URL(address, first.url()).href);
    await settled(page);
    tabs.push({ address, page, asked });
  }
  return tabs;
}

// Both services at the same time, because most of the time is waiting.
describe('every screen of both consoles', () => {
  journey(
    'has no axe violation in both themes, names everything for screen readers, fits any width, shows markup as text, and gets no refusal',
    async () => {
      expect((await Promise.all(services.map(inspect))).flat()).toEqual([]);
    },
    900_000,
  );

  journey(
    'polls at most once a second while it is visible, and never while it is hidden',
    async () => {
      const tabs = (await Promise.all(services.map(openAll))).flat();
      const watch = async (ms: number) => {
        for (const { asked } of tabs) asked.length = 0;
        await tabs[0]!.page.waitForTimeout(ms);
        return tabs.map(({ address, asked }) => ({ address, asked: [...asked] }));
      };
      await tabs[0]!.page.waitForTimeout(1000);
      expect((await watch(5000)).filter(({ asked }) => asked.length > 5)).toEqual([]);
      await Promise.all(
        tabs.map(({ page }) =>
          page.evaluate(() => {
            for (const [name, value] of [
              ['visibilityState', 'hidden'],
              ['hidden', true],
            ] as const)
              Object.defineProperty(document, name, { value, configurable: true });
            document.dispatchEvent(new Event('visibilitychange'));
          }),
        ),
      );
      await tabs[0]!.page.waitForTimeout(1000);
      expect((await watch(6000)).filter(({ asked }) => asked.length > 0)).toEqual([]);
    },
    900_000,
  );
});
