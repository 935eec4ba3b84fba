#!/usr/bin/env node
// `npm test`: types, lint, then every Jest test (architecture, schema drift, conformance and OpenAPI among them) in
// parallel on a temporary PostgreSQL. Plain Node, so that it works before any package is installed.
//   --long              also what takes minutes
//   --interop           instead: sessions of real clients (apps/*/test/interop)
//   --system-postgres   on the machine's own PostgreSQL programs, in a temporary folder; skipped when there are none
//   anything else       goes to Jest, for example a path
import { spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { availableParallelism, tmpdir } from 'node:os';
import path from 'node:path';
import { build, prepare, requireNode, root, run, toolEnvironment, turbo } from './bootstrap.mjs';
import { giveUp, step } from './progress.mjs';
import { findSystemPostgres } from './system-postgres.mjs';

const own = ['--long', '--interop', '--system-postgres'];
const args = process.argv.slice(2);
const wants = (name) => args.includes(name);
const forJest = args.filter((arg) => !own.includes(arg));

/** A check that Jest does not do; it counts as one test. */
async function check(work) {
  try {
    await work();
    return { passed: 1, failed: 0, skipped: 0 };
  } catch (error) {
    if (error?.name !== 'Stop') throw error;
    process.stderr.write(`${error.details.trimEnd()}\n`);
    return { passed: 0, failed: 1, skipped: 0 };
  }
}

async function jest(jestArgs, extra) {
  const box = mkdtempSync(path.join(tmpdir(), 'keystead-jest-'));
  const report = path.join(box, 'report.json');
  const workers = Math.max(2, availableParallelism() - 1);
  const command = [
    path.join(root, 'node_modules', 'jest', 'bin', 'jest.js'),
    `--maxWorkers=${workers}`,
    '--workerIdleMemoryLimit=1500MB',
    '--json',
    `--outputFile=${report}`,
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
    return countsOf(report, code);
  } finally {
    rmSync(box, { recursive: true, force: true });
  }
}

/** A suite that could not even be loaded has no tests to fail, and a crash leaves no report: each counts as one. */
function countsOf(report, code) {
  let found;
  try {
    found = JSON.parse(readFileSync(report, 'utf8'));
  } catch {
    return { passed: 0, failed: 1, skipped: 0 };
  }
  const failed = found.numFailedTests + found.numRuntimeErrorTestSuites;
  return {
    passed: found.numPassedTests,
    failed: failed === 0 && code !== 0 ? 1 : failed,
    skipped: found.numPendingTests + found.numTodoTests,
  };
}

async function main() {
  requireNode();
  await prepare();
  const extra = { ...(wants('--long') ? { KEYSTEAD_LONG: '1' } : {}) };
  if (wants('--system-postgres')) {
    const bin = findSystemPostgres();
    if (!bin) {
      process.stdout.write('skipped: this machine has no PostgreSQL 15 or newer of its own\n0 passed, 0 failed\n');
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
    if (forJest.length === 0) {
      counts.push(await check(() => step('checking types', () => turbo(['typecheck', 'typecheck:root']))));
      const biome = path.join(root, 'node_modules', '.bin', 'biome');
      counts.push(await check(() => step('checking style', () => run(biome, ['ci', '--colors=off', '.']))));
      // Some tests run the built programs.
      counts.push(await check(build));
    }
    counts.push(await jest(forJest, extra));
  }
  const sum = (name) => counts.reduce((total, one) => total + one[name], 0);
  const skipped = sum('skipped') > 0 ? `, ${sum('skipped')} skipped` : '';
  process.stdout.write(`\n${sum('passed')} passed, ${sum('failed')} failed${skipped}\n`);
  return sum('failed') === 0 ? 0 : 1;
}

main().then((code) => process.exit(code), giveUp);
