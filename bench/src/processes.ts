import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { ensureDatabase } from '@keystead/postgres';
import { ENTRIES, initialise } from '../scale/installation';
import { median } from './figures';
import { chooseGenerator, type Load } from './load';
import { machine, processorMs } from './machine';
import { onGround, runProgram } from './program';
import { startServiceProcess } from './service';

const usage = `npx tsx bench/src/processes.ts [ROUNDS [SECONDS]]

Loads one process and two processes of the secrets service in turns (5 rounds of 3 seconds): requests a second, and how
many for each second of processor time of only the service, without load and PostgreSQL.`;

/** A process and those that it started. */
function family(pid: number): number[] {
  const parentOf = (one: string) => Number(/^.*\) \S (\d+)/.exec(readFileSync(`/proc/${one}/stat`, 'utf8'))?.[1]);
  const all = readdirSync('/proc').filter((name) => /^\d+$/.test(name));
  const children = all.filter((one) => {
    try {
      return parentOf(one) === pid;
    } catch {
      return false;
    }
  });
  return [pid, ...children.map(Number)];
}

runProgram(usage, ([rounds = '5', seconds = '3']) =>
  onGround({ max_connections: '200' }, async (ground) => {
    const place = { ...ground, cores: undefined };
    await ensureDatabase(ground.postgres.url('secrets'));
    let token = '';
    const nodes: { url: string; pids: number[] }[] = [];
    for (const processes of [1, 2]) {
      const { url, pid } = await startServiceProcess(
        'secrets',
        {
          SECRETS_SEAL_KEY: '11'.repeat(32),
          SECRETS_PROCESSES: String(processes),
          SECRETS_AUDIT_FILE: path.join(ground.folder, `audit-${processes}.log`),
        },
        place,
      );
      if (nodes.length === 0) token = (await initialise({ url })).token;
      nodes.push({ url, pids: family(pid) });
    }
    const headers = { 'X-Service-Token': token, 'Content-Type': 'application/json' };
    const paths = Array.from({ length: ENTRIES }, (_, i) => `/v1/cubbyhole/bench/${i}`);
    const loads: Record<string, Load> = {
      'cubbyhole read': { method: 'GET', paths, headers },
      'lookup-self': { method: 'GET', paths: ['/v1/auth/token/lookup-self'], headers },
      'cubbyhole write': { method: 'POST', paths, headers, body: '{"username":"app","password":"staple {n}"}' },
      'token create': {
        method: 'POST',
        paths: ['/v1/auth/token/create'],
        headers,
        body: '{"policies":["default"],"ttl":"240h"}',
      },
    };
    const generator = chooseGenerator(undefined);
    process.stdout.write(
      `${machine()}; ${rounds} rounds\n\n| | 1: a second, cores, per core second | 2 | rate, cores, per core second |\n|---|---|---|---|\n`,
    );
    for (const [name, load] of Object.entries(loads)) {
      const measured: { rate: number; cores: number; each: number }[][] = [[], []];
      for (let round = 0; round < Number(rounds); round++) {
        for (const at of round % 2 === 0 ? [0, 1] : [1, 0]) {
          const { url, pids } = nodes[at]!;
          const used = () => pids.reduce((sum, pid) => sum + processorMs(pid), 0);
          const before = used();
          const startedAtMs = performance.now();
          const { requestsPerSecond: rate } = await generator.run(url, load, 32, Number(seconds), round * 1e6);
          const cores = (used() - before) / (performance.now() - startedAtMs);
          measured[at]!.push({ rate, cores, each: rate / cores });
        }
      }
      const [one, two] = measured as [(typeof measured)[0], (typeof measured)[0]];
      const cell = (runs: typeof one) =>
        `${median(runs.map((r) => r.rate)).toFixed(0)}, ${median(runs.map((r) => r.cores)).toFixed(2)}, ${median(runs.map((r) => r.each)).toFixed(0)}`;
      const ratio = (of: 'rate' | 'cores' | 'each') => median(one.map((run, n) => two[n]![of] / run[of])).toFixed(2);
      process.stdout.write(
        `| ${name} | ${cell(one)} | ${cell(two)} | ${ratio('rate')}, ${ratio('cores')}, ${ratio('each')} |\n`,
      );
    }
  }),
);
