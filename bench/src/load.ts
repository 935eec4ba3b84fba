import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { runAutocannon } from './autocannon';
import type { Figures } from './figures';
import { found, pinned } from './machine';
import { script } from './wrk-script';

/**
 * The request that is sent again and again.
 *
 * `paths` are used in turn. In paths and body, `{n}` is a number that grows with every request, for values that must be
 * unique.
 */
export interface Load {
  method: string;
  paths: readonly string[];
  headers?: Record<string, string>;
  body?: string;
}

/** A load generator. `start` is the first number for `{n}`. Throws if an answer is not a success. */
export interface Generator {
  readonly name: string;
  run(url: string, load: Load, connections: number, seconds: number, start: number): Promise<Figures>;
}

/** wrk when it is installed, otherwise autocannon. */
export function chooseGenerator(cores: string | undefined): Generator {
  if (found('wrk', ['-v'])) return { name: 'wrk', run: (...args) => runWrk(cores, ...args) };
  return { name: 'autocannon', run: (...args) => runAutocannon(cores, ...args) };
}

async function runWrk(
  cores: string | undefined,
  url: string,
  load: Load,
  connections: number,
  seconds: number,
  start: number,
): Promise<Figures> {
  const folder = mkdtempSync(path.join(os.tmpdir(), 'keystead-bench-'));
  try {
    const file = path.join(folder, 'load.lua');
    writeFileSync(file, script(load, start));
    // wrk counts whole seconds only.
    const duration = `${Math.max(1, Math.round(seconds))}s`;
    const args = [
      '--threads',
      '1',
      '--connections',
      String(connections),
      '--duration',
      duration,
      '--script',
      file,
      url,
    ];
    const [command, all] = pinned(cores, 'wrk', args);
    return readFigures(await output(command, all), `${load.method} ${load.paths[0]}`);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function readFigures(text: string, what: string): Figures {
  const shown = /^figures (.*)$/m.exec(text)?.[1];
  if (shown === undefined) throw new Error(`wrk said something else than figures:\n${text}`);
  const figures = JSON.parse(shown) as Figures & { errors: number };
  if (figures.errors > 0) throw new Error(`${figures.errors} requests failed: ${what}`);
  return figures;
}

function output(command: string, args: readonly string[]): Promise<string> {
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, { stdio: ['ignore', 'pipe', 'pipe'] });
    let text = '';
    const listen = (chunk: Buffer) => {
      text += chunk.toString();
    };
    child.stdout.on('data', listen);
    child.stderr.on('data', listen);
    child.once('error', reject);
    child.once('close', (code) => (code === 0 ? resolve(text) : reject(new Error(`${command} failed:\n${text}`))));
  });
}
