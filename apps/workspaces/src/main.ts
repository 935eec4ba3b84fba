#!/usr/bin/env node
import { closeSync, fsyncSync, openSync, writeSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
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
import type { Housekeeping } from './housekeeping';
import type { Service } from './service';

const usage = `keystead-workspaces: the infrastructure workspace service

  main.js              run the service
  main.js migrate      apply outstanding database migrations and end
  main.js first-run    make the first site administrator and print name, password and token as JSON, once;
                       prints null when there is one already
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

async function writeFirstRun(service: Service, file: string, log: Logger): Promise<void> {
  const firstRun = await service.firstRun();
  if (firstRun === undefined) return;
  const descriptor = openSync(file, 'w', 0o600);
  try {
    writeSync(descriptor, `${JSON.stringify(firstRun, null, 2)}\n`);
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
  log.info(
    { file },
    'the first administrator was created: the user name, password and token are in this file; store them safely and delete it',
  );
}

/** Loads the service itself, which a process that only starts others never needs. */
const loaded = () => Promise.all([import('./service.js'), import('./housekeeping.js')]);

async function run(config: Config): Promise<void> {
  const log = createLogger({ name: 'workspaces', level: config.logLevel });
  const [{ createService }, { startHousekeeping }] = await loaded();
  const registry = new Registry();
  surviveFailures(log, registry);
  const service = await createService(config, { log, registry });
  if (config.firstRunFile !== undefined) {
    await writeFirstRun(service, config.firstRunFile, log);
  }
  const { traces, slowMs } = config;
  const tracing = startTracing(traces && { ...traces, service: 'keystead-workspaces' }, log);
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
    onClose: () => {
      service.env.streams.endAll();
      service.env.waiting.endAll();
    },
  }).catch(async (error) => {
    await service.close();
    throw error;
  });
  const { clockTrouble, outage } = service;
  const { keyring, now, vcsReach: reach, notificationReach, mailer, publicUrl, settings } = service.env;
  // Background jobs run only on nodes that may write.
  const housekeeping = config.standby
    ? undefined
    : startHousekeeping(service.db, {
        log,
        outage,
        keyring,
        notificationReach,
        mailer,
        publicUrl,
        now,
        clockTrouble,
        consoleIdleMinutes: config.console.idleMinutes,
        assessmentHours: config.assessmentHours,
        versionWaitSeconds: config.versionWaitSeconds,
        auditDays: config.auditDays,
        secrets: config.secretsService,
        registry,
        vcs: config.vcs &&
          reach && { reach, publicUrl, settings, uploads: service.env, pollSeconds: config.vcs.pollSeconds },
      });
  log.info({ url: serving.url, edition: config.edition }, 'listening');
  stopOnSignal(serving, housekeeping, service, tracing, log);
}

async function runAll(config: Config): Promise<void> {
  const { processes: count, metrics, logLevel: level } = config;
  const log = createLogger({ name: 'workspaces', level });
  const code = await runProcesses({ count, metrics, log }, () => run(config));
  if (code !== undefined) {
    process.exit(code);
  }
}

function stopOnSignal(
  serving: Serving,
  housekeeping: Housekeeping | undefined,
  service: Service,
  tracing: Tracing | undefined,
  log: Logger,
): void {
  onStop(async (signal) => {
    log.info({ signal }, 'stopping: finishing requests in progress');
    await serving.close();
    await tracing?.close();
    await housekeeping?.close();
    await service.close();
    log.info('stopped');
    process.exit(0);
  });
}

async function once(config: Config, work: (service: Service) => Promise<unknown>): Promise<void> {
  const log = createLogger({ name: 'workspaces', level: 'silent' });
  const [{ createService }] = await loaded();
  const service = await createService(config, { log });
  try {
    const result = await work(service);
    if (result !== undefined) {
      process.stdout.write(`${JSON.stringify(result)}\n`);
    }
  } finally {
    await service.close();
  }
}

async function main([command]: string[]): Promise<void> {
  if (command === '--help' || command === 'help') {
    process.stdout.write(`${usage}\n${describeConfig()}\n`);
    return;
  }
  if (command === undefined) return runAll(readOrExit());
  if (command === 'first-run') return once(readOrExit(), async (service) => (await service.firstRun()) ?? null);
  if (command === 'migrate') return once({ ...readOrExit(), migrate: true }, async () => undefined);
  process.stderr.write(`${command} is not a command; --help lists them\n`);
  process.exitCode = 64;
}

runMain(() => main(process.argv.slice(2)));
