#!/usr/bin/env node
import { setTimeout as sleep } from 'node:timers/promises';
import { errorBody } from '@keystead/envelope';
import {
  createLogger,
  type Logger,
  onStop,
  Registry,
  runMain,
  runProcesses,
  type Serving,
  serve,
  surviveFailures,
} from '@keystead/server';
import { BadConfig } from '@keystead/settings';
import { startTracing, type Tracing } from '@keystead/tracing';
import { type Config, describeConfig, readConfig } from './config';
import type { Service } from './service';
import { version } from './service/version';

const usage = `keystead-secrets: the secrets and identity service

  main.js              run the service
  main.js migrate      apply outstanding database migrations and end
  main.js --help       this text

Settings come from the environment; the default of each is in [..].
`;

function readOrExit(): Config {
  try {
    return readConfig(process.env);
  } catch (error) {
    if (!(error instanceof BadConfig)) throw error;
    process.stderr.write(`${error.problems.join('\n')}\n`);
    process.exit(78);
  }
}

/** Loads the service itself. A process that only starts others does not need it. */
const loaded = () => Promise.all([import('./service.js'), import('./http/list-verb.js')]);

async function run(config: Config): Promise<void> {
  const log = createLogger({ name: 'secrets', level: config.logLevel });
  const registry = new Registry();
  surviveFailures(log, registry);
  const [{ createService }, { rescueList }] = await loaded();
  const service = await createService(config, { log, registry });
  if (config.firstRunFile !== undefined && (await service.firstRun(config.firstRunFile))) {
    log.info(
      { file: config.firstRunFile },
      'initialised: the root token and keys are in this file; move it to a safe place',
    );
  }
  const { traces, slowMs } = config;
  const tracing = startTracing(traces && { ...traces, service: 'keystead-secrets', version }, log);
  const serving = await serve({
    app: service.app,
    listen: config.listen,
    log,
    metrics: { listen: config.metrics, registry },
    ready: service.ready,
    tracing,
    slowMs,
    drainDelay: config.drainDelaySeconds > 0 ? () => sleep(config.drainDelaySeconds * 1000) : undefined,
    drainSeconds: config.drainSeconds,
    onServer: rescueList,
    onClose: () => service.endStreams(),
    refusal: (_status, message) => ({ type: 'application/json', body: errorBody([message]) }),
  }).catch(async (error) => {
    await service.close();
    throw error;
  });
  log.info({ url: serving.url }, 'listening');
  process.on('SIGHUP', () => {
    service.reopenAudit().catch((error) => log.warn({ err: error }, 'audit files could not be reopened'));
  });
  stopOnSignal(serving, service, tracing, log);
}

async function runAll(config: Config): Promise<void> {
  const { processes: count, metrics, logLevel: level } = config;
  const code = await runProcesses({ count, metrics, log: createLogger({ name: 'secrets', level }) }, () => run(config));
  if (code !== undefined) process.exit(code);
}

function stopOnSignal(serving: Serving, service: Service, tracing: Tracing | undefined, log: Logger): void {
  onStop(async (signal) => {
    log.info({ signal }, 'stopping: finishing requests in progress');
    await serving.close();
    await tracing?.close();
    await service.close();
    log.info('stopped');
    process.exit(0);
  });
}

async function main([command]: string[]): Promise<void> {
  if (command === '--help' || command === 'help') {
    process.stdout.write(`${usage}\n${describeConfig()}\n`);
    return;
  }
  if (command === undefined) return runAll(readOrExit());
  if (command === 'migrate') {
    const log = createLogger({ name: 'secrets', level: 'silent' });
    const [{ createService }] = await loaded();
    const service = await createService({ ...readOrExit(), migrate: true }, { log });
    return service.close();
  }
  process.stderr.write(`${command} is not a command; --help lists them\n`);
  process.exitCode = 64;
}

runMain(() => main(process.argv.slice(2)));
