import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { type EmbeddedServer, serverVersion, startEmbedded } from '@keystead/postgres';
import { benchRoot } from './child';
import type { Pinning } from './machine';

/** The resources of a program of the bench: a temporary folder and PostgreSQL. */
export interface Ground {
  readonly folder: string;
  readonly postgres: EmbeddedServer;
  /** Called at the end, in reverse order, also when the program is interrupted. */
  atEnd(cleanup: () => unknown): void;
}

/** Runs `work` with a folder and PostgreSQL, and removes everything afterwards; a given folder is kept. */
export async function onGround<T>(
  settings: Readonly<Record<string, string>>,
  work: (ground: Ground) => Promise<T>,
  keep?: string,
): Promise<T> {
  const cleanups: (() => unknown)[] = [];
  const atEnd = (cleanup: () => unknown) => void cleanups.push(cleanup);
  const stop = async () => {
    for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
  };
  for (const signal of ['SIGINT', 'SIGTERM'] as const)
    process.once(signal, () => void stop().then(() => process.exit(1)));
  const folder = path.resolve(keep ?? mkdtempSync(path.join(os.tmpdir(), 'keystead-bench-')));
  mkdirSync(folder, { recursive: true });
  if (keep === undefined) atEnd(() => rmSync(folder, { recursive: true, force: true }));
  try {
    const postgres = await startEmbedded({ dataDir: path.join(folder, 'postgres'), settings });
    atEnd(() => postgres.stop({ immediate: keep === undefined }));
    return await work({ folder, postgres, atEnd });
  } finally {
    await stop();
  }
}

/** A short description of the measured setup. */
export async function aboutPostgres(url: string, fsync: string): Promise<string> {
  const version = await serverVersion(url);
  return `PostgreSQL ${Math.floor(version / 10_000)}.${version % 10_000}${fsync}`;
}

export const aboutPinning = (pinning: Pinning | undefined): string =>
  pinning ? `server on core ${pinning.server}, load and PostgreSQL on ${pinning.others}` : 'nothing pinned';

/** Prints a result, and with `write` stores it in `bench/results` under its date and name. */
export function show(title: string, text: string, { write, name }: { write: boolean; name?: string }): void {
  process.stdout.write(`\n${text}\n`);
  if (!write) return;
  const date = new Date().toISOString().slice(0, 10);
  const file = path.join(benchRoot, 'results', `${date}${name === undefined ? '' : `-${name}`}.md`);
  mkdirSync(path.dirname(file), { recursive: true });
  writeFileSync(file, `# ${title} ${date}\n\n${text}\n`);
  process.stdout.write(`\nwritten to ${path.relative(process.cwd(), file)}\n`);
}

/** Runs a program with its arguments, or prints its usage. It fails if it throws or returns false. */
export function runProgram(usage: string, run: (args: string[]) => Promise<unknown>): void {
  const args = process.argv.slice(2).filter((one) => one !== '--');
  if (args.includes('--help')) {
    console.log(usage);
    return;
  }
  run(args).then(
    (good) => {
      process.exitCode = good === false ? 1 : 0;
    },
    (error: Error) => {
      console.error(error.stack);
      process.exitCode = 1;
    },
  );
}
