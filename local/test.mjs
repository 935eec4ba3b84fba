#!/usr/bin/env node
// `npm test`: types, lint, unused code, then the Jest tests (architecture, schema drift, conformance and OpenAPI among
// them) in parallel on a temporary PostgreSQL. Plain Node, so that it works before any package is installed.
//   --thorough          only `*.thorough.test.ts`, which try every operation, run every guide, or kill processes
//   --long              both, in their long forms, and every mutant of the specifications' rows
//   --interop           only sessions of real clients (apps/*/test/interop)
//   --system-postgres   uses the PostgreSQL installed on this machine, in a temporary folder; skipped if there is none
//   --and-thorough=NAME|NAME  also the thorough ones, except these; walks run only changed items and a share of the rest
//                       (packages/testing/src/slice.ts). KEYSTEAD_CHANGED_SINCE names the commit to compare with
import { spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { availableParallelism, tmpdir } from 'node:os';
import path from 'node:path';
import { build, prepare, requireNode, root, run, toolEnvironment } from './bootstrap.mjs';
import { countsOf, failures } from './jest-report.mjs';
import { giveUp, step } from './progress.mjs';
import { findSystemPostgres } from './system-postgres.mjs';

const own = ['--long', '--thorough', '--interop', '--system-postgres'];
const args = process.argv.slice(2);
/** Flags of Node that run a program from its sources. */
const fromSource = ['--conditions=source', `--require=${path.join(root, 'packages/testing/jest/from-source.cjs')}`];
const wants = (name) => args.includes(name);
const [, leftOut] = args.map((arg) => /^--and-thorough=(.*)$/.exec(arg)).find(Boolean) ?? [];
const forJest = args.filter((arg) => !own.includes(arg) && !arg.startsWith('--and-thorough='));

/** Runs a check other than Jest, which is counted as one test. */
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

/**
 * Runs Jest; returns its exit code and its report, which is missing after a crash. Its output is held back until `quiet`
 * is over.
 */
async function runJest(jestArgs, extra, quiet) {
  const box = mkdtempSync(path.join(tmpdir(), 'keystead-jest-'));
  const file = path.join(box, 'report.json');
  // The number of jest workers: more than processors, because test files spend much of their time waiting for
  // PostgreSQL, child processes or a clock.
  const workers = Number(process.env.KEYSTEAD_TEST_WORKERS) || availableParallelism() + 2;
  const command = [
    // Without this flag, garbage collection takes a ninth of a worker's time, because most objects live only for one
    // request.
    '--max-semi-space-size=64',
    path.join(root, 'node_modules', 'jest', 'bin', 'jest.js'),
    `--maxWorkers=${workers}`,
    '--workerIdleMemoryLimit=1500MB',
    '--json',
    `--outputFile=${file}`,
    ...(quiet && process.stderr.isTTY ? ['--colors'] : []),
    ...jestArgs,
  ];
  try {
    const code = await new Promise((resolve, reject) => {
      // With --json and a file, the report goes to the file and the readable output to standard error.
      const child = spawn(process.execPath, command, {
        cwd: root,
        env: { ...toolEnvironment(), ...extra },
        stdio: ['ignore', 'ignore', quiet ? 'pipe' : 'inherit'],
      });
      if (quiet) void show(child.stderr, quiet);
      child.once('error', reject);
      child.once('close', resolve);
    });
    await quiet;
    return { code, report: existsSync(file) ? JSON.parse(readFileSync(file, 'utf8')) : undefined };
  } finally {
    rmSync(box, { recursive: true, force: true });
  }
}

/**
 * Passes output on after other checks have printed theirs. The output is read immediately, because a full pipe stops
 * the writer.
 */
async function show(output, quiet) {
  const messages = [];
  const hold = (text) => messages.push(text);
  output.on('data', hold);
  await quiet;
  output.off('data', hold);
  for (const text of messages) process.stderr.write(text);
  output.pipe(process.stderr, { end: false });
}

async function jest(jestArgs, extra, quiet) {
  const { report, code } = await runJest(jestArgs, extra, quiet);
  for (const line of failures(report, root)) process.stdout.write(`${line}\n`);
  return countsOf(report, code);
}

/** Runs every mutant of the specifications' rows; the last line of the output has the counts. */
function mutants() {
  const command = [...fromSource, path.join('docs', 'internals', 'mutants', 'run.ts')];
  return new Promise((resolve, reject) => {
    const stdio = ['ignore', 'pipe', 'inherit'];
    const child = spawn(process.execPath, command, { cwd: root, env: toolEnvironment(), stdio });
    let output = '';
    child.stdout.on('data', (text) => {
      process.stdout.write(text);
      output = `${output}${text}`.slice(-200);
    });
    child.once('error', reject);
    child.once('close', () => {
      const [, passed, failed] = /(\d+) passed, (\d+) failed\s*$/.exec(output) ?? ['', '0', '1'];
      resolve({ passed: Number(passed), failed: Number(failed), skipped: 0 });
    });
  });
}

/** The checks other than Jest and the build, in turn; most use one processor. */
function otherChecks() {
  const program = (name, ...args) => run(path.join(root, 'node_modules', '.bin', name), args);
  // If several checkers ran, each would read the shared types; and with a small heap, garbage would be collected often.
  // Both would take processor time that the tests need.
  const types = (place) =>
    run(path.join(root, 'node_modules', '.bin', 'tsc'), ['-p', place, '--checkers', '1'], { GOGC: '300' });
  // Browser code is compiled with other types, some of them generated from the service's OpenAPI document.
  const typesCheck = [...fromSource, path.join('apps', 'console', 'types.mjs'), '--check'];
  const consoleTypes = async () => {
    await run(process.execPath, typesCheck);
    for (const place of ['apps/console', 'apps/console/test']) await types(`${place}/tsconfig.json`);
  };
  return inTurn([
    // As one program, so that shared packages are read once.
    () => step('checking types', () => types('tsconfig.json')),
    () => step('checking types of the console', consoleTypes),
    () => step('checking style', () => program('biome', 'ci', '--colors=off', '.')),
    () => step('looking for what is unused', () => program('knip', '--no-progress')),
  ]);
}

/** Runs checks one after the other; returns their counts. */
async function inTurn(works) {
  const counts = [];
  for (const work of works) counts.push(await check(work));
  return counts;
}

/** Jest's arguments for the fast or the thorough tests; explicitly named files always run. */
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
    const whole = forJest.length === 0 && !wants('--thorough');
    const checks = whole ? otherChecks() : undefined;
    // Tests need the build, and no other check.
    if (whole) counts.push(await check(build));
    else if (wants('--thorough')) await build();
    counts.push(await jest([...tier(), ...forJest], extra, checks), ...((await checks) ?? []));
    if (wants('--long') && forJest.length === 0) counts.push(await mutants());
  }
  const sum = (name) => counts.reduce((total, one) => total + one[name], 0);
  const skipped = sum('skipped') > 0 ? `, ${sum('skipped')} skipped` : '';
  process.stdout.write(`\n${sum('passed')} passed, ${sum('failed')} failed${skipped}\n`);
  return sum('failed') === 0 ? 0 : 1;
}

main().then((code) => process.exit(code), giveUp);
