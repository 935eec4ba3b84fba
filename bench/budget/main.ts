import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import type { EmbeddedServer } from '@keystead/postgres';
import { benchRoot } from '../src/child';
import { enginesFamily } from '../src/engines-family';
import type { Setting } from '../src/family';
import { median } from '../src/figures';
import { startHttp } from '../src/http-family';
import { chooseGenerator, type Generator } from '../src/load';
import { choosePinning, machine, type Pinning, pinProcess } from '../src/machine';
import { aboutPinning, type Ground, onGround, runProgram, show } from '../src/program';
import { registryFamily } from '../src/registry-family';
import type { Scenario } from '../src/scenario';
import { secretsFamily } from '../src/secrets-family';
import { countsStatements, forgetStatements, statementsOf } from '../src/statements';
import { workspacesFamily } from '../src/workspaces-family';

const usage = `npm run bench -- --budget [--only NAME]... [--against TREE] [--rounds N] [--parts] [--keep] [--write]

  --only NAME     only requests whose name contains NAME; may be repeated
  --against TREE   another built tree, whose services are measured in turns with these
  --rounds N      rounds of which the median is shown (5)
  --parts         also show the statements of each request, and what allocates, the dearest first
  --keep          take what was measured as the budget from now on
  --write         also write the table to bench/results/

What a request costs, in figures that other programs on the machine hardly touch: processor time of the service's main thread as a
multiple of what bare node:http takes in the same round, bytes allocated, statements, and time of PostgreSQL.
Ends with 1 where a request costs more than bench/budget/budget.json allows.`;

/** The cost of a request. */
interface Cost {
  /** Processor time of the main thread, as a multiple of bare node:http. */
  readonly bare: number;
  readonly kilobytes: number;
  readonly statements: number;
  /** Time in PostgreSQL, in µs. */
  readonly postgres: number;
}
type Budget = Record<string, Cost>;

const CONNECTIONS = 32;
const SECONDS = 2;
const budgetFile = path.join(benchRoot, 'budget', 'budget.json');
const without = ['search', 'lock', 'OpenAPI', 'cas 0', 'approle', 'database:', 'ACME', 'of a request'];
/** How far a figure may exceed its budget: by a share of the budget, or by a fixed amount if the figure is small. */
const tolerance: Record<keyof Cost, readonly [share: number, amount: number]> = {
  bare: [0.15, 0.2],
  kilobytes: [0.05, 1],
  statements: [0.05, 0.05],
  postgres: [0.25, 10],
};

/** Processor time that the main thread of a process has used, in µs. */
function mainThreadMicros(pid: number): number {
  return Number(readFileSync(`/proc/${pid}/task/${pid}/schedstat`, 'utf8').split(' ')[0]) / 1000;
}

async function microsPerRequest(scenario: Pick<Scenario, 'prepare' | 'run'>, pid: number): Promise<number> {
  await scenario.prepare?.(CONNECTIONS, SECONDS);
  const before = mainThreadMicros(pid);
  const { requests } = await scenario.run(CONNECTIONS, SECONDS);
  return (mainThreadMicros(pid) - before) / requests;
}

async function kilobytesPerRequest(
  { prepare, run, pid = 0 }: Scenario,
  folder: string,
  showsEach: boolean,
): Promise<number> {
  await prepare?.(CONNECTIONS, SECONDS);
  const file = path.join(folder, String(pid));
  rmSync(file, { force: true });
  process.kill(pid, 'SIGUSR2');
  await sleep(200);
  const { requests } = await run(CONNECTIONS, SECONDS);
  process.kill(pid, 'SIGUSR2');
  for (let waited = 0; waited < 10_000; waited += 50) {
    await sleep(50);
    try {
      const functions = Object.entries(JSON.parse(readFileSync(file, 'utf8')) as Record<string, number>);
      functions.sort(([, a], [, b]) => b - a);
      for (const [name, bytes] of showsEach ? functions.slice(0, 40) : []) {
        process.stderr.write(`  ${(bytes / requests).toFixed(0).padStart(6)} bytes  ${name}\n`);
      }
      return functions.reduce((sum, [, bytes]) => sum + bytes, 0) / requests / 1000;
    } catch {
      // The file is not written yet, or only in part.
    }
  }
  throw new Error(`process ${pid} did not say what it allocated`);
}

/** Statements of a request, and their time in PostgreSQL in µs. */
async function inPostgres(
  { prepare, run }: Scenario,
  url: string,
  parts: boolean,
): Promise<Pick<Cost, 'statements' | 'postgres'>> {
  await prepare?.(CONNECTIONS, SECONDS);
  await forgetStatements(url);
  const { requests } = await run(CONNECTIONS, SECONDS);
  return statementsOf(url, requests, parts ? 12 : 0);
}

/** The requests that have a budget. The measured services are those of a source tree. */
async function scenariosOf(setting: Setting): Promise<Scenario[]> {
  const isSelected = (name: string) => setting.isSelected(name) && !without.some((part) => name.includes(part));
  const scenarios: Scenario[] = [];
  for (const family of [secretsFamily, enginesFamily, workspacesFamily, registryFamily]) {
    scenarios.push(...(await family({ ...setting, isSelected })));
  }
  return scenarios.filter(({ name }) => isSelected(name));
}

interface Tree {
  readonly scenarios: readonly Scenario[];
  url(name: string): string;
}

async function startTree(tree: string | undefined, ground: Ground, setting: Omit<Setting, 'tree'>): Promise<Tree> {
  const suffix = tree === undefined ? '' : '_against';
  const postgres = { ...ground.postgres, url: (name: string) => ground.postgres.url(`${name}${suffix}`) };
  const folder = path.join(ground.folder, `tree${suffix}`);
  mkdirSync(folder, { recursive: true });
  const scenarios = await scenariosOf({ ...setting, folder, postgres: postgres as EmbeddedServer, tree });
  const databaseOf = (name: string) => /^(secrets|workspaces|registry):/.exec(name)?.[1] ?? 'engines';
  return { scenarios, url: (name) => postgres.url(databaseOf(name)) };
}

interface Options {
  readonly only: readonly string[];
  readonly rounds: number;
  readonly parts: boolean;
  readonly against?: string;
}

async function measureAll(
  ground: Ground,
  pinning: Pinning | undefined,
  { only, rounds, parts, against }: Options,
): Promise<Map<string, Cost[]>> {
  pinProcess(pinning?.others, process.pid);
  pinProcess(pinning?.others, ground.postgres.pid);
  const generator: Generator = chooseGenerator(pinning?.others);
  const isSelected = (name: string) => only.length === 0 || only.some((part) => name.includes(part));
  const setting = { ...ground, generator, cores: pinning?.server, isSelected };
  const bareServer = await startHttp('bare', pinning?.server);
  ground.atEnd(() => bareServer.stop());
  process.env.BENCH_NODE_ARGUMENTS = `--require ${path.join(benchRoot, 'budget', 'allocation.cjs')}`;
  process.env.BENCH_ALLOCATION_FOLDER = ground.folder;
  const trees = [await startTree(undefined, ground, setting)];
  if (against !== undefined) trees.push(await startTree(path.resolve(against), ground, setting));
  const bareLoad = { method: 'GET', paths: ['/'] };
  const bare = { run: (clients: number, s: number) => generator.run(bareServer.url, bareLoad, clients, s, 0) };
  const costs = new Map<string, Cost[]>();
  for (const [at, { name }] of trees[0]!.scenarios.entries()) {
    process.stderr.write(`${name}\n`);
    const ratios = trees.map(() => [] as number[]);
    for (const { scenarios } of trees) {
      await scenarios[at]!.prepare?.(CONNECTIONS, SECONDS);
      await scenarios[at]!.run(CONNECTIONS, SECONDS);
    }
    for (let round = 0; round < rounds; round++) {
      const base = await microsPerRequest(bare, bareServer.pid);
      for (const [index, { scenarios }] of trees.entries()) {
        ratios[index]!.push((await microsPerRequest(scenarios[at]!, scenarios[at]!.pid!)) / base);
      }
    }
    const found: Cost[] = [];
    for (const [index, { scenarios, url }] of trees.entries()) {
      const scenario = scenarios[at]!;
      const database = await inPostgres(scenario, url(name), parts);
      const kilobytes = await kilobytesPerRequest(scenario, ground.folder, parts);
      found.push({ bare: median(ratios[index]!), kilobytes, ...database });
    }
    costs.set(name, found);
  }
  return costs;
}

const shown = ({ bare, kilobytes, statements, postgres }: Cost) =>
  `${bare.toFixed(1)} | ${kilobytes.toFixed(1)} | ${statements.toFixed(2)} | ${postgres.toFixed(0)}`;

/** The figures of a request that are above their budget. */
function broken(cost: Cost, allowed: Cost | undefined): string[] {
  if (allowed === undefined) return [];
  return (Object.keys(tolerance) as (keyof Cost)[]).filter((figure) => {
    const [share, amount] = tolerance[figure];
    return cost[figure] > Math.max(allowed[figure] * (1 + share), allowed[figure] + amount);
  });
}

async function main(args: string[]): Promise<boolean> {
  const { values } = parseArgs({
    args,
    options: {
      only: { type: 'string', multiple: true, default: [] },
      against: { type: 'string' },
      rounds: { type: 'string', default: '5' },
      parts: { type: 'boolean', default: false },
      keep: { type: 'boolean', default: false },
      write: { type: 'boolean', default: false },
    },
  });
  const settings = { max_connections: '200', ...countsStatements };
  const options = {
    only: values.only,
    against: values.against,
    rounds: Number(values.rounds),
    parts: values.parts,
  };
  const pinning = choosePinning();
  const costs = await onGround(settings, (ground) => measureAll(ground, pinning, options));
  const budget = JSON.parse(readFileSync(budgetFile, 'utf8')) as Budget;
  const rows: string[] = [];
  let good = true;
  for (const [name, [cost, other]] of costs) {
    const exceeded = broken(cost!, budget[name]);
    good &&= exceeded.length === 0;
    rows.push(
      `| ${name} | ${shown(cost!)} | ${exceeded.join(', ')} |${other === undefined ? '' : ` ${shown(other)} |`}`,
    );
    budget[name] = cost!;
  }
  const rounded = (_key: string, value: unknown) => (typeof value === 'number' ? Number(value.toPrecision(3)) : value);
  if (values.keep) writeFileSync(budgetFile, `${JSON.stringify(budget, rounded, 2)}\n`);
  const figures = '× bare | kB | statements | PostgreSQL µs';
  const columns = values.against === undefined ? '' : ` against: ${figures} |`;
  const head = `| request | ${figures} | above its budget |${columns}`;
  const line = head.replaceAll(/[^|]+/g, '---');
  const about = `${machine()}; ${aboutPinning(pinning)}; ${CONNECTIONS} connections, median of ${options.rounds} rounds`;
  show('What requests cost', `${about}\n\n${[head, line, ...rows].join('\n')}`, {
    write: values.write,
    name: 'budget',
  });
  return good;
}

runProgram(usage, main);
