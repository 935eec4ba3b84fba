import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { findProgram } from '../../packages/testing/src/index';
import { stepsOf } from '../guides/document';
import { found } from '../guides/found';
import { type Installation, startInstallation } from '../guides/installation';
import { runDocument } from '../guides/run-document';
import { pagesRunBy } from '../pages';

const pages = pagesRunBy['docs/clients/clients.interop.test.ts'].map((page) => path.basename(page));
/** Programs that are named replace the `bao` and the `tofu` of the pages. */
const named = [process.env.KEYSTEAD_REFERENCE_SERVER, process.env.KEYSTEAD_TOFU].flatMap((program) =>
  program ? [path.dirname(program)] : [],
);
const folders = [...named, ...(process.env.PATH ?? '').split(path.delimiter)];
/** Where Go keeps what it has fetched and built: not in a home that is thrown away, and fetched again each time. */
const goFolders = Object.fromEntries(
  ['GOPATH', 'GOMODCACHE', 'GOCACHE', 'GOPROXY', 'GOSUMDB', 'GONOSUMDB', 'GOFLAGS'].flatMap((name) => {
    const { status, stdout } = spawnSync('go', ['env', name], { encoding: 'utf8' });
    return status === 0 && stdout.trim() !== '' ? [[name, stdout.trim()]] : [];
  }),
);

interface Need {
  readonly programs: readonly string[];
  /** A module that Go has to be able to fetch. */
  readonly module?: string;
}

/** What a page needs, from the comment at its top: `<!-- needs: terraform bao -->`, `<!-- needs: go example.com/a@v1.0.0 -->`. */
function neededBy(page: string): Need {
  const text = readFileSync(path.join(__dirname, page), 'utf8');
  const words = /^<!-- needs: (.+) -->/.exec(text)?.[1]?.split(' ') ?? [];
  const programs = words.filter((word) => !word.includes('@'));
  if (programs.length === 0) throw new Error(`${page} does not say what it needs`);
  return { programs, module: words.find((word) => word.includes('@')) };
}

const isFetched = (module: string): boolean =>
  spawnSync('go', ['mod', 'download', module], { cwd: tmpdir(), timeout: 60_000 }).status === 0;

const isHere = ({ programs, module }: Need): boolean =>
  programs.every((program) => findProgram(program, named) !== undefined) && (module === undefined || isFetched(module));

describe('every command of the pages about clients', () => {
  let installation: Installation;
  /** Clients keep caches and logs there: none of what a page makes. */
  const home = mkdtempSync(path.join(tmpdir(), 'keystead-home-'));
  beforeAll(async () => {
    installation = await startInstallation();
  }, 240_000);
  afterAll(async () => {
    await installation?.stop();
    rmSync(home, { recursive: true, force: true });
  });

  for (const page of pages) {
    const needed = neededBy(page);
    // A page whose client is not here shows as skipped, with its name.
    const runs = isHere(needed) ? it : it.skip;
    runs(
      `of ${page} works as printed with ${needed.programs.join(' and ')}, twice, and leaves everything as it was`,
      async () => {
        const at = path.join(__dirname, page);
        const env = { PATH: [installation.path, ...folders].join(path.delimiter), HOME: home, ...goFolders };
        const before = await found(installation.folder);
        for (let time = 0; time < 2; time++) {
          await expect(runDocument(at, { cwd: installation.folder, env })).resolves.toBe(stepsOf(at).length);
          await expect(asFound(installation.folder, before)).resolves.toEqual(before);
        }
      },
      900_000,
    );
  }
});

/** What is there once it is again as before: what is removed in the background goes within seconds. */
async function asFound(folder: string, before: Record<string, unknown>): Promise<Record<string, unknown>> {
  for (let tries = 0; ; tries++) {
    const now = await found(folder);
    if (isDeepStrictEqual(now, before) || tries === 600) return now;
    await sleep(100);
  }
}
