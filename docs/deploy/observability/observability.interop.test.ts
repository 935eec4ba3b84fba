import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { cpSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { showSecrets } from '../../../apps/secrets/test/metrics/show-metrics';
import { showWorkspaces } from '../../../apps/workspaces/test/metrics/show-metrics';
import { freePort } from '../../../packages/testing/src/index';

// A real Prometheus scrapes both services and evaluates alerts and dashboards, where it is installed.

const program = process.env.KEYSTEAD_PROMETHEUS ?? '/usr/bin/prometheus';
const tool = process.env.KEYSTEAD_PROMTOOL ?? '/usr/bin/promtool';
const there = existsSync(program) && existsSync(tool);
const whereThere = there ? describe : describe.skip;
jest.setTimeout(120_000);

type Shown = Awaited<ReturnType<typeof showSecrets>>;

interface Panel {
  title: string;
  targets: { expr: string }[];
}

whereThere(`Prometheus${there ? '' : ` (skipped: ${program} or ${tool} is not installed)`}`, () => {
  const folder = mkdtempSync(join(tmpdir(), 'prometheus-'));
  let services: Shown[] = [];
  let server: ChildProcess;
  let address = '';
  const ask = async (path: string) => (await (await fetch(`${address}/api/v1/${path}`)).json()) as { data: never };
  const query = async (expr: string) => {
    const { data } = (await ask(`query?query=${encodeURIComponent(expr)}`)) as { data: { result: unknown[] } };
    return data.result;
  };

  beforeAll(async () => {
    services = [await showSecrets(), await showWorkspaces()];
    const [secrets, workspaces] = services as [Shown, Shown];
    cpSync(__dirname, folder, { recursive: true });
    const config = readFileSync(join(folder, 'prometheus.yml'), 'utf8')
      .replace('127.0.0.1:9200', `127.0.0.1:${secrets.port}`)
      .replace('127.0.0.1:9300', `127.0.0.1:${workspaces.port}`)
      .replaceAll('15s', '1s');
    writeFileSync(join(folder, 'prometheus.yml'), config);
    const port = await freePort();
    address = `http://127.0.0.1:${port}`;
    const args = [`--web.listen-address=127.0.0.1:${port}`, `--storage.tsdb.path=${join(folder, 'data')}`];
    server = spawn(program, [`--config.file=${join(folder, 'prometheus.yml')}`, ...args], { stdio: 'ignore' });
    for (let tries = 0; ; tries += 1) {
      const scraped = await query('count(up == 1)').catch(() => []);
      if (JSON.stringify(scraped).includes('"2"]')) break;
      if (tries === 200) throw new Error('Prometheus does not scrape both services');
      await sleep(200);
    }
    await sleep(5_000);
  });
  afterAll(async () => {
    server?.kill();
    await Promise.all(services.map((service) => service.close()));
    rmSync(folder, { recursive: true, force: true });
  });

  it('accepts the rules, which fire when they should', () => {
    execFileSync(tool, ['check', 'config', 'prometheus.yml'], { cwd: __dirname, stdio: 'pipe' });
    execFileSync(tool, ['test', 'rules', 'alerts.test.yml'], { cwd: __dirname, stdio: 'pipe' });
  });

  it('evaluates every rule, and fires none for two healthy services', async () => {
    const { data } = (await ask('rules')) as { data: { groups: { rules: Record<string, string>[] }[] } };
    const rules = data.groups.flatMap((group) => group.rules);
    expect(rules.filter(({ health }) => health !== 'ok').map(({ name, lastError }) => [name, lastError])).toEqual([]);
    // The secrets service of this test is not initialised, and so has no keys.
    const firing = rules.filter(({ state }) => state !== 'inactive').map(({ name }) => name);
    expect(firing.filter((name) => name !== 'SecretsSealed')).toEqual([]);
  });

  it.each(['secrets.json', 'workspaces.json'])('has data for every panel of %s', async (file) => {
    const { panels } = JSON.parse(readFileSync(join(__dirname, file), 'utf8')) as { panels: Panel[] };
    const empty: string[] = [];
    for (const { title, targets } of panels) {
      // Services that have just started have no rate over minutes yet.
      for (const { expr } of targets)
        if ((await query(expr.replace(/\[\w+\]/g, '[4s]'))).length === 0) empty.push(title);
    }
    // Nothing has failed.
    expect(empty.filter((title) => title !== 'Background jobs that failed')).toEqual([]);
  });
});
