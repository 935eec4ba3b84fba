import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { stepsOf } from '../guides/document';
import { found } from '../guides/found';
import { type Installation, startInstallation } from '../guides/installation';
import { runDocument } from '../guides/run-document';

const pages = readdirSync(__dirname).filter((file) => file.endsWith('.md') && file !== 'README.md');
/** Where the reference program is named it stands for the `bao` of the pages. */
const reference = process.env.KEYSTEAD_REFERENCE_SERVER;
const folders = [...(reference ? [path.dirname(reference)] : []), ...(process.env.PATH ?? '').split(path.delimiter)];

/** The program that a page needs, from the comment at its top: `<!-- needs: bao -->`. */
function neededBy(page: string): string {
  const needed = /^<!-- needs: (\S+) -->/.exec(readFileSync(path.join(__dirname, page), 'utf8'))?.[1];
  if (!needed) throw new Error(`${page} does not say what it needs`);
  return needed;
}

const isInstalled = (program: string): boolean => folders.some((folder) => existsSync(path.join(folder, program)));

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
    const runs = isInstalled(needed) ? it : it.skip;
    runs(
      `of ${page} works as printed with ${needed}, twice, and leaves everything as it was`,
      async () => {
        const at = path.join(__dirname, page);
        const env = { PATH: [installation.path, ...folders].join(path.delimiter), HOME: home };
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
