#!/usr/bin/env node
// `npm test`: types, lint, what is unused, then the Jest tests (architecture, schema drift, conformance and OpenAPI among them) in
// parallel on a temporary PostgreSQL. Plain Node, so that it works before any package is installed.
//   --thorough          instead: `*.thorough.test.ts`, which go over every operation, walk every guide, or kill processes
//   --long              both, their long forms, and every mutant of the specifications' rows
//   --interop           instead: sessions of real clients (apps/*/test/interop)
//   --system-postgres   on the PostgreSQL installed on this machine, in a temporary folder; skipped when there is none
//   --and-thorough=NAME|NAME  with the thorough ones, but for those so named; of walks what changed and a share of the rest
//                     (packages/testing/src/slice.ts), since KEYSTEAD_CHANGED_SINCE where that names a commit
//   --second-try      files that fail, if few, run once more by themselves; what passes then is named
import { spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { availableParallelism, tmpdir } from 'node:os';
import path from 'node:path';
import { build, prepare, requireNode, root, run, toolEnvironment } from './bootstrap.mjs';
import { giveUp, step } from './progress.mjs';
import { chances, countsOf, failures, together, worthASecondTry } from './second-try.mjs';
import { findSystemPostgres } from './system-postgres.mjs';

const own = ['--long', '--thorough', '--interop', '--second-try', '--system-postgres'];
const args = process.argv.slice(2);
/** Flags of Node that run a program from its sources. */
const fromSource = ['--conditions=source', `--require=${path.join(root, 'packages/testing/jest/from-source.cjs')}`];
const wants = (name) => args.includes(name);
const [, leftOut] = args.map((arg) => /^--and-thorough=(.*)$/.exec(arg)).find(Boolean) ?? [];
const forJest = args.filter((arg) => !own.includes(arg) && !arg.startsWith('--and-thorough='));

/** A check that Jest does not do; it counts as one test. */
async function check(work) {
  try {
    await work();
    return { passed: 1, failed: 0, skipped: 0 };
  } catch (error) {
    if (error?.name !== 'Stop') throw error;
    process.stderr.write(`${error.details.trimEnd()}\nfailed: ${error.message}\n`);
    return { passed: 0, failed: 1, skipped: 0 };
  }
}

/** Runs Jest; answers its exit code and its report, which a crash leaves out. */
async function runJest(jestArgs, extra) {
  const box = mkdtempSync(path.join(tmpdir(), 'keystead-jest-'));
  const file = path.join(box, 'report.json');
  // A test file spends much of its time waiting: for PostgreSQL, for processes it started, for a clock.
  const workers = Number(process.env.KEYSTEAD_TEST_WORKERS) || availableParallelism() + 2;
  const command = [
    // The collector took a ninth of a worker's time: most of what tests make lives for one request.
    '--max-semi-space-size=64',
    path.join(root, 'node_modules', 'jest', 'bin', 'jest.js'),
    `--maxWorkers=${workers}`,
    '--workerIdleMemoryLimit=1500MB',
    '--json',
    `--outputFile=${file}`,
    ...jestArgs,
  ];
  try {
    const code = await new Promise((resolve, reject) => {
      // With --json and a file the report goes to the file; what a person reads comes on the error stream.
      const child = spawn(process.execPath, command, {
        cwd: root,
        env: { ...toolEnvironment(), ...extra },
        stdio: ['ignore', 'ignore', 'inherit'],
      });
      child.once('error', reject);
      child.once('close', resolve);
    });
    return { code, report: existsSync(file) ? JSON.parse(readFileSync(file, 'utf8')) : undefined };
  } finally {
    rmSync(box, { recursive: true, force: true });
  }
}

async function jest(jestArgs, extra) {
  const first = await runJest(jestArgs, extra);
  const files = wants('--second-try') ? worthASecondTry(first.report) : [];
  if (files.length === 0) {
    for (const line of failures(first.report, undefined, root)) process.stdout.write(`${line}\n`);
    return countsOf(first.report, first.code);
  }
  process.stdout.write(`\nonce more, by themselves: ${files.map((file) => path.relative(root, file)).join(', ')}\n`);
  const again = ['--maxWorkers=1', '--runTestsByPath', ...files];
  const flags = extra.KEYSTEAD_INTEROP ? ['--testMatch', '**/*.interop.test.ts'] : [];
  const second = await runJest([...flags, ...again], extra);
  for (const line of chances(first.report, second.report, root)) process.stdout.write(`${line}\n`);
  for (const line of failures(first.report, second.report, root)) process.stdout.write(`${line}\n`);
  return together(first.report, second.report, second.code);
}

/** Plays every mutant of the rows of the specifications; its last line has the counts. */
function mutants() {
  const command = [...fromSource, path.join('docs', 'internals', 'mutants', 'run.ts')];
  return new Promise((resolve, reject) => {
    const stdio = ['ignore', 'pipe', 'inherit'];
    const child = spawn(process.execPath, command, { cwd: root, env: toolEnvironment(), stdio });
    let said = '';
    child.stdout.on('data', (text) => {
      process.stdout.write(text);
      said = `${said}${text}`.slice(-200);
    });
    child.once('error', reject);
    child.once('close', () => {
      const [, passed, failed] = /(\d+) passed, (\d+) failed\s*$/.exec(said) ?? ['', '0', '1'];
      resolve({ passed: Number(passed), failed: Number(failed), skipped: 0 });
    });
  });
}

/**
 * The checks besides Jest, in two rows that need about as long: most of it keeps one processor busy. Tests run what is
 * built.
 */
function beforeTests() {
  const program = (name, ...given) => run(path.join(root, 'node_modules', '.bin', name), given);
  // What runs in browsers has other types around it, some of them made from what the service says of itself.
  const made = [...fromSource, path.join('apps', 'console', 'types.mjs'), '--check'];
  const consoleTypes = async () => {
    await run(process.execPath, made);
    for (const place of ['apps/console', 'apps/console/test']) await program('tsc', '-p', `${place}/tsconfig.json`);
  };
  return [
    [
      // As one program: what packages share is read once.
      () => step('checking types', () => program('tsc', '-p', 'tsconfig.json')),
      () => step('checking types of the console', consoleTypes),
      () => step('checking style', () => program('biome', 'ci', '--colors=off', '.')),
    ],
    [() => step('looking for what is unused', () => program('knip', '--no-progress')), build],
  ];
}

/** One check after the other; answers what each counts. */
async function inTurn(works) {
  const counts = [];
  for (const work of works) counts.push(await check(work));
  return counts;
}

/** Which of the two parts of the tests; named files run whichever part they belong to. */
function tier() {
  if (wants('--thorough')) return ['--testMatch', '**/*.thorough.test.ts', '--'];
  if (wants('--long') || forJest.length > 0) return [];
  const apart = leftOut === undefined ? 'thorough\\.test\\.ts$' : `/(${leftOut})\\.thorough\\.test\\.ts$`;
  return ['--testPathIgnorePatterns', '/node_modules/', '\\.interop\\.test\\.ts$', apart, '--'];
}

async function main() {
  requireNode();
  await prepare();
  const extra = {
    ...(wants('--long') ? { KEYSTEAD_LONG: '1' } : {}),
    ...(leftOut === undefined ? {} : { KEYSTEAD_SLICE: '1' }),
  };
  if (wants('--system-postgres')) {
    const bin = findSystemPostgres();
    if (!bin) {
      process.stdout.write('skipped: PostgreSQL 15 or newer is not installed on this machine\n0 passed, 0 failed\n');
      return 0;
    }
    process.stdout.write(`on the PostgreSQL in ${bin}\n`);
    extra.KEYSTEAD_TEST_POSTGRES_BIN = bin;
  }
  const counts = [];
  if (wants('--interop')) {
    const match = ['--testMatch', '**/*.interop.test.ts', '--passWithNoTests', '--'];
    counts.push(await jest([...match, ...forJest], { ...extra, KEYSTEAD_INTEROP: '1' }));
  } else {
    if (forJest.length === 0 && !wants('--thorough')) {
      for (const found of await Promise.all(beforeTests().map(inTurn))) counts.push(...found);
    } else if (wants('--thorough')) await build();
    counts.push(await jest([...tier(), ...forJest], extra));
    if (wants('--long') && forJest.length === 0) counts.push(await mutants());
  }
  const sum = (name) => counts.reduce((total, one) => total + one[name], 0);
  const skipped = sum('skipped') > 0 ? `, ${sum('skipped')} skipped` : '';
  process.stdout.write(`\n${sum('passed')} passed, ${sum('failed')} failed${skipped}\n`);
  return sum('failed') === 0 ? 0 : 1;
}

main().then((code) => process.exit(code), giveUp);
