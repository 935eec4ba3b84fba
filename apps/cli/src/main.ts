#!/usr/bin/env node
import { asker } from './ask';
import { run } from './program';

const err = (text: string) => {
  process.stderr.write(text);
};

// The reader of a pipe may have seen enough: `keystead list … | head`.
process.stdout.on('error', (error: NodeJS.ErrnoException) => process.exit(error.code === 'EPIPE' ? 0 : 74));

run(process.argv.slice(2), {
  env: process.env,
  out: (text) => {
    process.stdout.write(text);
  },
  err,
  ask: asker(process.stdin, err),
}).then(
  (code) => {
    process.exitCode = code;
  },
  (error: Error) => {
    err(`${error.stack ?? error.message}\n`);
    process.exitCode = 70;
  },
);
