#!/usr/bin/env node
import { asker } from './ask';
import { asProblem } from './failure';
import { exitCodes } from './problem';
import { run } from './program';

const err = (text: string) => {
  process.stderr.write(text);
};

// The reader of a pipe may stop early: `keystead list … | head`.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code === 'EPIPE') process.exit(0);
  err(`standard output cannot be written: ${asProblem(error).message}\n`);
  process.exit(exitCodes.file);
});

run(process.argv.slice(2), {
  env: process.env,
  out: (text) => {
    process.stdout.write(text);
  },
  err,
  terminal: { out: process.stdout.isTTY, err: process.stderr.isTTY },
  columns: () => process.stderr.columns,
  ask: asker(process.stdin, err),
}).then(
  (code) => {
    process.exitCode = code;
  },
  (error: Error) => {
    const { message, exitCode } = asProblem(error);
    err(`${message}\n`);
    process.exitCode = exitCode;
  },
);
