#!/usr/bin/env node
import { createLogger, type Logger, surviveFailures } from '@keystead/server';
import { BadConfig } from '@keystead/settings';

import { type AgentConfig, describeAgentConfig, isAgent, readAgentConfig } from './worker/agent-config';
import {
  describeWorkerConfig,
  type OwnConfig,
  readOwnConfig,
  readWorkerConfig,
  type WorkerConfig,
} from './worker/config';
import { fetchTools, findWorkerDeps, NoWorker, type WorkerDeps } from './worker/deps';

const usage = `keystead-workspaces worker: carries out remote runs with terraform or tofu

  worker-main.js          run a worker of the service, or an agent if the environment has an agent's token
  worker-main.js agent    run an agent: it needs no database, only the service's address and the token of an agent pool
  worker-main.js check    print what this machine offers; exit with 0 if a worker can run here
  worker-main.js fetch    download the configured versions of the tool, as a worker does when it starts
  worker-main.js refresh  add new releases of the vendors to the versions that workspaces may choose;
                          refresh terraform or refresh tofu: only those of one vendor
  worker-main.js --help   this text

Any number of workers and agents may run: workers on any machine that reaches the database, agents on any machine that
reaches the service by HTTP. Settings come from the environment. A worker also reads the service's settings for database
and keys, an agent also its own. Both read the following; the default of each is in [..].
`;

const unusable = 78;

async function check(config: OwnConfig): Promise<void> {
  const { binaries, protections } = await findWorkerDeps(config);
  const found = binaries.map(({ product, version, file }) => `${product} ${version} (${file})`);
  process.stdout.write(`${[...found, ...protections].join('\n')}\n`);
}

/** Describes what this machine offers. Missing features are logged as warnings. */
async function depsOf(config: OwnConfig, log: Logger): Promise<WorkerDeps> {
  const deps = await findWorkerDeps(config);
  for (const line of deps.protections) {
    if (/^[A-Z]{3}/.test(line) || line.startsWith('not possible')) log.warn(line);
    else log.info(line);
  }
  return deps;
}

async function run(config: WorkerConfig): Promise<void> {
  const log = createLogger({ name: 'worker', level: config.service.logLevel });
  surviveFailures(log);
  const deps = await depsOf(config, log);
  // The worker is loaded only when needed, because a check is quick without it.
  const { startWorker } = require('./worker') as typeof import('./worker');
  const worker = await startWorker(config, deps, log);
  const binaries = deps.binaries.map(({ product, version }) => `${product} ${version}`);
  log.info({ worker: worker.id, binaries, isolation: deps.isolation.kind }, 'waiting for runs');
  stopOnSignal(worker, log);
}

async function runAgent(config: AgentConfig): Promise<void> {
  const log = createLogger({ name: 'agent', level: config.logLevel });
  surviveFailures(log);
  const deps = await depsOf(config, log);
  const { startAgent } = require('./agent') as typeof import('./agent');
  let stop: (code: number) => void = () => undefined;
  const agent = await startAgent(config, deps, log, () => {
    log.error('the token of this agent was revoked');
    stop(unusable);
  });
  const binaries = deps.binaries.map(({ product, version }) => `${product} ${version}`);
  const { pool, id } = agent;
  log.info(
    { agent: id, pool, binaries, isolation: deps.isolation.kind, proxy: config.proxy?.host },
    'waiting for runs',
  );
  stop = stopOnSignal(agent, log);
}

function stopOnSignal(worker: { close(): Promise<void> }, log: Logger): (code: number) => void {
  let closing = false;
  const stop = async (code: number) => {
    if (closing) return;
    closing = true;
    log.info('stopping');
    await worker.close();
    process.exit(code);
  };
  process.on('SIGTERM', () => void stop(0));
  process.on('SIGINT', () => void stop(0));
  return (code) => void stop(code);
}

/** The vendors whose releases `refresh` looks for. */
const products = { terraform: ['Terraform'], tofu: ['OpenTofu'] } as const;

async function main([command, argument = '']: string[]): Promise<void> {
  if (command === 'fetch') {
    for (const file of await fetchTools(readOwnConfig(process.env))) process.stdout.write(`${file}\n`);
    return;
  }
  if (command === 'refresh') {
    if (argument !== '' && !Object.hasOwn(products, argument)) {
      process.stderr.write(`refresh takes terraform or tofu, not ${argument}\n`);
      process.exitCode = 64;
      return;
    }
    const { refreshCatalogue } = require('./worker') as typeof import('./worker');
    const { versions, problems } = await refreshCatalogue(
      readWorkerConfig(process.env),
      createLogger({ name: 'worker', level: 'warn' }),
      products[argument as keyof typeof products],
    );
    for (const { version } of versions) process.stdout.write(`${version}\n`);
    for (const problem of problems) process.stderr.write(`${problem}\n`);
    process.exitCode = problems.length > 0 ? 1 : 0;
    return;
  }
  if (command === '--help' || command === 'help') {
    process.stdout.write(`${usage}\n${describeAgentConfig()}\n${describeWorkerConfig()}\n`);
    return;
  }
  if (command !== undefined && command !== 'check' && command !== 'agent') {
    process.stderr.write(`${command} is not a command; --help lists them\n`);
    process.exitCode = 64;
    return;
  }
  if (command === 'agent' || isAgent(process.env)) {
    const config = readAgentConfig(process.env);
    await (command === 'check' ? check(config) : runAgent(config));
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
