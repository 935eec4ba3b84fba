import os from 'node:os';
import type { EmbeddedServer } from '@keystead/postgres';
import { chooseGenerator, type Generator } from '../src/load';
import { choosePinning, machine, pinProcess } from '../src/machine';
import { aboutPinning, aboutPostgres, type Ground, onGround, runProgram, show } from '../src/program';
import { compare, loads } from './compare';
import { drain } from './drain';
import { type Installation, installation, seed } from './installation';
import { startNode } from './node';
import { parseScaleOptions, type ScaleOptions, usage } from './options';
import { readPages, readPagesOverDeleted } from './pages';
import { type Line, table } from './table';

const log = (text: string): void => void process.stderr.write(`${text}\n`);

async function run(options: ScaleOptions, { folder, postgres }: Ground): Promise<void> {
  const pinning = choosePinning();
  const generator = chooseGenerator(pinning?.others);
  const lines = await measure(options, folder, postgres, pinning, generator);
  const about =
    `${machine()}\n${await aboutPostgres(postgres.url('postgres'), ' with fsync on and 1 GB of shared buffers')}; ` +
    `load from ${generator.name} at 32 connections; ${aboutPinning(pinning)}` +
    `; median of ${options.rounds}; load average at the end ${os.loadavg()[0]!.toFixed(1)}`;
  show('Scale,', `${about}\n\n${table(lines)}`, { ...options, name: 'scale' });
}

async function measure(
  options: ScaleOptions,
  folder: string,
  postgres: EmbeddedServer,
  pinning: ReturnType<typeof choosePinning>,
  generator: ReturnType<typeof chooseGenerator>,
): Promise<Line[]> {
  const lines: Line[] = [];
  const add: Add = (what, goal, measured, met) => {
    lines.push({ what, goal, measured, met });
    log(`${met ? 'met    ' : 'not met'} ${what}: ${measured}`);
  };
  const { tokens, leases, keys, due, deleted } = options;
  const empty = await installation('empty', { folder, cores: pinning?.server }, postgres);
  const full = await installation('full', { folder, cores: pinning?.server }, postgres);
  if (full.isNew) {
    const seconds = await seed(full, { tokens, leases, keys: 0 });
    add(
      `seed ${amount(leases)} leases and ${amount(tokens)} tokens`,
      '≤ 300 s',
      `${seconds.toFixed(0)} s`,
      seconds <= 300,
    );
    await seed(full, { tokens: 0, leases: 0, keys });
  }
  // From here on PostgreSQL shares the cores with the load, as in the other benchmark.
  pinProcess(pinning?.others, postgres.pid);
  if (options.rounds > 0) await measureBoth(options, empty, full, generator, add);
  const node = await startNode(full);
  try {
    const pages = await readPages(node, full, keys);
    const page = (what: string, { p50Ms, p95Ms, slowestMs }: typeof pages) =>
      add(
        what,
        '≤ 20 ms',
        `p50 ${p50Ms.toFixed(1)}, p95 ${p95Ms.toFixed(1)}, slowest ${slowestMs.toFixed(1)} ms`,
        p95Ms <= 20,
      );
    page(`pages of 1,000 among ${amount(keys)} keys, anywhere`, pages);
    if (deleted > 0) {
      const { first, again } = await readPagesOverDeleted(node, full, { keys, deleted }, generator);
      page(`the first page over ${amount(deleted)} deleted keys`, first);
      page('the same page afterwards', again);
    }
    for (const name of due > 0 ? ['lookup-self', 'cubbyhole write'] : []) {
      const drained = await drain(node, full, loads(full)[name]!, generator, { due, cores: pinning?.others });
      const { before, during } = drained;
      add(
        `${amount(drained.count)} leases due at once end, under ${name}`,
        '≤ 120 s',
        `${drained.seconds.toFixed(0)} s`,
        drained.seconds <= 120,
      );
      add(
        `p99 of ${name} meanwhile`,
        '≤ 2 × before',
        `${(during.p99Ms / before.p99Ms).toFixed(1)} × (${during.p99Ms.toFixed(1)} and ${before.p99Ms.toFixed(1)} ms; ` +
          `${whole(during.requestsPerSecond)} and ${whole(before.requestsPerSecond)} /s)`,
        during.p99Ms <= 2 * before.p99Ms,
      );
    }
  } finally {
    await node.stop();
  }
  return lines;
}

type Add = (what: string, goal: string, measured: string, met: boolean) => void;

async function measureBoth(
  options: ScaleOptions,
  empty: Installation,
  full: Installation,
  generator: Generator,
  add: Add,
): Promise<void> {
  const { readyMore, memoryMore, rates, ...both } = await compare(empty, full, generator, options, log);
  add(
    'ready after start, more than empty',
    '≤ 2,000 ms',
    `${readyMore.toFixed(0)} ms (${both.full.readyMs.toFixed(0)} and ${both.empty.readyMs.toFixed(0)})`,
    readyMore <= 2000,
  );
  add(
    'resident when idle',
    '≤ 150 MB',
    `${both.full.idleMb.toFixed(0)} MB (empty ${both.empty.idleMb.toFixed(0)})`,
    both.full.idleMb <= 150,
  );
  add(
    'resident after load, more than empty',
    '≤ 50 MB',
    `${memoryMore.toFixed(0)} MB (${both.full.loadedMb.toFixed(0)} and ${both.empty.loadedMb.toFixed(0)})`,
    memoryMore <= 50,
  );
  for (const [name, { share, processorShare, ...rate }] of Object.entries(rates)) {
    const of = `${whole(rate.full)} of ${whole(rate.empty)} /s; processor time a request ${processorShare.toFixed(2)} ×`;
    add(`${name}, share of empty`, '≥ 0.90', `${share.toFixed(2)} (${of})`, share >= 0.9);
  }
}

const whole = (value: number): string => Math.round(value).toLocaleString('en');
const amount = (value: number): string => value.toLocaleString('en');

runProgram(usage, (args) => {
  const options = parseScaleOptions(args);
  const settings = { max_connections: '100', shared_buffers: '1GB' };
  return onGround(settings, (ground) => run(options, ground), options.keep);
});
