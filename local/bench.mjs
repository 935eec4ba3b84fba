#!/usr/bin/env node
// `npm run bench`, `npm run bench:scale`, `npm run bench:console`, `npm run bench -- --hostile`, `--budget`, `--cells`
// or `--runs`: builds the measured programs, then runs the bench.
import { spawn } from 'node:child_process';
import path from 'node:path';
import { build, requireNode, root, toolEnvironment } from './bootstrap.mjs';
import { giveUp } from './progress.mjs';

try {
  requireNode();
  await build();
  const options = process.argv.slice(2).filter((one) => one !== '--');
  const other = ['scale', 'hostile', 'console', 'budget', 'cells', 'runs'].find((name) => options[0] === `--${name}`);
  const ofConsole = other === 'console';
  const program = ofConsole
    ? path.join(root, 'apps/console/test/bench.ts')
    : path.join(root, 'bench', other ?? 'src', 'main.ts');
  const flags = ofConsole ? ['--conditions=source', '--require=tsx/cjs'] : ['--import', 'tsx'];
  const child = spawn(process.execPath, [...flags, program, ...options.slice(other ? 1 : 0)], {
    cwd: ofConsole ? root : path.join(root, 'bench'),
    env: toolEnvironment(),
    stdio: 'inherit',
  });
  // The terminal also sends Ctrl-C to the child, which then cleans up. This process waits for the child.
  process.on('SIGINT', () => undefined);
  child.on('exit', (code) => {
    process.exitCode = code ?? 1;
  });
} catch (error) {
  giveUp(error);
}
