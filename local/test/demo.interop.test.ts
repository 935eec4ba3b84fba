import { type ChildProcess, spawn } from 'node:child_process';
import { chmodSync, chownSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { withClient } from '@keystead/postgres';
import { call, document, findBrowser, visit } from '@keystead/testing';
import { eventually, Gitea, giteaProgram } from '../../apps/workspaces/test/interop/gitea-stand';
import { createInstallation, type TestInstallation } from './installation';

const it = giteaProgram ? test : test.skip;
/** A user id that no one else has, if we may choose. */
const uid = process.getuid?.() === 0 ? 58_000 + (process.pid % 1000) : undefined;

// Replaces the tool and a provider: it reads the lines `crane "name" {}` of the configuration, and asks an address
// which cranes exist and to change them.
const tool = (outside: string) => `#!/bin/sh
for last; do :; done
state=$(echo ../state/*)/terraform.tfstate
have=$(sed -n 's/.*"crane":"\\([a-z]*\\)".*/\\1/p' "$state" 2>/dev/null)
want=$(sed -n 's/^crane "\\([a-z]*\\)".*/\\1/p' main.tf)
resource='"address":"crane.it","mode":"managed","type":"crane","name":"it","provider_name":"harbor"'
case $1 in
  version) echo "Terraform v1.11.4" ;;
  plan)
    for o in "$@"; do case $o in -out=*) plan=\${o#-out=} ;; esac; done
    changes= drift= prior= code=0
    if [ -n "$have" ]; then
      prior='{'$resource',"values":{"place":"quay"}}'
      place=$(curl --silent --max-time 60 ${outside}/$have)
      if [ "$place" != quay ]; then
        drift='{'$resource',"change":{"actions":["update"],"before":{"place":"quay"},"after":{"place":"'$place'"}}}'
      fi
    elif [ -n "$want" ]; then
      changes='{'$resource',"change":{"actions":["create"],"before":null,"after":{"place":"quay"}}}'
      code=2
    fi
    printf '{"format_version":"1.2","resource_changes":[%s],"resource_drift":[%s],"prior_state":{"values":{"root_module":{"resources":[%s]}}}}' "$changes" "$drift" "$prior" > "$plan"
    echo "planned for $want"
    exit $code ;;
  show) cat "$last" ;;
  providers) echo '{"format_version":"1.0"}' ;;
  apply)
    curl --silent --fail --max-time 60 --data up ${outside}/$want || exit 1
    printf '{"version":4,"terraform_version":"1.11.4","serial":1,"lineage":"l","outputs":{},"resources":[{"mode":"managed","type":"crane","name":"it","provider":"provider[\\"example.com/dock/harbor\\"]","instances":[{"schema_version":0,"attributes":{"place":"quay"}}]}],"crane":"%s"}' "$want" > "$state"
    echo "Apply complete! Resources: 1 added, 0 changed, 0 destroyed." ;;
esac
`;

type Item = { id: string; attributes: Record<string, never>; relationships: Record<string, { data: { id: string } }> };

// A real Git host, both services as `npm start` runs them, an agent under another user, and a browser.
describe('a change, from its push until it is undone by hand', () => {
  const box = mkdtempSync('/var/tmp/keystead-demo-');
  const gitea = new Gitea(box);
  /** The outside system of the cranes. */
  const cranes = new Map<string, { place: string }>();
  const outside = createServer((request, response) => {
    const name = request.url?.slice(1) ?? '';
    request.resume();
    if (request.method === 'POST') cranes.set(name, { place: 'quay' });
    response.end(cranes.get(name)?.place);
  });
  const told: { text: string; blocks?: unknown[] }[] = [];
  const slack = createServer(async (request, response) => {
    let text = '';
    for await (const piece of request) text += piece;
    told.push(JSON.parse(text));
    response.end('ok');
  });
  let installation: TestInstallation;
  let agent: ChildProcess | undefined;
  let said = '';
  let origin = '';
  let token = '';

  beforeAll(async () => {
    if (!giteaProgram) return;
    chmodSync(box, 0o755);
    for (const server of [slack, outside]) await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    await gitea.start();
    installation = await createInstallation({
      WORKSPACES_EDITION: 'hosted',
      WORKSPACES_RATE_LIMIT: '0',
      WORKSPACES_VCS: 'on',
      WORKSPACES_VCS_NETWORKS: '127.0.0.1/32',
      WORKSPACES_NOTIFICATION_NETWORKS: '127.0.0.1/32',
      WORKSPACES_WORKER_TRUST: 'same-user',
    });
    await installation.start();
    ({ address: origin, token } = installation.firstRun().workspaces);
  }, 400_000);
  afterAll(async () => {
    if (agent && agent.exitCode === null) {
      const gone = new Promise((resolve) => agent?.once('exit', resolve));
      agent.kill('SIGTERM');
      await gone;
    }
    await installation?.remove();
    await gitea.stop();
    for (const server of [slack, outside]) {
      server.closeAllConnections();
      server.close();
    }
    rmSync(box, { recursive: true, force: true });
  }, 120_000);

  const api = async <T = { data: Item }>(method: string, at: string, body?: object): Promise<T> => {
    const answer = await call(`${origin}/api/v2/${at}`, token, method, body);
    if (!answer || answer.status < 200 || answer.status > 299)
      throw new Error(`${method} ${at}: ${answer?.status} ${JSON.stringify(answer?.body)}`);
    return answer.body as T;
  };
  const make = async (at: string, type: string, attributes: object): Promise<Item> =>
    (await api('POST', at, document(type, attributes))).data;

  /** An agent as another user, with an address and a token, who can read no key and no database. */
  async function startAgent(secret: string): Promise<void> {
    const scratch = path.join(box, 'agent');
    mkdirSync(scratch);
    if (uid !== undefined) chownSync(scratch, uid, uid);
    agent = spawn(process.execPath, [path.resolve(__dirname, '../../apps/workspaces/dist/worker-main.js')], {
      cwd: scratch,
      ...(uid === undefined ? {} : { uid, gid: uid }),
      env: {
        PATH: process.env.PATH,
        AGENT_ADDRESS: origin,
        AGENT_TOKEN: secret,
        AGENT_NAME: 'pier 1',
        WORKSPACES_WORKER_TRUST: 'same-user',
        WORKSPACES_WORKER_SCRATCH: path.join(scratch, 'scratch'),
        WORKSPACES_WORKER_BINARY: path.join(box, 'terraform'),
      },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    for (const stream of [agent.stdout!, agent.stderr!])
      stream.on('data', (bytes) => {
        said += bytes;
      });
    await eventually('an agent', async () => {
      if (agent?.exitCode !== null) throw new Error(said);
      return said.includes('waiting for runs');
    });
  }

  it('is planned for its pull request, confirmed in the console, applied by an agent, reported, and found to have drifted', async () => {
    const { port } = outside.address() as AddressInfo;
    writeFileSync(path.join(box, 'terraform'), tool(`http://127.0.0.1:${port}`), { mode: 0o755 });
    await make('organizations', 'organizations', { name: 'dock', email: 'dock@example.com' });
    const pool = await make('organizations/dock/agent-pools', 'agent-pools', { name: 'harbor' });
    const secret = await make(`agent-pools/${pool.id}/authentication-tokens`, 'authentication-tokens', {
      description: 'pier 1',
    });
    await startAgent(String(secret.attributes.token));
    const oauth = await make('organizations/dock/oauth-clients', 'oauth-clients', {
      'service-provider': 'gitea',
      'http-url': gitea.url,
      'api-url': `${gitea.url}/api/v1`,
      'oauth-token-string': gitea.secret,
    });
    const clone = await gitea.repository('cranes');
    clone.write({ 'main.tf': '# none' });
    await clone.push('No cranes yet');
    const [connection] = oauth.relationships['oauth-tokens']!.data as unknown as { id: string }[];
    const workspace = await make('organizations/dock/workspaces', 'workspaces', {
      name: 'cranes',
      'execution-mode': 'agent',
      'agent-pool-id': pool.id,
      'queue-all-runs': true,
      'vcs-repo': { identifier: clone.identifier, 'oauth-token-id': connection!.id },
    });
    await make(`workspaces/${workspace.id}/notification-configurations`, 'notification-configurations', {
      name: 'harbor chat',
      'destination-type': 'slack',
      url: `http://127.0.0.1:${(slack.address() as AddressInfo).port}/services/T0/B0/x`,
      enabled: true,
      triggers: ['run:needs_attention', 'run:completed', 'run:errored', 'assessment:drifted'],
    });
    const runWith = (message: string, statuses: readonly string[]) =>
      eventually(
        `a run of ${JSON.stringify(message)} that is ${statuses}`,
        async () => {
          const { data } = await api<{ data: Item[] }>(
            'GET',
            `workspaces/${workspace.id}/runs?filter[operation]=plan_only,plan_and_apply`,
          );
          const run = data.find(({ attributes }) => String(attributes.message).startsWith(message));
          if (run && String(run.attributes.status) === 'errored') throw new Error(`${JSON.stringify(run)} ${said}`);
          return run && statuses.includes(String(run.attributes.status)) && run;
        },
        300,
      );
    const hears = (pattern: RegExp) =>
      eventually(`word of ${pattern}`, async () => told.find(({ text }) => pattern.test(text)), 120);
    await runWith('No cranes yet', ['planned_and_finished']);

    await clone.git('checkout', '--quiet', '-b', 'crane');
    clone.write({ 'main.tf': 'crane "one" {}' });
    const proposed = await clone.push('Put up a crane', 'crane');
    const pull = await gitea.call('POST', `repos/${clone.identifier}/pulls`, {
      title: 'Crane',
      head: 'crane',
      base: 'main',
    });
    const plan = await runWith('Put up a crane', ['planned_and_finished']);
    expect(plan.attributes['plan-only']).toBe(true);
    const statuses = (): Promise<{ status: string; description: string; target_url: string }[]> =>
      gitea.call('GET', `repos/${clone.identifier}/commits/${proposed}/statuses`);
    const [status] = await eventually('a status', async () => {
      const all = await statuses();
      return all.some((one) => one.status === 'success') && all.filter((one) => one.status === 'success');
    });
    expect(status!.target_url).toContain(plan.id);
    expect(cranes.size).toBe(0);

    await gitea.call('POST', `repos/${clone.identifier}/pulls/${pull.number}/merge`, { Do: 'merge' });
    const run = await runWith("Merge pull request 'Crane'", ['planned']);
    await hears(/Run Needs Attention/);
    await confirm(run.id);
    await runWith("Merge pull request 'Crane'", ['applied']);
    expect([...cranes.keys()]).toEqual(['one']);
    const done = await hears(/Run Applied/);
    expect(done).toMatchObject({ text: expect.stringContaining('dock/cranes'), blocks: expect.any(Array) });
    if (uid !== undefined) {
      const about = (name: string) => readFileSync(`/proc/${agent!.pid}/${name}`, 'utf8');
      expect(about('status')).toMatch(new RegExp(`^Uid:\\s+${uid}\\s`, 'm'));
      expect(about('environ')).not.toContain('DATABASE');
    }

    // Someone changes the resource by hand.
    cranes.get('one')!.place = 'adrift';
    await api('PATCH', `workspaces/${workspace.id}`, document('workspaces', { 'assessments-enabled': true }));
    await withClient(await installation.databaseUrl('workspaces'), (client) =>
      // The scheduled assessment would start within ten minutes.
      client.query('UPDATE workspace SET assessment_due_at = now() WHERE id = $1', [workspace.id]),
    );
    const found = await eventually(
      'a result',
      async () =>
        (await api('GET', `workspaces/${workspace.id}/current-assessment-result`).catch(() => undefined))?.data,
      300,
    );
    expect(found.attributes).toMatchObject({ drifted: true, succeeded: true, 'resources-drifted': 1 });
    await hears(/Drift Detected/);
    expect(said).not.toContain(String(secret.attributes.token));
  }, 1_200_000);

  /** Done like a person, if there is a browser. */
  async function confirm(run: string): Promise<void> {
    if (findBrowser() === undefined) {
      await api('POST', `runs/${run}/actions/apply`, { comment: 'go on' });
      return;
    }
    const { username, password } = installation.firstRun().workspaces;
    const seen = await visit(`${installation.workspacesUrl}/ui/organizations/dock/workspaces/cranes/runs/${run}`);
    try {
      const { page } = seen;
      await page.getByLabel('User name').fill(username);
      await page.getByLabel('Password').fill(password);
      await page.getByRole('button', { name: 'Sign in', exact: true }).click();
      await page.getByText('crane.it').first().waitFor();
      await page.getByRole('button', { name: 'Confirm & apply', exact: true }).click();
      await page.getByLabel('Comment', { exact: true }).fill('Up with it');
      await page.getByRole('dialog').getByRole('button', { name: 'Confirm & apply', exact: true }).click();
      await page
        .getByRole('status', { name: 'Status of the run' })
        .filter({ hasText: 'applied' })
        .waitFor({ timeout: 300_000 });
      expect(seen.troubles).toEqual([]);
    } finally {
      await seen.close();
    }
  }
});
