import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { createServer } from '@keystead/server';
import { freePort } from '@keystead/testing';
import { PASSWORD, resource, startWorkspaces } from '../start-workspaces';
import { findTool, noTool } from '../worker-fixture';

const execute = promisify(execFile);
const it = noTool ? test.skip : test;
const box = mkdtempSync(path.join(tmpdir(), 'infra-tool-'));
afterAll(() => rmSync(box, { recursive: true, force: true }));

// The real command line of the tool, with built-in resources only, so that it downloads nothing.
describe('the infrastructure tool in local execution', () => {
  const env: Record<string, string> = {};
  let binary = '';
  let port = 0;
  beforeAll(async () => {
    if (!noTool) binary = (await findTool()).file;
    port = await freePort();
    env.WORKSPACES_PUBLIC_URL = `http://127.0.0.1:${port}`;
  });
  const workspaces = startWorkspaces({ env });
  let listening: ReturnType<typeof createServer>;
  beforeAll(async () => {
    listening = createServer(workspaces.service.app);
    await new Promise<void>((resolve) => listening.listen(port, '127.0.0.1', resolve));
    await workspaces.organization('acme', { 'default-execution-mode': 'local' });
  });
  afterAll(() => {
    listening.closeAllConnections();
    listening.close();
  });

  const configuration = (cloud: string, more = '') => `
    terraform {
      cloud {
        hostname     = "workspaces.test"
        organization = "acme"
        ${cloud}
      }
    }
    resource "terraform_data" "a" { input = "one" }
    output "greeting" { value = terraform_data.a.output }
    output "secret" {
      value     = "s3cret"
      sensitive = true
    }
    ${more}`;

  function folder(name: string, main: string): (...args: string[]) => Promise<string> {
    const cwd = path.join(box, name);
    mkdirSync(cwd, { recursive: true });
    writeFileSync(path.join(cwd, 'main.tf'), main);
    const api = `http://127.0.0.1:${port}/api/v2/`;
    const cli = path.join(box, 'cli.tfrc');
    writeFileSync(
      cli,
      `disable_checkpoint = true
host "workspaces.test" { services = { "tfe.v2" = "${api}", "tfe.v2.1" = "${api}", "state.v2" = "${api}" } }
credentials "workspaces.test" { token = "${workspaces.admin.token}" }`,
    );
    return async (...args) => {
      const environment = { ...process.env, TF_CLI_CONFIG_FILE: cli, TF_IN_AUTOMATION: '1' };
      const running = execute(binary, args, { cwd, env: environment });
      // Questions, such as whether to move a local state over, are answered with yes.
      running.child.stdin?.end('yes\n');
      const { stdout, stderr } = await running;
      return stdout + stderr;
    };
  }
  it('creates, uses and deletes a workspace', async () => {
    const tool = folder('life', configuration('workspaces { name = "life" }'));
    await tool('init', '-no-color');
    expect(await tool('apply', '-auto-approve', '-no-color')).toContain('1 added');
    expect(await tool('output', '-raw', 'greeting')).toBe('one');
    expect(await tool('output', '-raw', 'secret')).toBe('s3cret');
    expect(await tool('plan', '-no-color')).toContain('No changes');
    expect(await tool('state', 'list')).toBe('terraform_data.a\n');
    await tool('state', 'mv', 'terraform_data.a', 'terraform_data.b');
    const pulled = await tool('state', 'pull');
    expect(JSON.parse(pulled)).toMatchObject({ version: 4, resources: [{ name: 'b' }] });
    writeFileSync(path.join(box, 'life', 'saved.tfstate'), pulled);
    await tool('state', 'rm', 'terraform_data.b');
    expect(await tool('state', 'list')).toBe('');
    await expect(tool('state', 'push', 'saved.tfstate')).rejects.toThrow(/over newer state with serial/);
    await tool('apply', '-auto-approve', '-no-color');
    expect(await tool('destroy', '-auto-approve', '-no-color')).toContain('1 destroyed');
    const shown = await workspaces.admin.get('organizations/acme/workspaces/life').expect(200);
    expect(shown.body.data.attributes).toMatchObject({ locked: false, 'resource-count': 0 });
  }, 400_000);

  it('finds, creates and deletes workspaces by tags', async () => {
    const tool = folder('tags', configuration('workspaces { tags = ["team:blue"] }'));
    await workspaces.admin
      .post(
        'organizations/acme/workspaces',
        resource(
          'workspaces',
          { name: 'blue-one' },
          { tags: { data: [{ type: 'tags', attributes: { name: 'team:blue' } }] } },
        ),
      )
      .expect(201);
    await tool('init', '-no-color');
    await tool('workspace', 'new', 'blue-two');
    expect(await tool('workspace', 'list')).toMatch(/blue-one[\s\S]*blue-two/);
    await tool('workspace', 'select', 'blue-one');
    await tool('workspace', 'delete', 'blue-two');
    await workspaces.admin.get('organizations/acme/workspaces/blue-two').expect(404);
  }, 400_000);

  it('stops at a lock that another person holds, and force-unlocks', async () => {
    const tool = folder('locks', configuration('workspaces { name = "locks" }'));
    await tool('init', '-no-color');
    const { id } = (await workspaces.admin.get('organizations/acme/workspaces/locks').expect(200)).body.data;
    await workspaces.admin.post(`workspaces/${id}/actions/lock`, { reason: 'maintenance' }).expect(200);
    await expect(tool('apply', '-auto-approve', '-no-color')).rejects.toThrow(/workspace already locked/);
    await tool('force-unlock', '-force', 'acme/locks');
    expect(await tool('apply', '-auto-approve', '-no-color')).toContain('1 added');
  }, 400_000);

  it('signs in with its own command, as on the page', async () => {
    const origin = `http://127.0.0.1:${port}`;
    const home = path.join(box, 'home');
    mkdirSync(path.join(home, '.terraform.d'), { recursive: true });
    const cli = path.join(home, 'cli.tfrc');
    const discovered = (await (await fetch(`${origin}/.well-known/terraform.json`)).json()) as Record<string, never>;
    const { client, grant_types, authz, token, ports } = discovered['login.v1']! as Record<string, unknown>;
    writeFileSync(
      cli,
      `disable_checkpoint = true
host "workspaces.test" {
  services = {
    "tfe.v2"   = "${origin}/api/v2/"
    "login.v1" = {
      client      = "${client}"
      grant_types = ${JSON.stringify(grant_types)}
      authz       = "${origin}${authz}"
      token       = "${origin}${token}"
      ports       = ${JSON.stringify(ports)}
    }
  }
}`,
    );
    await workspaces.person('dora');
    const running = spawn(binary, ['login', 'workspaces.test'], {
      cwd: home,
      // Without a browser, the tool shows the address to open.
      env: { PATH: '/nonexistent', HOME: home, TF_CLI_CONFIG_FILE: cli },
      argv0: binary,
    });
    let said = '';
    running.stdout.on('data', (piece) => (said += piece));
    running.stderr.on('data', (piece) => (said += piece));
    const ended = once(running, 'close');
    running.stdin.write('yes\n');
    // The line is complete once something follows it.
    const shown = () => /(https?:\/\/\S+\/app\/oauth2\/auth\?\S+)\s/.exec(said)?.[1];
    while (!shown() && running.exitCode === null) await new Promise((r) => setTimeout(r, 100));
    const link = shown();
    if (!link) throw new Error(`no address to open: ${said}`);
    expect((await fetch(link)).status).toBe(200);
    const asked = new URL(link).searchParams;
    const session = await workspaces.anyone
      .post('session', resource('sessions', { username: 'dora', password: PASSWORD }))
      .expect(201);
    const made = await workspaces
      .as(session.body.data.attributes.token)
      .post(
        'account/login-codes',
        resource('login-codes', {
          'client-id': asked.get('client_id'),
          'redirect-uri': asked.get('redirect_uri'),
          'code-challenge': asked.get('code_challenge'),
        }),
      )
      .expect(201);
    const back = new URL(asked.get('redirect_uri')!);
    back.searchParams.set('code', made.body.data.attributes.code);
    back.searchParams.set('state', asked.get('state')!);
    // The tool takes the code and stops listening at once, sometimes before its page was sent: only its exit code
    // counts.
    await fetch(back).catch(() => undefined);
    const [status] = await ended;
    if (status !== 0) throw new Error(said);
    const kept = readFileSync(path.join(home, '.terraform.d', 'credentials.tfrc.json'), 'utf8');
    const { credentials } = JSON.parse(kept) as { credentials: Record<string, { token: string }> };
    const details = await workspaces.as(credentials['workspaces.test']!.token).get('account/details').expect(200);
    expect(details.body.data.attributes.username).toBe('dora');
  }, 400_000);

  it('migrates a local state', async () => {
    const local = folder('move', 'resource "terraform_data" "a" { input = "kept" }');
    await local('init', '-no-color');
    await local('apply', '-auto-approve', '-no-color');
    const tool = folder('move', configuration('workspaces { name = "moved" }').replace('"one"', '"kept"'));
    await tool('init', '-no-color', '-input=true');
    expect(await tool('state', 'list')).toBe('terraform_data.a\n');
    expect(await tool('plan', '-no-color')).not.toContain('to add, ');
  }, 400_000);
});
