import path from 'node:path';
import { readLocalConfig } from './config';
import { lockDataFolder, prepareDataFolder } from './data-folder';
import { initialise } from './first-run';
import { helpText } from './help';
import { Installation, type Programs } from './installation';
import { requireFreePorts } from './ports';
import { readyText } from './report';
import { ensureSealKeys, makeAgentToken } from './seal-keys';
import { DRAIN_SECONDS } from './service-process';
import { Stop } from './stop';

/** Shows the progress of a step, and runs it. */
export type ShowStep = <T>(name: string, work: () => Promise<T>) => Promise<T>;

// Two signals within this time are one Ctrl-C: the terminal sends the signal, and npm sends it again.
const SAME_KEYPRESS_MS = 1_000;
const root = path.resolve(__dirname, '../..');
const builtPrograms: Programs = {
  secrets: path.join(root, 'apps/secrets/dist/main.js'),
  workspaces: path.join(root, 'apps/workspaces/dist/main.js'),
  worker: path.join(root, 'apps/workspaces/dist/worker-main.js'),
};

/** Runs everything until a signal ends it. Throws `Stop` if it cannot start; nothing is left running then. */
export async function main(args: string[], step: ShowStep, programs: Programs = builtPrograms): Promise<void> {
  if (args.includes('--help') || args.includes('-h')) {
    process.stdout.write(helpText(programs));
    return;
  }
  if (args.length > 0) throw new Stop(`${args[0]} is not an option: see npm start -- --help`);
  const config = readLocalConfig(process.env);
  prepareDataFolder(config.dataDir);
  const lock = lockDataFolder(config.dataDir);
  const installation = new Installation(config, programs, {
    launched: lock.note,
    notice: (message) => process.stdout.write(`${time()} ${message}\n`),
    failed: (error) => {
      process.stderr.write(`${time()} ${error.message}\n`);
      end(installation.kill(), 1);
    },
  });
  const end = (stopping: Promise<void>, code: number) => {
    void stopping.finally(() => {
      lock.release();
      process.exit(code);
    });
  };
  stopOnSignals(installation, end);
  try {
    const newKeys = ensureSealKeys(config);
    makeAgentToken(config.dataDir);
    await lock.leftOversEnd(DRAIN_SECONDS);
    await requireFreePorts(config);
    const database = await step('starting PostgreSQL', () => installation.startDatabase());
    const urls = await step('creating and migrating the databases', () => installation.prepareDatabases());
    const checking = installation.checkWorker(urls.workspaces, process.env);
    checking.catch(() => undefined);
    await step('starting the services', () => installation.startServices(urls, process.env));
    const firstRun = await initialise(config, () => installation.makeAdministrator(urls.workspaces, process.env));
    const worker = await checking;
    if (worker?.works) installation.startWorker(urls.workspaces, process.env);
    const seconds = process.uptime().toFixed(1);
    process.stdout.write(readyText({ config, database, firstRun, newKeys, worker, seconds }));
  } catch (error) {
    await installation.kill();
    lock.release();
    throw error;
  }
}

function stopOnSignals(installation: Installation, end: (stopping: Promise<void>, code: number) => void): void {
  let askedAtMs: number | undefined;
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
    process.on(signal, () => {
      if (askedAtMs === undefined) {
        askedAtMs = Date.now();
        process.stdout.write('\nStopping; Ctrl-C again stops at once.\n');
        end(installation.stop(), 0);
      } else if (Date.now() - askedAtMs > SAME_KEYPRESS_MS) {
        end(installation.kill(), 130);
      }
    });
  }
}

const time = () => new Date().toISOString().slice(11, 19);
