import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { serverVersion, startEmbedded } from '@keystead/postgres';
import { measureCeiling, prepareCeilings } from './ceilings';
import { benchRoot } from './child';
import { httpScenario, startHttp } from './http-family';
import { largeListsFamily } from './large-lists-family';
import { chooseGenerator } from './load';
import { choosePinning, machine, pinProcess } from './machine';
import { measure } from './measure';
import { type Options, parseOptions, usage } from './options';
import { outsideFamily } from './outside-family';
import type { Scenario } from './scenario';
import { secretsFamily } from './secrets-family';
import { table } from './table';
import { workspacesFamily } from './workspaces-family';

async function bench(options: Options): Promise<void> {
  const cleanups: (() => unknown)[] = [];
  const folder = mkdtempSync(path.join(os.tmpdir(), 'keystead-bench-'));
  cleanups.push(() => rmSync(folder, { recursive: true, force: true }));
  const stop = async () => {
    for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
  };
  for (const signal of ['SIGINT', 'SIGTERM'] as const)
    process.once(signal, () => void stop().then(() => process.exit(1)));
  try {
    await run(options, folder, (cleanup) => cleanups.push(cleanup));
  } finally {
    await stop();
  }
}

async function run(options: Options, folder: string, atEnd: (cleanup: () => unknown) => void): Promise<void> {
  const pinning = choosePinning();
  pinProcess(pinning?.others, process.pid);
  const generator = chooseGenerator(pinning?.others);
  const postgres = await startEmbedded({
    dataDir: path.join(folder, 'postgres'),
    settings: { max_connections: '200' },
  });
  atEnd(() => postgres.stop({ immediate: true }));
  pinProcess(pinning?.others, postgres.pid);
  const database = await prepareCeilings(postgres);

  const http = async (kind: 'bare' | 'express' | 'keystead') => {
    const child = await startHttp(kind, pinning?.server);
    atEnd(() => child.stop());
    return child.url;
  };
  const bare = await http('bare');
  const wanted = (name: string) => options.only.length === 0 || options.only.some((part) => name.includes(part));
  const ceiling = (statement: 'upsert' | 'select'): Scenario => ({
    name: `PostgreSQL: ${statement} by key`,
    run: (clients, seconds) => measureCeiling(database, statement, clients, seconds, pinning?.server),
  });
  const setting = { folder, postgres, generator, cores: pinning?.server, atEnd, wanted };
  const scenarios = [
    httpScenario('bare node:http', bare, generator),
    httpScenario('Express as it comes', await http('express'), generator),
    httpScenario('Keystead’s Express, with log', await http('keystead'), generator),
    ceiling('upsert'),
    ceiling('select'),
    ...(await secretsFamily(setting)),
    ...(await outsideFamily(setting)),
    ...(await workspacesFamily(setting)),
    ...(await largeListsFamily(setting)),
  ].filter(({ name }) => wanted(name));

  const rows = await measure(
    scenarios,
    {
      bare: async (connections, seconds, bytes) =>
        (await generator.run(bare, { method: 'GET', paths: [`/${bytes ?? ''}`] }, connections, seconds, 0))
          .requestsPerSecond,
      ceiling: async (statement, clients, seconds) =>
        (await measureCeiling(database, statement, clients, seconds, pinning?.server)).requestsPerSecond,
    },
    options,
    (text) => process.stderr.write(`${text}\n`),
  );
  const version = await serverVersion(database);
  const about = [
    machine(),
    `PostgreSQL ${Math.floor(version / 10_000)}.${version % 10_000}, fsync on; load from ${generator.name}; ` +
      (pinning ? `server on core ${pinning.server}, load and PostgreSQL on ${pinning.others}` : 'nothing pinned') +
      `; median of ${options.rounds} round${options.rounds === 1 ? '' : 's'}`,
  ];
  show(`${about.join('\n')}\n\n${table(rows)}\n`, options.write);
}

function show(text: string, write: boolean): void {
  process.stdout.write(`\n${text}`);
  if (!write) return;
  const folder = path.join(benchRoot, 'results');
  mkdirSync(folder, { recursive: true });
  const file = path.join(folder, `${new Date().toISOString().slice(0, 10)}.md`);
  writeFileSync(file, `# Bench of ${new Date().toISOString().slice(0, 10)}\n\n${text}`);
  process.stdout.write(`\nwritten to ${path.relative(process.cwd(), file)}\n`);
}

const args = process.argv.slice(2).filter((one) => one !== '--');
if (args.includes('--help')) console.log(usage);
else {
  bench(parseOptions(args)).catch((error: Error) => {
    console.error(error.message);
    process.exitCode = 1;
  });
}
