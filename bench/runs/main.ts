import { execFile, execFileSync, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { mkdirSync, openSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { benchRoot } from '../src/child';
import { median } from '../src/figures';
import { machine } from '../src/machine';
import { type Ground, onGround, runProgram } from '../src/program';
import { ask, startServiceProcess } from '../src/service';
import { countsStatements, forgetStatements, statementsOf } from '../src/statements';

const usage = `npm run bench -- --runs [ROUNDS [RUNS]]

How long a remote plan that changes nothing takes compared with the same plan at home, what of it the worker takes for itself, how long
RUNS that are queued at once take on four workers compared with the tool itself, what processor time and memory that needs. Needs terraform
or tofu on the PATH. The worker is an agent of the installation, as with npm start; RUN_SPEED_OVER=database: one with the database.
A plan has ten resources, or RUN_SPEED_RESOURCES. RUN_SPEED_PARTS=1: also the statements of a run.`;

const run = promisify(execFile);
const workers = 4;
const body = (type: string, attributes: object, relationships: object = {}) => ({
  data: { type, attributes, relationships },
});
type Made = { data: { id: string; attributes: Record<string, string> } };

const resources = Array.from(
  { length: Number(process.env.RUN_SPEED_RESOURCES ?? 10) },
  (_, i) => `resource "terraform_data" "r${i}" { input = ${i} }\n`,
).join('');

interface Finished {
  readonly ms: number;
  readonly toolMs?: number;
  readonly run: string;
}

/** A service, and its worker in a separate process. */
async function begin(ground: Ground) {
  const sealKey = randomBytes(32).toString('hex');
  const firstRun = path.join(ground.folder, 'first-run.json');
  const agentToken = randomBytes(32).toString('hex');
  const env = {
    WORKSPACES_SEAL_KEY: sealKey,
    WORKSPACES_FIRST_RUN_FILE: firstRun,
    WORKSPACES_RATE_LIMIT: '0',
    WORKSPACES_AGENT_TOKEN: agentToken,
  };
  const { url, pid: service } = await startServiceProcess('workspaces', env, { ...ground, cores: undefined });
  const { token } = JSON.parse(readFileSync(firstRun, 'utf8')) as { token: string };
  const log = path.join(ground.folder, 'worker.log');
  const output = openSync(log, 'a');
  const worker = spawn(
    process.execPath,
    [
      ...(process.env.BENCH_WORKER_ARGUMENTS ?? '').split(' ').filter(Boolean),
      path.resolve(benchRoot, '../apps/workspaces/dist/worker-main.js'),
    ],
    {
      env: {
        PATH: process.env.PATH,
        NODE_ENV: 'production',
        ...(process.env.RUN_SPEED_OVER === 'database'
          ? { WORKSPACES_SEAL_KEY: sealKey, WORKSPACES_DATABASE_URL: ground.postgres.url('workspaces') }
          : { AGENT_ADDRESS: url, AGENT_TOKEN: agentToken }),
        WORKSPACES_WORKER_JOBS: String(workers),
        WORKSPACES_WORKER_SCRATCH: path.join(ground.folder, 'scratch'),
      },
      stdio: ['ignore', output, output],
    },
  );
  ground.atEnd(() => new Promise((resolve) => worker.once('exit', resolve).kill('SIGTERM')));
  while (!readFileSync(log, 'utf8').includes('waiting for runs')) await sleep(50);
  const lines = (word: string) =>
    readFileSync(log, 'utf8')
      .split('\n')
      .filter((line) => line.includes(`"${word}"`))
      .map((line) => JSON.parse(line));
  const isolation = lines('waiting for runs')[0]?.isolation as string;
  return { url, token, pid: worker.pid!, service, isolation, finished: () => lines('finished') as Finished[] };
}

const memoryKib = (pid: number, name: 'VmRSS' | 'VmHWM'): number =>
  Number(new RegExp(`^${name}:\\s+(\\d+)`, 'm').exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]);

/**
 * Processor time of a process, by default with all children that it has waited for; a busy machine hardly lengthens it.
 */
const processorMs = (pid: number, children = true): number => {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return fields.slice(11, children ? 15 : 13).reduce((sum, ticks) => sum + Number(ticks) * 10, 0);
};

/** Processor time of a PostgreSQL: of its processes, and of those that have ended. */
function postgresMs(ground: Ground): number {
  const folder = path.join(ground.folder, 'postgres');
  const postmaster = Number(readFileSync(path.join(folder, 'postmaster.pid'), 'utf8').split('\n')[0]);
  const children = readFileSync(`/proc/${postmaster}/task/${postmaster}/children`, 'utf8').split(' ').filter(Boolean);
  return processorMs(postmaster) + children.reduce((sum, pid) => sum + processorMs(Number(pid)), 0);
}

const row = (what: string, value: number, unit: string) =>
  process.stdout.write(`| ${what} | ${value.toFixed(unit === 's' ? 2 : 0)} ${unit} |\n`);

runProgram(usage, (args) =>
  onGround(countsStatements, async (ground) => {
    const [rounds = 7, runs = 50] = args.map(Number);
    const tool = execFileSync('sh', ['-c', 'command -v terraform || command -v tofu'], { encoding: 'utf8' }).trim();
    const { url, token, pid, service, isolation, finished } = await begin(ground);
    const api = `${url}/api/v2`;
    const headers = { Authorization: `Bearer ${token}`, 'Content-Type': 'application/vnd.api+json' };
    const create = <T = Made>(at: string, sent: object) => ask<T>(`${api}/${at}`, 'POST', headers, sent);
    await create('organizations', body('organizations', { name: 'speed', email: 'speed@example.com' }));
    const settings = path.join(ground.folder, 'cli.tfrc');
    const services = `{ "tfe.v2" = "${api}/", "tfe.v2.1" = "${api}/", "state.v2" = "${api}/" }`;
    writeFileSync(
      settings,
      `disable_checkpoint = true\nhost "keystead.local" {\n  services = ${services}\n}\ncredentials "keystead.local" { token = "${token}" }\n`,
    );
    const env = { PATH: process.env.PATH, HOME: ground.folder, TF_CLI_CONFIG_FILE: settings, TF_IN_AUTOMATION: '1' };
    const cloud = `terraform {\n  cloud {\n    hostname = "keystead.local"\n    organization = "speed"\n    workspaces { name = "one" }\n  }\n}\n`;
    const at = (name: string, text: string): string => {
      const folder = path.join(ground.folder, name);
      mkdirSync(folder);
      writeFileSync(path.join(folder, 'main.tf'), text);
      return folder;
    };
    const places = { home: at('home', resources), remote: at('remote', cloud + resources) };
    const tf = (cwd: string, ...more: string[]) => run(tool, [...more, '-no-color'], { cwd, env });
    for (const folder of Object.values(places)) {
      await tf(folder, 'init', '-input=false');
      await tf(folder, 'apply', '-auto-approve', '-input=false');
    }
    const seconds = { home: [] as number[], remote: [] as number[] };
    const before = finished().length;
    const beforeMs = processorMs(pid);
    for (let round = 0; round < rounds; round++) {
      for (const place of ['home', 'remote'] as const) {
        const startedMs = performance.now();
        const { stdout } = await tf(places[place], 'plan', '-input=false');
        if (!stdout.includes('No changes')) throw new Error(stdout);
        seconds[place].push((performance.now() - startedMs) / 1000);
      }
    }
    const jobs = finished().slice(before);
    process.stdout.write(`${machine()}; ${isolation}; ${path.basename(tool)}\n\n| what | median |\n|---|--:|\n`);
    row('plan at home', median(seconds.home), 's');
    row('remote plan', median(seconds.remote), 's');
    row('remote less home', median(seconds.remote) - median(seconds.home), 's');
    row('processor time of worker and commands, a plan', (processorMs(pid) - beforeMs) / jobs.length, 'ms');
    row('job of the worker, from its claim to its end', median(jobs.map(({ ms }) => ms)), 'ms');
    if (jobs[0]?.toolMs !== undefined) {
      row('of it without commands', median(jobs.map(({ ms, toolMs = 0 }) => ms - toolMs)), 'ms');
    }
    // A service that has just started has no prepared plans yet.
    for (const turn of ['cold', 'warm']) {
      await many({ ground, create, api, headers, runs, tool, env, finished, pid, service, turn });
    }
  }),
);

/** Queues several runs at once, and compares them with the tool without the service. */
async function many(options: {
  ground: Ground;
  create: (at: string, sent: object) => Promise<Made>;
  api: string;
  headers: Record<string, string>;
  runs: number;
  tool: string;
  env: NodeJS.ProcessEnv;
  finished: () => Finished[];
  pid: number;
  service: number;
  turn: string;
}): Promise<void> {
  const { ground, create, api, headers, runs, tool, env, finished, pid, service, turn } = options;
  process.stdout.write(`| **${turn}** | |\n`);
  const packed = execFileSync('tar', [
    '--create',
    '--gzip',
    '--directory',
    path.join(ground.folder, 'home'),
    'main.tf',
  ]);
  const ids: string[] = [];
  for (let i = 0; i < runs; i++) {
    const workspace = (await create('organizations/speed/workspaces', body('workspaces', { name: `${turn}-${i}` })))
      .data.id;
    const version = await create(
      `workspaces/${workspace}/configuration-versions`,
      body('configuration-versions', { 'auto-queue-runs': false }),
    );
    await fetch(version.data.attributes['upload-url']!, { method: 'PUT', body: packed });
    ids.push(`${workspace} ${version.data.id}`);
  }
  const restKib = memoryKib(pid, 'VmRSS');
  writeFileSync(`/proc/${pid}/clear_refs`, '5');
  const before = finished().length;
  const beforeMs = {
    worker: processorMs(pid),
    own: processorMs(pid, false),
    service: processorMs(service),
    postgres: postgresMs(ground),
  };
  await forgetStatements(ground.postgres.url('workspaces'));
  const startedMs = performance.now();
  await Promise.all(
    ids.map((id) => {
      const [workspace, version] = id.split(' ');
      return create(
        'runs',
        body(
          'runs',
          { 'plan-only': true },
          {
            workspace: { data: { type: 'workspaces', id: workspace } },
            'configuration-version': { data: { type: 'configuration-versions', id: version } },
          },
        ),
      );
    }),
  );
  while (finished().length < before + runs) await sleep(50);
  const queuedSeconds = (performance.now() - startedMs) / 1000;
  const most = memoryKib(pid, 'VmHWM');
  const spentMs = {
    commands: processorMs(pid) - processorMs(pid, false) - (beforeMs.worker - beforeMs.own),
    worker: processorMs(pid, false) - beforeMs.own,
    service: processorMs(service) - beforeMs.service,
    postgres: postgresMs(ground) - beforeMs.postgres,
  };
  const jobs = finished().slice(before);
  const parts = process.env.RUN_SPEED_PARTS === undefined ? 0 : 60;
  const { statements } = await statementsOf(ground.postgres.url('workspaces'), runs, parts);
  // The same commands run directly, with the same parallelism and no service around them.
  let next = 0;
  const byHandMs = performance.now();
  const ofHandMs = () => processorMs(process.pid) - processorMs(process.pid, false);
  const handBeforeMs = ofHandMs();
  await Promise.all(
    Array.from({ length: workers }, async () => {
      while (next < runs) {
        const folder = path.join(ground.folder, `hand-${turn}-${next++}`);
        mkdirSync(folder);
        writeFileSync(path.join(folder, 'main.tf'), resources);
        const script =
          '"$1" init -input=false && "$1" plan -input=false -out=plan; "$1" show -json plan & "$1" providers schema -json & wait';
        await run('sh', ['-c', script, 'sh', tool], { cwd: folder, env, maxBuffer: 1e8 });
      }
    }),
  );
  const handSeconds = (performance.now() - byHandMs) / 1000;
  const handMs = ofHandMs() - handBeforeMs;
  row(`${runs} runs queued at once`, queuedSeconds, 's');
  row('the tool by hand, as many at a time', handSeconds, 's');
  row('processor time of the commands, a run', spentMs.commands / runs, 'ms');
  row('processor time of the worker itself, a run', spentMs.worker / runs, 'ms');
  row('processor time of the service, a run', spentMs.service / runs, 'ms');
  row('processor time of PostgreSQL, a run', spentMs.postgres / runs, 'ms');
  row('processor time of the tool by hand, a run', handMs / runs, 'ms');
  row('statements, a run', statements, '');
  const allMs = Object.values(spentMs).reduce((sum, ms) => sum + ms, 0);
  process.stdout.write(`| ratio of processor time | ${(allMs / handMs).toFixed(2)} |\n`);
  process.stdout.write(`| ratio | ${(queuedSeconds / handSeconds).toFixed(2)} |\n`);
  if (jobs[0]?.toolMs !== undefined) {
    const toolSeconds = jobs.reduce((sum, { toolMs = 0 }) => sum + toolMs, 0) / 1000 / workers;
    process.stdout.write(
      `| ratio to the time its commands took in the worker | ${(queuedSeconds / toolSeconds).toFixed(2)} |\n`,
    );
  }
  row('memory of the worker at rest', restKib / 1024, 'MiB');
  row(`more at most, for each of ${workers} jobs`, (most - restKib) / 1024 / workers, 'MiB');
  const ended = await ask<{ data: unknown[] }>(`${api}/organizations/speed/workspaces?page[size]=1`, 'GET', headers);
  if (!ended.data) throw new Error('the service no longer responds');
}
