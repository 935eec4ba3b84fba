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
/** Programs named by environment variables replace `bao` and `tofu` on the pages. */
const named = [process.env.KEYSTEAD_REFERENCE_SERVER, process.env.KEYSTEAD_TOFU].flatMap((program) =>
  program ? [path.dirname(program)] : [],
);
const folders = [...named, ...(process.env.PATH ?? '').split(path.delimiter)];
/** Go's caches. They are outside the temporary home, so that modules are not downloaded again each time. */
const goFolders = Object.fromEntries(
  ['GOPATH', 'GOMODCACHE', 'GOCACHE', 'GOPROXY', 'GOSUMDB', 'GONOSUMDB', 'GOFLAGS'].flatMap((name) => {
    const { status, stdout } = spawnSync('go', ['env', name], { encoding: 'utf8' });
    return status === 0 && stdout.trim() !== '' ? [[name, stdout.trim()]] : [];
  }),
);

interface Need {
  readonly programs: readonly string[];
  /** A module that Go must be able to download. */
  readonly module?: string;
}

/**
 * The requirements of a page, from the comment at its top: `<!-- needs: terraform bao -->`, `<!-- needs: go
 * example.com/a@v1.0.0 -->`.
 */
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
  /** Caches and logs of clients, which are not made by a page. */
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
    // A page whose client is not installed is shown as skipped, with its name.
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

/** The state of the installation once it equals the state before; background removal takes a few seconds. */
async function asFound(folder: string, before: Record<string, unknown>): Promise<Record<string, unknown>> {
  for (let tries = 0; ; tries++) {
    const now = await found(folder);
    if (isDeepStrictEqual(now, before) || tries === 600) return now;
    await sleep(100);
  }
}
