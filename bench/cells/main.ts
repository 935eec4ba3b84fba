import { mkdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { chooseGenerator, type Load } from '../src/load';
import { choosePinning, machine, type Pinning, pinProcess } from '../src/machine';
import { aboutPinning, type Ground, onGround, runProgram, show } from '../src/program';
import { ask, startServiceProcess } from '../src/service';
import { countsStatements, forgetStatements, statementsOf } from '../src/statements';
import { type Fleet, type Placement, play } from './placement';

const usage = `npm run bench -- --cells [--write]

Measures what a request costs the node that answers it, PostgreSQL, and each other node; computes from this what a node, a database
and a fleet of installations ("cells") carry; and simulates how organizations fill the cells.

  --write   also write the tables to bench/results/`;

const SECONDS = 4;
const CONNECTIONS = 32;
/** A processor is treated as full at this share of its time, because above it, waiting times grow quickly. */
const FULL = 0.6;

/** The cost of one request, in µs of processor time. */
interface Cost {
  readonly node: number;
  readonly postgres: number;
  /** The cost of a write for every other node on the same database. */
  readonly others: number;
}

const mainThread = (pid: number): number =>
  Number(readFileSync(`/proc/${pid}/task/${pid}/schedstat`, 'utf8').split(' ')[0]) / 1000;

async function measure(ground: Ground, pinning: Pinning | undefined): Promise<Map<string, Cost>> {
  pinProcess(pinning?.others, process.pid);
  pinProcess(pinning?.others, ground.postgres.pid);
  const generator = chooseGenerator(pinning?.others);
  const nodes: { url: string; pid: number }[] = [];
  const firstRun = path.join(ground.folder, 'first-run.json');
  for (const number of [0, 1]) {
    const folder = path.join(ground.folder, `node-${number}`);
    mkdirSync(folder);
    const env = {
      SECRETS_SEAL_KEY: '11'.repeat(32),
      SECRETS_FIRST_RUN_FILE: firstRun,
      SECRETS_AUDIT_FILE: path.join(folder, 'audit.log'),
    };
    nodes.push(await startServiceProcess('secrets', env, { ...ground, cores: pinning?.server }, 'secrets'));
  }
  const [node, other] = nodes as [{ url: string; pid: number }, { url: string; pid: number }];
  const { root_token: token } = JSON.parse(readFileSync(firstRun, 'utf8')) as { root_token: string };
  const headers = { 'X-Service-Token': token, 'Content-Type': 'application/json' };
  await ask(`${node.url}/v1/sys/mounts/kv`, 'POST', headers, { type: 'kv', options: { version: '2' } });
  await sleep(500);
  const paths = Array.from({ length: 200 }, (_, i) => `/v1/kv/data/app/${i}`);
  const body = '{"data":{"username":"app","password":"staple {n}"}}';
  const loads: Record<string, Load> = {
    'kv write': { method: 'POST', paths, headers, body },
    'kv read': { method: 'GET', paths, headers },
    'token create': {
      method: 'POST',
      paths: ['/v1/auth/token/create'],
      headers,
      body: '{"policies":["default"],"ttl":"1h"}',
    },
  };
  const url = ground.postgres.url('secrets');
  const costs = new Map<string, Cost>();
  for (const [name, load] of Object.entries(loads)) {
    await generator.run(node.url, load, CONNECTIONS, 1, 1e6);
    const idle = await idleMicros(other.pid);
    await forgetStatements(url);
    const before = [mainThread(node.pid), mainThread(other.pid)] as const;
    const { requests } = await generator.run(node.url, load, CONNECTIONS, SECONDS, 2e6);
    // Other nodes process the last commits a little later.
    await sleep(1000);
    const own = mainThread(node.pid) - before[0];
    const others = mainThread(other.pid) - before[1] - idle * (SECONDS + 1);
    const { postgres } = await statementsOf(url, requests);
    const each = (micros: number) => Math.max(0, micros / requests);
    costs.set(name, { node: each(own), postgres, others: each(others) });
  }
  return costs;
}

/** The cost of an idle second of a node, in µs. */
async function idleMicros(pid: number): Promise<number> {
  const before = mainThread(pid);
  await sleep(2000);
  return (mainThread(pid) - before) / 2;
}

/** Requests a second that several nodes on one database can answer together; `writes` is the share of writes. */
function carried(costs: ReadonlyMap<string, Cost>, nodes: number, writes: number, postgresCores: number) {
  const [read, write] = [costs.get('kv read')!, costs.get('kv write')!];
  const own = read.node * (1 - writes) + write.node * writes;
  // Each node also processes the writes of all others.
  const perNode = own / nodes + (write.others * writes * (nodes - 1)) / nodes;
  const postgres = (read.postgres * (1 - writes) + write.postgres * writes) / postgresCores;
  const byNodes = (FULL * 1e6) / perNode;
  const byPostgres = (FULL * 1e6) / Math.max(postgres, 0.001);
  return { rate: Math.min(byNodes, byPostgres), bound: byNodes < byPostgres ? 'nodes' : 'PostgreSQL' };
}

const round = (rate: number): string => (Math.round(rate / 100) * 100).toLocaleString('en-US');

function capacityTable(costs: ReadonlyMap<string, Cost>): string {
  const counts = [1, 2, 4, 8, 16];
  const rows = [0.01, 0.1, 0.5].map((writes) => {
    const cells = counts.map((nodes) => {
      const { rate, bound } = carried(costs, nodes, writes, 16);
      return `${round(rate)}${bound === 'nodes' ? '' : ' (PostgreSQL)'}`;
    });
    return `| ${writes * 100} % | ${cells.join(' | ')} |`;
  });
  return [
    `| writes | ${counts.map((n) => `${n} process${n > 1 ? 'es' : ''}`).join(' | ')} |`,
    `|---|${counts.map(() => '--:|').join('')}`,
    ...rows,
  ].join('\n');
}

function fleetTable(): string {
  const base: Fleet = { cells: 10, organizations: 20_000, days: 365, demand: 5, skew: 0.9, change: 0.02, full: 0.75 };
  const placements: Placement[] = ['digest', 'least used', 'least used, then moved'];
  const fleets: [string, Fleet][] = [
    ['20,000 organizations in 10 cells, half used', base],
    ['the same, two thirds used', { ...base, demand: 6.7 }],
    ['the same, loads that change by 5 % a day', { ...base, change: 0.05 }],
    ['a few large ones (skew 1.1)', { ...base, skew: 1.1, demand: 4 }],
    ['200,000 in 100 cells, half used', { ...base, cells: 100, organizations: 200_000, demand: 50, days: 90 }],
  ];
  const rows = fleets.flatMap(([name, fleet]) =>
    placements.map((placement) => {
      const { peak, overloaded, moves, largest } = play(fleet, placement, 20_261_128);
      const share = (part: number) => `${(part * 100).toFixed(part < 0.1 ? 1 : 0)} %`;
      return `| ${name} | ${placement} | ${share(peak)} | ${share(overloaded)} | ${(moves / fleet.days).toFixed(2)} | ${share(largest)} |`;
    }),
  );
  return [
    '| fleet | placement | fullest cell | days of cells above 100 % | moves a day | largest organization |',
    '|---|---|--:|--:|--:|--:|',
    ...rows,
  ].join('\n');
}

async function main(args: string[]): Promise<void> {
  const { values } = parseArgs({ args, options: { write: { type: 'boolean', default: false } } });
  const settings = { ...countsStatements, max_connections: '200' };
  const pinning = choosePinning();
  const costs = await onGround(settings, (ground) => measure(ground, pinning));
  const measured = [...costs].map(
    ([name, { node, postgres, others }]) =>
      `| ${name} | ${node.toFixed(0)} | ${postgres.toFixed(0)} | ${others.toFixed(1)} |`,
  );
  const text = [
    `${machine()}; ${aboutPinning(pinning)}; ${CONNECTIONS} connections.`,
    '## What a request costs, in µs of processor time\n\n| | the node that answers | PostgreSQL | each other node |\n|---|--:|--:|--:|',
    measured.join('\n'),
    `## What nodes on one database carry\n\nRequests a second with every processor ${FULL * 100} % busy, PostgreSQL on 16 of them:`,
    capacityTable(costs),
    '## How organizations fill cells\n\nSimulated; shares of what a cell carries:',
    fleetTable(),
  ]
    .join('\n\n')
    .replace('--:|\n\n|', '--:|\n|');
  show('What nodes, a database and cells carry', text, { write: values.write, name: 'cells' });
}

runProgram(usage, main);
