import { execFile, execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { startWorkspaces } from '../start-workspaces';

const execute = promisify(execFile);
const binary = ['terraform', 'tofu'].find((name) => {
  try {
    execFileSync(name, ['version'], { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
});

const it = binary === undefined ? test.skip : test;

// Built-in resources only, so that nothing is downloaded; about 1.5 KiB of state each.
const configuration = `
  terraform {
    cloud {
      hostname     = "workspaces.test"
      organization = "acme"
      workspaces { name = "large" }
    }
  }
  resource "terraform_data" "a" {
    count = 700
    input = "\${count.index} ${'a setting of some length '.repeat(25)}"
  }
  output "first" { value = terraform_data.a[0].output }`;

describe('a plan of the infrastructure tool in local execution', () => {
  const box = mkdtempSync(path.join(tmpdir(), 'plan-calls-'));
  const listening = createServer((req, res) => workspaces.service.app(req, res));
  let port = 0;
  const env: Record<string, string> = {};
  // The service has to know its address before it starts.
  beforeAll(async () => {
    await once(listening.listen(0, '127.0.0.1'), 'listening');
    port = (listening.address() as AddressInfo).port;
    env.WORKSPACES_PUBLIC_URL = `http://127.0.0.1:${port}`;
  });
  const workspaces = startWorkspaces({ env });
  const calls: string[] = [];
  beforeAll(() => {
    listening.on('request', ({ method, url }) => calls.push(`${method} ${url}`));
    return workspaces.organization('acme', { 'default-execution-mode': 'local' });
  });
  afterAll(() => {
    listening.closeAllConnections();
    listening.close();
    rmSync(box, { recursive: true, force: true });
  });

  it('costs ten requests at most with a state of 1 MiB', async () => {
    writeFileSync(path.join(box, 'main.tf'), configuration);
    const cli = path.join(box, 'cli.tfrc');
    const api = `http://127.0.0.1:${port}/api/v2/`;
    writeFileSync(
      cli,
      `disable_checkpoint = true
host "workspaces.test" { services = { "tfe.v2" = "${api}", "tfe.v2.1" = "${api}", "state.v2" = "${api}" } }
credentials "workspaces.test" { token = "${workspaces.admin.token}" }`,
    );
    const tool = async (...args: string[]) => {
      const environment = { ...process.env, TF_CLI_CONFIG_FILE: cli, TF_IN_AUTOMATION: '1' };
      const { stdout } = await execute(binary!, args, { cwd: box, env: environment, maxBuffer: 64 * 1024 * 1024 });
      return stdout;
    };
    await tool('init', '-no-color');
    expect(await tool('apply', '-auto-approve', '-no-color')).toContain('700 added');
    expect((await tool('state', 'pull')).length).toBeGreaterThan(1024 * 1024);
    calls.length = 0;
    expect(await tool('plan', '-no-color')).toContain('No changes');
    expect(calls.length).toBeLessThanOrEqual(10);
    expect(calls.filter((call) => call.includes('/content/'))).toHaveLength(1);
    expect(calls.filter((call) => /actions\/(lock|unlock)$/.test(call))).toHaveLength(2);
  }, 400_000);
});
