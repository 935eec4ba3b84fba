import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { createHash, randomInt } from 'node:crypto';
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { call, document } from '@keystead/testing';
import { Gitea, giteaProgram } from '../../apps/workspaces/test/interop/gitea-stand';
import { archiveOf } from '../../apps/workspaces/test/worker-fixture';
import { createInstallation, type TestInstallation } from './installation';
import { killAndRecover } from './kills';
import { makerOf } from './maker';
import { lateSeconds, type Pushed, pushed, pushLoop } from './push-loop';
import { type Ran, runLoop } from './run-loop';
import { waitFor } from './start';

// After a kill of any process, no run may hang, no acknowledged state or lock may be lost, and no apply may happen
// twice: applies are counted where they take effect.

const rounds = Number(process.env.KEYSTEAD_KILLS ?? 200);
const loops = 3;
// Victims and pauses are random, but the same for the same seed.
const seed = process.env.KEYSTEAD_SEED || String(randomInt(1e9));
const chance = (what: string): number =>
  createHash('sha256').update(`${seed} ${what}`).digest().readUInt32BE() / 2 ** 32;
// If there is a Git host, most of the runs follow pushes to it; the worker of the installation fetches the commits.
const victims = giteaProgram
  ? (['agent', 'workspaces', 'gitea', 'tool', 'postgres', 'worker', 'gitea', 'tool'] as const)
  : (['agent', 'workspaces', 'tool', 'postgres', 'tool'] as const);
type Victim = 'agent' | 'workspaces' | 'gitea' | 'tool' | 'postgres' | 'worker';
const program = path.resolve(__dirname, '../../apps/workspaces/dist/worker-main.js');

// Replaces the tool: each apply reports its effect to the address of the ledger.
const tool = (ledger: string) => `#!/bin/sh
case $1 in
  version) echo "Terraform v1.11.4" ;;
  plan) sleep 0.3; for o in "$@"; do case $o in -out=*) echo plan > "\${o#-out=}";; esac; done; exit 2 ;;
  show) echo '{"format_version":"1.2"}' ;;
  providers) echo '{"format_version":"1.0"}' ;;
  apply)
    for folder in ../state/*/; do at="$folder/terraform.tfstate"; done
    serial=$(sed -n 's/.*"serial":\\([0-9]*\\).*/\\1/p' "$at" 2>/dev/null)
    n=$(sed -n 's/^# n = \\([0-9]*\\)$/\\1/p' main.tf)
    n=\${n:-$(sed -n 's/^n = "\\{0,1\\}\\([0-9]*\\).*/\\1/p' ../run.tfvars)}
    curl --silent --fail --max-time 60 --data "$TFC_RUN_ID" ${ledger} || exit 1
    sleep 0.3
    printf '{"version":4,"terraform_version":"1.11.4","serial":%d,"lineage":"l","outputs":{"n":{"value":%d,"type":"number"}},"resources":[]}' \\
      "$((\${serial:-0} + 1))" "$n" > "$at.new" && mv "$at.new" "$at"
    sleep 0.2; echo "Apply complete! Resources: 0 added, 1 changed, 0 destroyed." ;;
esac
`;

type Runs = {
  data: { id: string; attributes: { status: string; message: string } }[];
  meta: { pagination: { 'total-pages': number } };
};

// Almost an hour: each kill waits until everything works again.
(process.env.KEYSTEAD_LONG ? describe : describe.skip)('runs of agents while processes are killed', () => {
  const box = mkdtempSync('/var/tmp/keystead-agent-kills-');
  // No other process has this name.
  const binary = path.join(box, `terraform-${process.pid}`);
  const effects: string[] = [];
  const ledger = createServer((request, response) => {
    let text = '';
    request.on('data', (piece) => {
      text += piece;
    });
    request.on('end', () => {
      effects.push(text);
      response.end();
    });
  });
  let installation: TestInstallation;
  const gitea = new Gitea(box);
  const agents: Agent[] = [];
  beforeAll(async () => {
    chmodSync(box, 0o755);
    await new Promise<void>((resolve) => ledger.listen(0, '127.0.0.1', resolve));
    writeFileSync(binary, tool(`http://127.0.0.1:${(ledger.address() as AddressInfo).port}`), { mode: 0o755 });
    if (giteaProgram) await gitea.start();
    installation = await createInstallation({
      WORKSPACES_RATE_LIMIT: '0',
      WORKSPACES_WORKER_TRUST: 'same-user',
      ...(giteaProgram
        ? { WORKSPACES_VCS: 'on', WORKSPACES_VCS_NETWORKS: '127.0.0.1/32', WORKSPACES_VCS_POLL_SECONDS: '10' }
        : { KEYSTEAD_WORKER: 'off' }),
    });
    await installation.start();
  });
  afterAll(async () => {
    for (const agent of agents) await agent.end();
    await installation.remove();
    await gitea.stop();
    ledger.closeAllConnections();
    ledger.close();
    rmSync(box, { recursive: true, force: true });
  });

  it('end, are applied once, keep acknowledged states and leave no lock', async () => {
    const { address: origin, token } = installation.firstRun().workspaces;
    const api = `${origin}/api/v2`;
    const made = makerOf(api, token);
    await made('organizations', document('organizations', { name: 'dock', email: 'dock@example.com' }));
    const pool = await made('organizations/dock/agent-pools', document('agent-pools', { name: 'harbor' }));
    const asked = document('authentication-tokens', { description: 'pier' });
    const answer = await call(`${api}/agent-pools/${pool}/authentication-tokens`, token, 'POST', asked);
    const secret = (answer!.body as { data: { attributes: { token: string } } }).data.attributes.token;
    // The agent has no database and no keys, only the address and the token.
    const settings = {
      AGENT_ADDRESS: origin,
      AGENT_TOKEN: secret,
      WORKSPACES_WORKER_BINARY: binary,
      WORKSPACES_WORKER_TRUST: 'same-user',
      WORKSPACES_WORKER_SCRATCH: path.join(box, 'scratch'),
      WORKSPACES_WORKER_LEASE_SECONDS: '5',
    };
    agents.push(new Agent(settings), new Agent(settings));
    const archive = await archiveOf({ 'main.tf': 'output "n" { value = 1 }' });
    let running = true;
    let endedAtMs = Number.POSITIVE_INFINITY;
    const goesOn = (applied: number) => running || applied === 0;
    const connection = giteaProgram && (await connect(api, token));
    const under: Promise<Ran & Partial<Pushed>>[] = [];
    for (let n = 0; n < loops; n++) {
      const attributes = { name: `crane-${n}`, 'execution-mode': 'agent', 'agent-pool-id': pool, 'auto-apply': true };
      // The runs of the last workspace are started by hand.
      if (connection && n < loops - 1) {
        const clone = await gitea.repository(`crane-${n}`);
        clone.write(pushed(0));
        await clone.push('Nothing yet');
        const followed = { identifier: clone.identifier, 'oauth-token-id': connection };
        const follows = { ...attributes, 'queue-all-runs': true, 'vcs-repo': followed };
        const id = await made('organizations/dock/workspaces', document('workspaces', follows));
        under.push(pushLoop(api, token, id, { clone, goesOn, calmSince: () => endedAtMs }));
      } else {
        const id = await made('organizations/dock/workspaces', document('workspaces', attributes));
        under.push(runLoop(origin, token, id, { archive, goesOn }));
      }
    }
    const killed = new Map<Victim, number>();
    for (let round = 0; round < rounds; round++) {
      const victim = victims[Math.floor(chance(`${round}`) * victims.length)]!;
      await sleep(chance(`${round} before`) * 1500);
      if (victim === 'agent') {
        await agents[Math.floor(chance(`${round} agent`) * agents.length)]!.kill();
      } else if (victim === 'tool') {
        await killTool();
      } else if (victim === 'gitea') {
        await gitea.stop();
        await sleep(chance(`${round} away`) * 2000);
        await gitea.start();
      } else {
        await killAndRecover(installation, victim);
      }
      killed.set(victim, (killed.get(victim) ?? 0) + 1);
    }
    running = false;
    endedAtMs = Date.now();
    const ran = await Promise.all(under);

    const open = ran.flatMap((one) => one.stuck);
    const doubled = ran.flatMap((one) => one.doubled ?? []);
    const lost = ran.flatMap((one) => one.lost);
    const locked: string[] = [];
    let runs = 0;
    for (const { workspace, pushes = [] } of ran) {
      const messages = new Map<string, string>();
      for (let page = 1, pages = 1; page <= pages; page++) {
        const listed = await call(
          `${api}/workspaces/${workspace}/runs?page[number]=${page}&page[size]=100`,
          token,
          'GET',
        );
        const { data, meta } = listed!.body as Runs;
        pages = meta.pagination['total-pages'];
        runs += data.length;
        for (const { id, attributes } of data) {
          messages.set(id, attributes.message);
          const times = effects.filter((one) => one === id).length;
          if (!['applied', 'errored'].includes(attributes.status)) open.push(`${id} ${attributes.status}`);
          if (times > 1) doubled.push(id);
          if (attributes.status === 'applied' && times === 0) lost.push(id);
        }
      }
      for (const push of pushes) {
        const those = [...messages].flatMap(([id, message]) => (message.startsWith(push) ? [id] : []));
        if (those.length > 1) doubled.push(`${those}`);
      }
      const shown = await call(`${api}/workspaces/${workspace}`, token, 'GET');
      if ((shown!.body as { data: { attributes: { locked: boolean } } }).data.attributes.locked) locked.push(workspace);
    }
    const ended: Record<string, number> = {};
    for (const one of ran) for (const [how, many] of Object.entries(one.ended)) ended[how] = (ended[how] ?? 0) + many;
    const begun = ran.flatMap(({ begunSeconds = [] }) => begunSeconds).sort((a, b) => a - b);
    const late = begun.filter((seconds) => seconds > lateSeconds);
    const at = (share: number) => Number((begun[Math.floor((begun.length - 1) * share)] ?? 0).toFixed(1));
    const table = {
      seed,
      killed: Object.fromEntries(killed),
      runs,
      ended,
      effects: effects.length,
      begun: { pushes: begun.length, p50: at(0.5), p90: at(0.9), max: at(1), bound: lateSeconds },
    };
    process.stderr.write(`${JSON.stringify({ ...table, lost, doubled, open, locked, late })}\n`);
    expect({ lost, doubled, open, locked, late }).toEqual({ lost: [], doubled: [], open: [], locked: [], late: [] });
    // Each loop continues until one of its runs was applied; the total depends on the machine.
    expect(ended.applied).toBeGreaterThanOrEqual(loops);
  }, 3_600_000);

  /** Connects the Git host; returns the ids that workspaces refer to it by. */
  async function connect(api: string, token: string): Promise<string> {
    const asked = document('oauth-clients', {
      'service-provider': 'gitea',
      'http-url': gitea.url,
      'api-url': `${gitea.url}/api/v1`,
      'oauth-token-string': gitea.secret,
    });
    const made = await call(`${api}/organizations/dock/oauth-clients`, token, 'POST', asked);
    const { data } = made!.body as { data: { relationships: { 'oauth-tokens': { data: { id: string }[] } } } };
    return data.relationships['oauth-tokens'].data[0]!.id;
  }

  /** Waits for a tool process that plans or applies, and returns it. */
  async function killTool(): Promise<void> {
    await waitFor(() => {
      const [pid] = toolsUnderWay(path.basename(binary));
      if (pid === undefined) return false;
      try {
        process.kill(pid, 'SIGKILL');
        return true;
      } catch {
        return false;
      }
    });
  }
});

/** An agent that is restarted when it ends, as systemd does it. */
class Agent {
  private child: ChildProcess | undefined;
  private ending = false;
  private readonly running: Promise<void>;

  constructor(private readonly settings: Record<string, string>) {
    this.running = this.run();
  }

  /** Kills the process, and waits for the next one. */
  async kill(): Promise<void> {
    await waitFor(() => this.child !== undefined);
    const { child } = this;
    child?.kill('SIGKILL');
    await waitFor(() => this.child !== undefined && this.child !== child);
  }

  async end(): Promise<void> {
    this.ending = true;
    this.child?.kill('SIGKILL');
    await this.running;
  }

  private async run(): Promise<void> {
    while (!this.ending) {
      const child = spawn(process.execPath, [program], {
        env: { PATH: process.env.PATH, ...this.settings },
        stdio: 'ignore',
      });
      this.child = child;
      await new Promise((resolve) => child.once('exit', resolve));
      this.child = undefined;
      await sleep(500);
    }
  }
}

function toolsUnderWay(name: string): number[] {
  try {
    const found = execFileSync('pgrep', ['-f', `^/bin/sh /[^ ]*/${name} (plan|apply) `], { encoding: 'utf8' });
    return found.split('\n').filter(Boolean).map(Number);
  } catch {
    return [];
  }
}
