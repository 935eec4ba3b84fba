#!/usr/bin/env node
// `npm run stryker -- keyring auth`: StrykerJS mutates the sources of these parts (parts.mjs) and runs their tests; the
// results are recorded in docs/internals/conformance/stryker.json and shown in stryker.md.
//   --concurrency N   number of test processes; default half of the processors
// Downloads StrykerJS when called. It mutates the sources in place, so they must be committed, and are restored.
import { execFileSync, spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { availableParallelism, tmpdir } from 'node:os';
import path from 'node:path';
import { prepare, root, toolEnvironment } from '../../../../local/bootstrap.mjs';
import { giveUp, Stop } from '../../../../local/progress.mjs';
import { parts } from './parts.mjs';
import { record, summarize } from './report.mjs';

// The last major version that supports Node 20.
const version = '9.5.1';

function readArguments(args) {
  const at = args.indexOf('--concurrency');
  const concurrency = at < 0 ? Math.ceil(availableParallelism() / 2) : Number(args.splice(at, 2)[1]);
  if (!Number.isInteger(concurrency) || concurrency < 1) throw new Stop('--concurrency wants a number of processes.');
  const unknown = args.find((name) => !(name in parts));
  if (unknown !== undefined || args.length === 0) {
    const what = unknown === undefined ? 'Name a part' : `There is no part "${unknown}"`;
    throw new Stop(`${what}: ${Object.keys(parts).join(', ')}.`);
  }
  return { names: args, concurrency };
}

function git(...args) {
  return execFileSync('git', args, { cwd: root, encoding: 'utf8' });
}

/** Globs in git's syntax. */
function pathspecs(globs) {
  return globs.map((glob) => (glob.startsWith('!') ? `:(exclude,glob)${glob.slice(1)}` : `:(glob)${glob}`));
}

/** Runs StrykerJS on one part; returns its report. */
async function alter(name, concurrency) {
  const box = mkdtempSync(path.join(tmpdir(), 'keystead-stryker-'));
  const options = {
    mutate: parts[name].mutate,
    tests: git('ls-files', '-z', '--', ...pathspecs(parts[name].tests))
      .split('\0')
      .filter(Boolean),
    concurrency,
    report: path.join(box, 'report.json'),
    facts: path.join(box, 'facts.json'),
    backup: path.join(box, 'backup'),
  };
  const config = 'docs/internals/mutants/stryker/config.mjs';
  try {
    const code = await new Promise((resolve, reject) => {
      const child = spawn('npx', ['--yes', `--package=@stryker-mutator/core@${version}`, 'stryker', 'run', config], {
        cwd: root,
        env: { ...toolEnvironment(), KEYSTEAD_STRYKER: JSON.stringify(options) },
        stdio: 'inherit',
      });
      child.once('error', reject);
      child.once('close', resolve);
    });
    if (code !== 0 || !existsSync(options.report)) throw new Stop(`StrykerJS ended with exit code ${code}.`);
    return JSON.parse(readFileSync(options.report, 'utf8'));
  } finally {
    rmSync(box, { recursive: true, force: true });
  }
}

async function main() {
  const { names, concurrency } = readArguments(process.argv.slice(2));
  await prepare();
  // Ctrl-C also reaches StrykerJS, which restores the sources; this process waits for it.
  process.on('SIGINT', () => undefined);
  for (const name of names) {
    const sources = pathspecs(parts[name].mutate);
    if (git('status', '--porcelain', '--', ...sources) !== '') {
      throw new Stop(`Commit what you changed in ${name} first: its sources are altered where they are.`);
    }
    try {
      const result = summarize(await alter(name, concurrency));
      record(root, name, result);
      process.stdout.write(`${name}: ${result.killed} of ${result.mutants} mutants killed\n`);
    } finally {
      git('checkout', '--', ...sources);
    }
  }
}

main().catch(giveUp);
