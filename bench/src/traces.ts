import path from 'node:path';
import { ensureDatabase } from '@keystead/postgres';
import { ENTRIES, initialise } from '../scale/installation';
import { median } from './figures';
import { chooseGenerator, type Load } from './load';
import { choosePinning, machine, processorMs } from './machine';
import { onGround, runProgram } from './program';
import { ask, startServiceProcess, startWorkspaces } from './service';

const usage = `npx tsx bench/src/traces.ts COLLECTOR [ROUNDS [SECONDS]]

Shows what traces cost: nodes of each service that trace nothing, and 1 %, 10 % and all of the requests, are loaded in
turns (6 rounds of 2 seconds). COLLECTOR takes OTLP over HTTP, such as http://127.0.0.1:4318/v1/traces.`;

const shares = [undefined, '0.01', '0.1', '1'] as const;

interface Node {
  readonly share: string | undefined;
  readonly url: string;
  readonly pid: number;
}

runProgram(usage, ([collector, rounds = '6', seconds = '2']) =>
  onGround({ max_connections: '200' }, async (ground) => {
    if (!collector) throw new Error('where is the collector?');
    const pinning = choosePinning();
    const generator = chooseGenerator(pinning?.others);
    const place = { ...ground, cores: pinning?.server };
    const tracing = (prefix: string, share: string | undefined): Record<string, string> =>
      share === undefined ? {} : { [`${prefix}_TRACES_URL`]: collector, [`${prefix}_TRACES_SHARE`]: share };
    const compare = async (nodes: readonly Node[], loads: Readonly<Record<string, Load>>) => {
      for (const [name, load] of Object.entries(loads)) {
        const measured = nodes.map(() => [] as { perSecond: number; us: number }[]);
        let next = 0;
        for (let round = -1; round < Number(rounds); round++) {
          // Each variant is measured first equally often.
          for (let turn = 0; turn < nodes.length; turn++) {
            const at = (turn + Math.max(round, 0)) % nodes.length;
            const { url, pid } = nodes[at]!;
            const before = processorMs(pid);
            const { requestsPerSecond } = await generator.run(url, load, 32, Number(seconds), next);
            next += Math.ceil(requestsPerSecond * Number(seconds)) + 1000;
            const us = ((processorMs(pid) - before) * 1000) / (requestsPerSecond * Number(seconds));
            if (round >= 0) measured[at]!.push({ perSecond: requestsPerSecond, us });
          }
        }
        const base = measured[0]!;
        const cells = measured.map((one, i) => {
          const us = median(one.map((run) => run.us));
          const more = median(one.map((run, n) => run.us / base[n]!.us));
          const rate = median(one.map((run) => run.perSecond));
          return `${us.toFixed(1)} µs, ${rate.toFixed(0)}/s${i === 0 ? '' : `, ${((more - 1) * 100).toFixed(1)} %`}`;
        });
        process.stdout.write(`| ${name} | ${cells.join(' | ')} |\n`);
      }
    };
    process.stdout.write(`${machine()}; a service has core ${pinning?.server}; ${rounds} rounds\n\n`);
    process.stdout.write('| | off | 1 % | 10 % | all |\n|---|--:|--:|--:|--:|\n');

    const sealKey = '11'.repeat(32);
    const secrets: Node[] = [];
    await ensureDatabase(ground.postgres.url('secrets'));
    for (const share of shares) {
      const env = {
        SECRETS_SEAL_KEY: sealKey,
        SECRETS_AUDIT_FILE: path.join(ground.folder, `audit-${share}.log`),
        ...tracing('SECRETS', share),
      };
      secrets.push({ share, ...(await startServiceProcess('secrets', env, place)) });
    }
    const { token } = await initialise(secrets[0]!);
    const own = { 'X-Service-Token': token, 'Content-Type': 'application/json' };
    const paths = Array.from({ length: ENTRIES }, (_, i) => `/v1/cubbyhole/bench/${i}`);
    await compare(secrets, {
      'cubbyhole read': { method: 'GET', paths, headers: own },
      'cubbyhole write': { method: 'POST', paths, headers: own, body: '{"username":"app","password":"staple {n}"}' },
    });

    const first = await startWorkspaces(place);
    const workspaces: Node[] = [{ share: undefined, ...first }];
    for (const share of shares.slice(1)) {
      const env = { WORKSPACES_SEAL_KEY: first.sealKey, WORKSPACES_RATE_LIMIT: '0', ...tracing('WORKSPACES', share) };
      workspaces.push({ share, ...(await startServiceProcess('workspaces', env, place)) });
    }
    const headers = { Authorization: `Bearer ${first.token}`, 'Content-Type': 'application/vnd.api+json' };
    const api = `${first.url}/api/v2`;
    const organization = { type: 'organizations', attributes: { name: 'bench', email: 'bench@example.org' } };
    await ask(`${api}/organizations`, 'POST', headers, { data: organization });
    const workspace = (name: string) => ({ data: { type: 'workspaces', attributes: { name } } });
    const created = await ask<{ data: { id: string } }>(
      `${api}/organizations/bench/workspaces`,
      'POST',
      headers,
      workspace('one'),
    );
    await compare(workspaces, {
      'workspace show': { method: 'GET', paths: [`/api/v2/workspaces/${created.data.id}`], headers },
      'workspace create': {
        method: 'POST',
        paths: ['/api/v2/organizations/bench/workspaces'],
        headers,
        body: JSON.stringify(workspace('w-{n}')),
      },
    });
  }),
);
