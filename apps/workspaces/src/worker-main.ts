#!/usr/bin/env node
import { createLogger } from '@keystead/server';
import { BadConfig } from './config';

import { describeWorkerConfig, readWorkerConfig, type WorkerConfig } from './worker/config';
import { findMeans, NoWorker } from './worker/means';

const usage = `keystead-workspaces worker: carries out remote runs with terraform or tofu

  worker-main.js          run a worker
  worker-main.js check    say what this machine offers, and end: 0 when a worker can run here
  worker-main.js --help   this text

Any number of workers may run, on any machine that reaches the database. Settings come from the environment: those of the
service for database and keys, and these. [..] is what holds when nothing is set.
`;

const unusable = 78;

async function check(config: WorkerConfig): Promise<void> {
  const { binaries, said } = await findMeans(config);
  const found = binaries.map(({ product, version, file }) => `${product} ${version} (${file})`);
  process.stdout.write(`${[...found, ...said].join('\n')}\n`);
}

async function run(config: WorkerConfig): Promise<void> {
  const log = createLogger({ name: 'worker', level: config.service.logLevel });
  const means = await findMeans(config);
  for (const line of means.said) {
    if (/[A-Z]{4}/.test(line) || line.startsWith('not possible')) log.warn(line);
    else log.info(line);
  }
  // Not before it is needed: a check is quick without it.
  const { startWorker } = require('./worker') as typeof import('./worker');
  const worker = await startWorker(config, means, log);
  const binaries = means.binaries.map(({ product, version }) => `${product} ${version}`);
  log.info({ worker: worker.id, binaries, isolation: means.isolation.kind }, 'waiting for runs');
  let closing = false;
  const stop = async () => {
    if (closing) return;
    closing = true;
    log.info('stopping');
    await worker.close();
    process.exit(0);
  };
  process.on('SIGTERM', () => void stop());
  process.on('SIGINT', () => void stop());
}

async function main([command]: string[]): Promise<void> {
  if (command === '--help' || command === 'help') {
    process.stdout.write(`${usage}\n${describeWorkerConfig()}\n`);
    return;
  }
  if (command !== undefined && command !== 'check') {
    process.stderr.write(`${command} is no command; --help lists them\n`);
    process.exitCode = 64;
    return;
  }
  const config = readWorkerConfig(process.env);
  await (command === 'check' ? check(config) : run(config));
}

main(process.argv.slice(2)).catch((error: Error) => {
  const problems = error instanceof BadConfig ? error.problems.join('\n') : error.message;
  process.stderr.write(`${problems}\n`);
  process.exit(error instanceof BadConfig || error instanceof NoWorker ? unusable : 1);
});
