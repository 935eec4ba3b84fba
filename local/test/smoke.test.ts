import { existsSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { createInstallation, type TestInstallation } from './installation';

describe('npm start', () => {
  let installation: TestInstallation;
  beforeAll(async () => {
    installation = await createInstallation();
  });
  afterAll(() => installation.remove());

  it('starts both services and shows how to try them', async () => {
    const program = await installation.start();
    expect(program.output()).toContain(`${installation.secretsUrl}/v1`);
    expect(program.output()).toContain(`${installation.workspacesUrl}/api/v2`);
    expect(program.output()).toContain(`${installation.secretsUrl}/docs  ${installation.workspacesUrl}/docs`);
    const { secrets, workspaces } = installation.firstRun();
    expect(secrets.address).toBe(installation.secretsUrl);
    expect(secrets.recovery_keys).toHaveLength(5);
    expect(workspaces).toMatchObject({ address: installation.workspacesUrl, username: 'admin' });
    await installation.healthy();
  }, 400_000);

  it('creates valid tokens', async () => {
    const { secrets, workspaces } = installation.firstRun();
    const self = await fetch(`${secrets.address}/v1/auth/token/lookup-self`, {
      headers: { 'X-Service-Token': secrets.root_token },
    });
    expect(await self.json()).toMatchObject({ data: { policies: ['root'] } });
    const account = await fetch(`${workspaces.address}/api/v2/account/details`, {
      headers: { Authorization: `Bearer ${workspaces.token}` },
    });
    expect(await account.json()).toMatchObject({ data: { type: 'users', attributes: { username: 'admin' } } });
  });

  it('keeps its data after Ctrl-C and restarts quickly', async () => {
    const { secrets } = installation.firstRun();
    const headers = { 'X-Service-Token': secrets.root_token };
    const address = `${secrets.address}/v1/cubbyhole/kept`;
    expect((await fetch(address, { method: 'POST', headers, body: '{"still":"here"}' })).status).toBe(204);
    const program = installation.program();
    program.process.kill('SIGINT');
    expect(await program.ended).toBe(0);
    expect(existsSync(path.join(installation.dataDir, 'postgres', 'postmaster.pid'))).toBe(false);
    const began = Date.now();
    await installation.start();
    // The time limit applies to an idle machine, but tests run in parallel.
    if (process.env.KEYSTEAD_LONG) expect((Date.now() - began) / 1000).toBeLessThan(5);
    expect(await (await fetch(address, { headers })).json()).toMatchObject({ data: { still: 'here' } });
    expect(installation.program().output()).not.toContain(secrets.root_token);
  }, 400_000);
});
