import { execFileSync } from 'node:child_process';
import { X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { describe, expect } from '@jest/globals';
import type { Page } from 'playwright-core';
import { button, journey, soon } from '../stage';
import { at } from './installation';
import { api } from './secrets-api';

const dayMs = 86_400_000;

/** Whether the program openssl, which reads the bundle of the page, is installed. */
const hasOpenssl = (() => {
  try {
    execFileSync('openssl', ['version']);
    return true;
  } catch {
    return false;
  }
})();

describe('the pages of a pki engine', () => {
  const link = (page: Page, name: string) => page.getByRole('link', { name, exact: true });
  const daysOf = (pem: string) => (Date.parse(new X509Certificate(pem).validTo) - Date.now()) / dayMs;
  const openMount = (page: Page, search: string) =>
    page.goto(`${at.installation.secretsUrl}/ui/engines/mount?mount=${search}`);
  const saved = async (page: Page, name: string) => {
    const download = page.waitForEvent('download');
    await button(page, name).click();
    return (await download).path();
  };

  journey('create a root CA with the chosen lifetime, and an intermediate that it signs', async () => {
    await api('POST', 'sys/mounts/anchor', { type: 'pki' });
    await api('POST', 'sys/mounts/fleet', { type: 'pki', config: { max_lease_ttl: '43800h' } });
    const page = await at.signedIn('secrets', '/ui/engines/mount?mount=anchor/');
    await link(page, 'Create a CA').click();
    await link(page, 'Create a root CA').click();
    await page.getByLabel('Common name').fill('Anchor Root');
    await page.getByLabel('Organization').fill('Harbour Ltd');
    await page.getByLabel('Issuer name').fill('anchor-1');
    await page.getByLabel('TTL', { exact: true }).selectOption({ label: '10 years' });
    await page.getByText('The CA would expire after 32 days').waitFor();
    expect(await at.violations(page)).toEqual([]);
    await button(page, 'Raise it to 10 years').click();
    await page.getByText('The maximum lease TTL of anchor/ is now 10 years.').waitFor();
    await button(page, 'Create root CA').first().click();
    await page.getByRole('heading', { name: 'anchor-1', level: 1 }).waitFor();
    await page.getByText('O=Harbour Ltd').first().waitFor();
    const root = (await api('GET', 'anchor/cert/ca')).data.certificate;
    expect(daysOf(root)).toBeGreaterThan(3649);
    expect((await api('GET', 'anchor/config/urls')).data.crl_distribution_points).toEqual([
      `${at.installation.secretsUrl}/v1/anchor/crl`,
    ]);
    expect(await at.violations(page)).toEqual([]);
    await at.picture(page, 'secrets-pki-issuer');
    await openMount(page, 'fleet/&tab=issuers&create=true&part=intermediate');
    await page.getByLabel('Signed by the mount').selectOption('anchor/');
    await page.getByText('Signed by anchor-1').waitFor();
    await page.getByLabel('Common name').fill('Fleet Issuing');
    await page.getByLabel('Issuer name').fill('fleet-1');
    await button(page, 'Create intermediate CA').first().click();
    await page.getByRole('heading', { name: 'fleet-1', level: 1 }).waitFor();
    await page.getByRole('list', { name: 'Chain' }).getByRole('link', { name: 'Anchor Root' }).waitFor();
    const { data } = await api('GET', 'fleet/issuer/default');
    expect(data).toMatchObject({ issuer_name: 'fleet-1', key_id: expect.stringMatching(/./) });
    expect(new X509Certificate(data.certificate).checkIssued(new X509Certificate(root))).toBe(true);
    await link(page, 'fleet').click();
    await page.getByRole('table', { name: 'Issuers' }).getByRole('row').filter({ hasText: 'default' }).waitFor();
    await page.getByRole('navigation', { name: 'Parts of fleet/' }).getByRole('link', { name: 'Overview' }).click();
    await page.getByText('Next CRL update').waitFor();
    expect(await at.violations(page)).toEqual([]);
  });

  journey(
    'have a request signed elsewhere, import a CA, set the default issuer, rename, revoke and delete',
    async () => {
      await api('POST', 'sys/mounts/abroad', { type: 'pki' });
      await api('POST', 'sys/mounts/local', { type: 'pki' });
      await api('POST', 'abroad/root/generate/internal', { common_name: 'Foreign Root', key_type: 'ec' });
      const page = await at.signedIn('secrets', '/ui/engines/mount?mount=local/&tab=issuers&create=true&part=external');
      await page.getByLabel('Common name').fill('Local Issuing');
      await page.getByLabel('Issuer name').fill('local-1');
      await button(page, 'Create request').first().click();
      const csr = (await page.locator('main pre').first().textContent())!;
      const signed = (await api('POST', 'abroad/root/sign-intermediate', { csr, common_name: 'Local Issuing' })).data;
      await page.getByLabel('Signed certificate and its chain').fill(signed.certificate);
      await button(page, 'Finish').click();
      await page.getByRole('heading', { name: 'local-1', level: 1 }).waitFor();
      await page.getByText('The certificate of Foreign Root is not in this mount.').waitFor();
      await openMount(page, 'local/&tab=issuers&create=true&part=import');
      const foreign = (await api('GET', 'abroad/cert/ca')).data.certificate;
      await page.getByLabel('Certificates and keys').fill(foreign);
      await button(page, 'Import').click();
      await page.getByText('Imported 1 issuer and 0 keys').waitFor();
      await page.getByRole('alert').getByRole('link', { name: 'Issuers' }).click();
      await link(page, 'Foreign Root').click();
      await page.getByText('does not have the private key of this issuer').waitFor();
      await button(page, 'Set as default').click();
      await soon(async () => expect(await button(page, 'Set as default').count()).toBe(0));
      await button(page, 'Edit').click();
      const dialog = page.getByRole('dialog');
      await dialog.getByLabel('Name').fill('foreign');
      await dialog.getByLabel('Issue certificates').uncheck();
      expect(await at.violations(page)).toEqual([]);
      await dialog.getByRole('button', { name: 'Save' }).click();
      await page.getByRole('heading', { name: 'foreign', level: 1, exact: true }).waitFor();
      const { data } = await api('GET', 'local/issuer/default');
      expect(data).toMatchObject({
        issuer_name: 'foreign',
        usage: expect.not.stringContaining('issuing-certificates'),
      });
      await button(page, 'Delete').click();
      await dialog.getByLabel('Type foreign to confirm').fill('foreign');
      await dialog.getByRole('button', { name: 'Delete issuer' }).click();
      await link(page, 'local-1').click();
      await button(page, 'Revoke').click();
      await dialog.getByLabel('Type local-1 to confirm').fill('local-1');
      await dialog.getByRole('button', { name: 'Revoke issuer' }).click();
      await page.getByText('revoked', { exact: true }).waitFor();
    },
  );

  journey('create a role, issue a certificate with its key and as PKCS#12, sign a CSR, and revoke', async () => {
    await api('POST', 'sys/mounts/shipyard', { type: 'pki' });
    await api('POST', 'shipyard/root/generate/internal', { common_name: 'Shipyard CA', key_type: 'ec', ttl: '700h' });
    const page = await at.signedIn('secrets', '/ui/engines/mount?mount=shipyard/');
    await link(page, 'Create role').click();
    await page.getByLabel('Name', { exact: true }).fill('docks');
    await page.getByLabel('Allowed domains').fill('example.com');
    await page.keyboard.press('Enter');
    await page.getByLabel('Maximum TTL').selectOption({ label: '7 days' });
    expect(await at.violations(page)).toEqual([]);
    await button(page, 'Create role').first().click();
    await page.getByRole('heading', { name: 'docks', level: 1 }).waitFor();
    expect((await api('GET', 'shipyard/roles/docks')).data).toMatchObject({
      allowed_domains: ['example.com'],
      allow_subdomains: true,
      max_ttl: 7 * 86_400,
    });
    await page.getByLabel('Common name').fill('evil.example.org');
    await button(page, 'Issue certificate').click();
    await page.getByText('evil.example.org not allowed by this role').waitFor();
    await page.getByLabel('Common name').fill('north.example.com');
    await page.getByLabel('Other names').fill('south.example.com');
    await page.keyboard.press('Enter');
    await page.getByLabel('TTL', { exact: true }).selectOption({ label: '1 day' });
    const before = (await api('LIST', 'shipyard/certs')).data.keys;
    await button(page, 'Would it be issued?').click();
    await page.getByText('Yes: CN=north.example.com, for north.example.com, south.example.com').waitFor();
    expect((await api('LIST', 'shipyard/certs')).data.keys).toEqual(before);
    await button(page, 'Issue certificate').click();
    await page.getByText('Take its private key now').waitFor();
    const certificate = new X509Certificate(readFileSync(await saved(page, 'Certificate'), 'utf8'));
    expect(certificate.subjectAltName).toContain('DNS:south.example.com');
    expect(await at.violations(page)).toEqual([]);
    expect(await page.content()).not.toContain('PRIVATE KEY');
    await page.getByRole('tab', { name: 'Private key' }).click();
    await button(page, 'Reveal private key').click();
    await page.getByText('BEGIN PRIVATE KEY').waitFor();
    await button(page, 'PKCS#12').click();
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('Password of the file').fill('päckchen');
    const download = page.waitForEvent('download');
    await dialog.getByRole('button', { name: 'Download' }).click();
    const packed = await (await download).path();
    if (hasOpenssl) {
      const args = ['pkcs12', '-in', packed, '-passin', 'pass:päckchen', '-nodes'];
      const unpacked = execFileSync('openssl', args, { encoding: 'utf8' });
      expect(unpacked).toContain('BEGIN PRIVATE KEY');
      expect(unpacked.match(/BEGIN CERTIFICATE/g)).toHaveLength(2);
      expect(unpacked).toContain('friendlyName: north.example.com');
    }
    await link(page, 'Open certificate').click();
    await page.getByRole('heading', { name: 'north.example.com', level: 1 }).waitFor();
    await page.getByText('north.example.com, south.example.com').waitFor();
    await button(page, 'Revoke').click();
    await dialog.getByRole('button', { name: 'Revoke certificate' }).click();
    await page.getByText('revoked', { exact: true }).waitFor();
    await page.getByText('Revoked', { exact: true }).waitFor();
    const { csr } = (
      await api('POST', 'shipyard/intermediate/generate/internal', { common_name: 'x.example.com', key_type: 'ec' })
    ).data;
    await openMount(page, 'shipyard/&tab=roles&name=docks&part=sign');
    await page.getByLabel('Certificate signing request (CSR)').fill(csr);
    await button(page, 'Sign').click();
    await page.getByText('The certificate was issued.').waitFor();
    await openMount(page, 'shipyard/&tab=roles&name=docks&part=settings');
    await page.getByLabel('The domains themselves').check();
    await button(page, 'Save').click();
    await page.getByText('Saved.').waitFor();
    expect((await api('GET', 'shipyard/roles/docks')).data).toMatchObject({
      allow_bare_domains: true,
      max_ttl: 604_800,
    });
    await openMount(page, 'shipyard/&tab=certificates');
    await page.getByLabel('Search certificates').fill('x.example');
    await soon(async () =>
      expect(await page.getByRole('table', { name: 'Certificates' }).getByRole('row').count()).toBe(2),
    );
    await page.getByLabel('Search certificates').fill('');
    await page.getByLabel('Show').selectOption({ label: 'All, with revoked and expired ones' });
    await page.getByRole('row').filter({ hasText: 'north.example.com' }).getByText('revoked').waitFor();
    expect(new URL(page.url()).searchParams.get('part')).toBe('all');
    await page.getByLabel('Show').selectOption({ label: 'Revoked' });
    await soon(async () =>
      expect(await page.getByRole('table', { name: 'Certificates' }).getByRole('row').count()).toBe(2),
    );
    const { keys } = (await api('LIST', 'shipyard/issuers')).data;
    await openMount(page, `shipyard/&tab=issuers&name=${keys[0]}`);
    const list = page.getByRole('region', { name: 'CRL' });
    await list.getByText('The next update is').waitFor();
    expect(readFileSync(await saved(page, 'Download CRL as PEM'), 'utf8')).toContain('BEGIN X509 CRL');
    await list.getByRole('button', { name: 'Rotate CRL' }).click();
    await list.getByText('The CRLs of this mount were rotated.').waitFor();
    expect(await at.violations(page)).toEqual([]);
  });

  journey('switch ACME on, and show the settings for clients', async () => {
    await api('POST', 'sys/mounts/buoys', { type: 'pki' });
    await api('POST', 'buoys/root/generate/internal', { common_name: 'Buoys CA', key_type: 'ec' });
    await api('POST', 'buoys/roles/web', { allowed_domains: 'example.com', allow_subdomains: true, key_type: 'any' });
    const page = await at.signedIn('secrets', '/ui/engines/mount?mount=buoys/&tab=acme');
    await page.getByLabel('Serve ACME').check();
    await page.getByLabel('Certificates without a role in the address').selectOption('role:web');
    await page.getByLabel('External account binding (EAB)').selectOption('new-account-required');
    await button(page, 'Save').click();
    await page.getByText('Saved.').waitFor();
    const address = `${at.installation.secretsUrl}/v1/buoys/acme/directory`;
    await page.getByText(address).first().waitFor();
    const directory = (await (await fetch(address)).json()) as { meta: { externalAccountRequired: boolean } };
    expect(directory.meta.externalAccountRequired).toBe(true);
    await button(page, 'Create EAB key').first().click();
    await button(page, 'Reveal EAB key').click();
    const [id = ''] = (await api('LIST', 'buoys/eab')).data.keys;
    const shown = page.getByRole('tabpanel').locator('pre');
    await shown.getByText(`--eab-kid ${id}`).waitFor();
    expect(await at.violations(page)).toEqual([]);
    await page.getByRole('tab', { name: 'Caddy' }).click();
    await shown.getByText(`acme_ca ${address}`).waitFor();
  });
});
