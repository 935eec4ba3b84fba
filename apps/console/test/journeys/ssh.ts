import { execFileSync } from 'node:child_process';
import { generateKeyPairSync } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { describe, expect } from '@jest/globals';
import type { Page } from 'playwright-core';
import { button, journey } from '../stage';
import { at } from './installation';
import { api } from './secrets-api';

/** A new public key in OpenSSH's format. */
function publicLine(comment: string): string {
  const { x = '' } = generateKeyPairSync('ed25519').publicKey.export({ format: 'jwk' });
  const sized = (bytes: Buffer) => Buffer.concat([Buffer.from([0, 0, 0, bytes.length]), bytes]);
  const blob = Buffer.concat([sized(Buffer.from('ssh-ed25519')), sized(Buffer.from(x, 'base64url'))]);
  return `ssh-ed25519 ${blob.toString('base64')} ${comment}\n`;
}

/** Whether the program ssh-keygen, which reads the certificate, is installed. */
const hasKeygen = (() => {
  try {
    execFileSync('ssh-keygen', ['-?'], { stdio: 'ignore' });
    return true;
  } catch (error) {
    return (error as { code?: string }).code !== 'ENOENT';
  }
})();

describe('the pages of an ssh engine', () => {
  const link = (page: Page, name: string) => page.getByRole('link', { name, exact: true });

  journey('generate a CA key, explain how hosts trust it, create a role, and sign a key from a file', async () => {
    await api('POST', 'sys/mounts/gates', { type: 'ssh' });
    const page = await at.signedIn('secrets', '/ui/engines/mount?mount=gates/');
    await page.getByText('A CA key signs the keys of people and hosts').waitFor();
    await button(page, 'Generate CA key').click();
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('Name (optional)').fill('users-1');
    expect(await at.violations(page)).toEqual([]);
    await dialog.getByRole('button', { name: 'Generate CA key' }).click();
    const issuer = page.getByRole('region', { name: 'users-1' });
    await issuer.getByText('default', { exact: true }).waitFor();
    const { public_key } = (await api('GET', 'gates/config/ca')).data;
    expect((await issuer.locator('pre').textContent())!.trim()).toBe(public_key.trim());
    await page.getByText('TrustedUserCAKeys /etc/ssh/trusted-user-ca-keys.pem', { exact: true }).waitFor();
    const command = (await page.getByText(/^curl --fail/).textContent())!;
    const { origin, pathname } = new URL(command.split(' ').at(-1)!);
    expect(origin + pathname).toBe(`${at.installation.secretsUrl}/v1/gates/public_keys`);
    expect(await (await fetch(origin + pathname)).text()).toContain(public_key.trim());
    expect(await at.violations(page)).toEqual([]);
    await at.picture(page, 'secrets-ssh-ca');
    await page.getByRole('navigation', { name: 'Parts of gates/' }).getByRole('link', { name: 'Roles' }).click();
    await link(page, 'Create role').click();
    await link(page, 'Certificates').click();
    await page.getByLabel('Name', { exact: true }).fill('deploy');
    for (const user of ['deploy', 'root']) {
      await page.getByRole('combobox', { name: 'Allowed users' }).fill(user);
      await page.keyboard.press('Enter');
    }
    expect(await at.violations(page)).toEqual([]);
    await at.picture(page, 'secrets-ssh-new-role');
    await button(page, 'Create role').first().click();
    await page.getByRole('heading', { name: 'deploy', level: 1 }).waitFor();
    expect((await api('GET', 'gates/roles/deploy')).data).toMatchObject({
      key_type: 'ca',
      allowed_users: 'deploy,root',
      default_extensions: { 'permit-pty': '' },
    });
    // The error message is next to its field.
    await page.getByLabel('Public key').fill('no key');
    await page.getByLabel('Principals').fill('deploy');
    await page.keyboard.press('Enter');
    await button(page, 'Sign').click();
    await page.getByText(/failed to parse public_key/).waitFor();
    expect(await page.getByLabel('Public key').getAttribute('aria-invalid')).toBe('true');
    const buffer = Buffer.from(publicLine('ana@laptop'));
    await page.getByLabel('Use a file').setInputFiles({ name: 'id_ed25519.pub', mimeType: 'text/plain', buffer });
    await button(page, 'Sign').click();
    await page.getByText('The key was signed.').waitFor();
    await page.getByText('vault-root-').waitFor();
    expect(await at.violations(page)).toEqual([]);
    await at.picture(page, 'secrets-ssh-signed');
    const download = page.waitForEvent('download');
    await button(page, 'Download id_ed25519-cert.pub').click();
    const file = await (await download).path();
    expect(readFileSync(file, 'utf8')).toMatch(/^ssh-ed25519-cert-v01@openssh\.com /);
    if (hasKeygen) {
      const said = execFileSync('ssh-keygen', ['-L', '-f', '-'], { input: readFileSync(file), encoding: 'utf8' });
      expect(said).toMatch(/Principals:\s+deploy\n/);
    }
    await page.getByText('ssh-keygen -L -f id_ed25519-cert.pub', { exact: true }).waitFor();
    await page.setViewportSize({ width: 390, height: 900 });
    await at.picture(page, 'secrets-ssh-signed-390');
  });

  journey('issue a one-time password for a host, and list it until it was used', async () => {
    await api('POST', 'sys/mounts/doors', { type: 'ssh' });
    const page = await at.signedIn('secrets', '/ui/engines/mount?mount=doors/&tab=roles&create=true&part=otp');
    await page.getByLabel('Name', { exact: true }).fill('night');
    await page.getByLabel('Default user', { exact: true }).fill('guard');
    await page.getByLabel('CIDR list', { exact: true }).fill('10.0.0.0/8');
    await page.keyboard.press('Enter');
    await button(page, 'Create role').first().click();
    await page.getByLabel('IP address').fill('192.0.2.7');
    await button(page, 'Generate OTP').click();
    await page.getByText('IP does not belong to role').waitFor();
    await page.getByLabel('IP address').fill('10.1.2.3');
    await button(page, 'Generate OTP').click();
    await page.getByText('ssh guard@10.1.2.3', { exact: true }).waitFor();
    await button(page, 'Reveal one-time password').click();
    const otp = (await page.getByRole('status', { name: 'Credentials' }).locator('pre').textContent())!;
    await page.getByRole('region', { name: 'Passwords not used yet' }).getByRole('row').nth(1).waitFor();
    expect(await at.violations(page)).toEqual([]);
    expect((await api('POST', 'doors/verify', { otp })).data).toMatchObject({ ip: '10.1.2.3', username: 'guard' });
  });
});
