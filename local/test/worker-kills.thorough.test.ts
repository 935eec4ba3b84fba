import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { withClient } from '@keystead/postgres';
import { call, document } from '@keystead/testing';
import { archiveOf } from '../../apps/workspaces/test/worker-fixture';
import { type Program, startProgram } from '../../prisma/released/programs';
import { createInstallation, type TestInstallation } from './installation';
import { makerOf } from './maker';
import { runLoop } from './run-loop';
import { waitFor } from './start';

// When a worker is killed, the state of its apply and the lock must be kept, and every token of the secrets service
// revoked.

const rounds = 30;
const loops = 3;
const version = { root: path.resolve(__dirname, '../..'), built: true };

// Replaces the tool: its state has the given number as output, and every step takes some time.
const tool = `#!/bin/sh
case $1 in
  version) echo "Terraform v1.11.4" ;;
  plan) sleep 0.3; for o in "$@"; do case $o in -out=*) echo plan > "\${o#-out=}";; esac; done; exit 2 ;;
  show) echo '{"format_version":"1.2"}' ;;
  providers) echo '{"format_version":"1.0"}' ;;
  apply)
    for folder in ../state/*/; do at="$folder/terraform.tfstate"; done
    serial=$(sed -n 's/.*"serial":\\([0-9]*\\).*/\\1/p' "$at" 2>/dev/null)
    n=$(sed -n 's/^n = "\\{0,1\\}\\([0-9]*\\).*/\\1/p' ../run.tfvars)
    sleep 0.3
    printf '{"version":4,"terraform_version":"1.11.4","serial":%d,"lineage":"l","outputs":{"n":{"value":%d,"type":"number"}},"resources":[]}' \\
      "$((\${serial:-0} + 1))" "$n" > "$at.new" && mv "$at.new" "$at"
    sleep 0.2; echo "Apply complete! Resources: 0 added, 1 changed, 0 destroyed." ;;
esac
`;

// A few minutes: each kill waits for a new process.
(process.env.KEYSTEAD_LONG ? describe : describe.skip)('workers that are killed under remote runs', () => {
  const box = mkdtempSync(path.join(tmpdir(), 'keystead-worker-kills-'));
  let installation: TestInstallation;
  const workers: Program[] = [];
  beforeAll(async () => {
    writeFileSync(path.join(box, 'terraform'), tool, { mode: 0o755 });
    installation = await createInstallation({ WORKSPACES_RATE_LIMIT: '0', KEYSTEAD_WORKER: 'off' });
    await installation.start();
  });
  afterAll(async () => {
    for (const worker of workers) await worker.kill('SIGKILL');
    await installation.remove();
    rmSync(box, { recursive: true, force: true });
  });

  const startWorker = async (): Promise<Program> =>
    startProgram(version, 'worker', {
      WORKSPACES_DATABASE_URL: await installation.databaseUrl('workspaces'),
      WORKSPACES_SEAL_KEY_FILE: path.join(installation.dataDir, 'workspaces.key'),
      WORKSPACES_PUBLIC_URL: installation.workspacesUrl,
      WORKSPACES_SECRETS_ADDR: installation.secretsUrl,
      WORKSPACES_LOG_LEVEL: 'silent',
      WORKSPACES_WORKER_BINARY: path.join(box, 'terraform'),
      WORKSPACES_WORKER_TRUST: 'same-user',
      WORKSPACES_WORKER_SCRATCH: path.join(box, 'scratch'),
      WORKSPACES_WORKER_LEASE_SECONDS: '5',
    });
  const count = async (name: 'secrets' | 'workspaces', text: string): Promise<number> =>
    withClient(await installation.databaseUrl(name), async (client) => (await client.query(text)).rows[0].n);

  it('end every run, keep every applied state, and leave no lock and no credential', async () => {
    const { workspaces, secrets } = installation.firstRun();
    const { address: origin, token } = workspaces;
    const api = `${origin}/api/v2`;
    const made = makerOf(api, token);
    const root = async (at: string, body: object) => {
      const headers = { 'X-Service-Token': secrets.root_token };
      const answer = await fetch(`${secrets.address}/v1/${at}`, {
        method: 'POST',
        headers,
        body: JSON.stringify(body),
      });
      expect(answer.status).toBe(204);
    };
    await root('sys/auth/jwt', { type: 'jwt' });
    await root('auth/jwt/config', { jwks_url: `${origin}/.well-known/jwks`, bound_issuer: origin });
    const role = { user_claim: 'workspace_id', bound_audiences: [secrets.address], token_ttl: '30m' };
    await root('auth/jwt/role/deploy', { ...role, bound_claims: { organization_name: 'kills' } });
    await made('organizations', document('organizations', { name: 'kills', email: 'kills@example.com' }));
    const archive = await archiveOf({ 'main.tf': 'output "n" { value = 1 }' });
    let applied = 0;
    let running = true;
    const counted = new Map<string, number>();
    const under = [];
    for (let n = 0; n < loops; n++) {
      const attributes = { name: `kill-${n}`, 'secrets-role': 'deploy' };
      const id = await made('organizations/kills/workspaces', document('workspaces', attributes));
      const goesOn = (so: number) => {
        counted.set(id, so);
        applied = [...counted.values()].reduce((sum, one) => sum + one, 0);
        return running || so === 0;
      };
      under.push(runLoop(origin, token, id, { archive, goesOn }));
    }
    workers.push(await startWorker(), await startWorker());
    const killsMs: number[] = [];
    // If a worker is killed after its login and before the answer is recorded, the service does not know the token. The
    // token remains until the time limit of the role.
    const jwtTokens = (known: boolean) =>
      `SELECT count(*)::int AS n FROM token WHERE path LIKE 'auth/jwt/%' AND ${
        known ? 'NOT' : ''
      } EXISTS (SELECT FROM unnest('{${killsMs}}'::bigint[]) AS k WHERE created_at_ms BETWEEN k - 5000 AND k)`;
    let withCredential = 0;
    for (let round = 0; round < rounds; round++) {
      // The run is using a credential at this time, so the kill leaves a credential that must be revoked.
      await waitFor(async () => (await count('workspaces', 'SELECT count(*)::int AS n FROM run_credential')) > 0);
      await sleep(Math.random() * 1500);
      if ((await count('workspaces', 'SELECT count(*)::int AS n FROM run_credential')) > 0) withCredential++;
      killsMs.push(Date.now());
      await workers.shift()!.kill('SIGKILL');
      workers.push(await startWorker());
    }
    const before = applied;
    await waitFor(() => applied > before);
    running = false;
    const ran = await Promise.all(under);

    const locked: string[] = [];
    for (const { workspace } of ran) {
      const shown = await call(`${api}/workspaces/${workspace}`, token, 'GET');
      if ((shown!.body as { data: { attributes: { locked: boolean } } }).data.attributes.locked) locked.push(workspace);
    }
    await waitFor(async () => (await count('workspaces', 'SELECT count(*)::int AS n FROM run_credential')) === 0);
    await waitFor(async () => (await count('secrets', jwtTokens(true))) === 0);
    const ended: Record<string, number> = {};
    for (const one of ran) for (const [how, many] of Object.entries(one.ended)) ended[how] = (ended[how] ?? 0) + many;
    const lost = ran.flatMap((one) => one.lost);
    const stuck = ran.flatMap((one) => one.stuck);
    const table = {
      killed: rounds,
      withCredential,
      unknown: await count('secrets', jwtTokens(false)),
      ended,
      lost: lost.length,
      stuck: stuck.length,
      locked: locked.length,
    };
    process.stderr.write(`${JSON.stringify(table)}\n`);
    expect({ lost, stuck, locked }).toEqual({ lost: [], stuck: [], locked: [] });
    expect(table.unknown).toBeLessThan(rounds / 2);
    expect(ended.applied).toBeGreaterThan(0);
  }, 3_600_000);
});
