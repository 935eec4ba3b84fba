import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { startEmbedded } from '@keystead/postgres';
import { benchRoot } from '../src/child';
import { machine } from '../src/machine';
import { ordered } from './cases';
import { type HostileOptions, parseHostileOptions, usage } from './options';
import { isTooLong, report } from './report';
import { type Outcome, runCase } from './run-case';
import { prepareSecrets } from './secrets';
import type { HostileSetup } from './service';
import { prepareWorkspaces } from './workspaces';

const services = { secrets: prepareSecrets, workspaces: prepareWorkspaces };

/** Sends both services their worst requests, prints what held their event loops longest; true when all is within the goals. */
async function hostile(options: HostileOptions): Promise<boolean> {
  const cleanups: (() => unknown)[] = [];
  const atEnd = (cleanup: () => unknown) => void cleanups.push(cleanup);
  const stop = async () => {
    for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
  };
  for (const signal of ['SIGINT', 'SIGTERM'] as const)
    process.once(signal, () => void stop().then(() => process.exit(1)));
  const folder = mkdtempSync(path.join(os.tmpdir(), 'keystead-hostile-'));
  atEnd(() => rmSync(folder, { recursive: true, force: true }));
  try {
    const postgres = await startEmbedded({
      dataDir: path.join(folder, 'postgres'),
      settings: { max_connections: '100' },
    });
    atEnd(() => postgres.stop({ immediate: true }));
    return await run(options, { folder, postgres, atEnd });
  } finally {
    await stop();
  }
}

async function run(options: HostileOptions, setup: HostileSetup): Promise<boolean> {
  const texts = [machine()];
  let good = true;
  for (const service of options.services) {
    const { target, cases } = await services[service](setup);
    const wanted = ordered(cases).filter(({ operation, kind }) => `${operation} ${kind}`.includes(options.only));
    const outcomes: Outcome[] = [];
    const untilMs = performance.now() + options.seconds * 1000;
    for (const one of wanted) {
      if (performance.now() > untilMs) break;
      outcomes.push(await runCase(target, one));
      const last = outcomes.at(-1)!;
      if (isTooLong(last))
        process.stderr.write(`${last.turn.cpuMs?.toFixed(0)} ms: ${last.sender} ${last.operation}, ${last.kind}\n`);
      if (outcomes.length % 500 === 0) process.stderr.write(`${service}: ${outcomes.length} of ${wanted.length}\n`);
    }
    texts.push(report(service, outcomes, wanted.length - outcomes.length));
    good &&= !outcomes.some(isTooLong);
  }
  show(`${texts.join('\n\n')}\n`, options.write);
  return good;
}

function show(text: string, write: boolean): void {
  process.stdout.write(`\n${text}`);
  if (!write) return;
  const folder = path.join(benchRoot, 'results');
  mkdirSync(folder, { recursive: true });
  const day = new Date().toISOString().slice(0, 10);
  writeFileSync(path.join(folder, `${day}-hostile.md`), `# The worst requests of ${day}\n\n${text}`);
}

const args = process.argv.slice(2).filter((one) => one !== '--');
if (args.includes('--help')) console.log(usage);
else {
  hostile(parseHostileOptions(args)).then(
    (good) => {
      process.exitCode = good ? 0 : 1;
    },
    (error: Error) => {
      console.error(error.message);
      process.exitCode = 1;
    },
  );
}
