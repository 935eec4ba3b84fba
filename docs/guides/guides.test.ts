import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { stepsOf } from './document';
import { type Installation, startInstallation } from './installation';
import { type PracticeSystems, startPracticeSystems } from './practice-systems';
import { runDocument } from './run-document';

const guides = readdirSync(__dirname).filter(
  (file) => file.endsWith('.md') && stepsOf(join(__dirname, file)).length > 0,
);

// The walk of try-it.md is run by the tests of the local program, which also kill processes under it.
describe('every command of the guides', () => {
  let installation: Installation;
  let outside: PracticeSystems;
  beforeAll(async () => {
    outside = await startPracticeSystems();
    installation = await startInstallation(outside.service);
  }, 240_000);
  afterAll(async () => {
    await installation?.stop();
    await outside.stop();
  });

  const run = (page: string) =>
    runDocument(join(__dirname, page), {
      cwd: installation.folder,
      env: { PATH: installation.path, ...outside.shell },
    });

  for (const guide of guides) {
    const needs = needsOf(join(__dirname, guide));
    // A guide that needs a tool which is not here shows as skipped, never as passed.
    const runs = needs.length === 0 || needs.some(isInstalled) ? it : it.skip;
    runs(
      `of ${guide} works as printed`,
      async () => {
        await expect(run(guide)).resolves.toBe(stepsOf(join(__dirname, guide)).length);
      },
      240_000,
    );
  }
});

/** Tools of which one must be installed, from a comment at the top of the page: `<!-- needs: tofu or terraform -->`. */
function needsOf(path: string): string[] {
  return /^<!-- needs: (.*) -->/.exec(readFileSync(path, 'utf8'))?.[1]?.split(' or ') ?? [];
}

function isInstalled(tool: string): boolean {
  return (process.env.PATH ?? '').split(delimiter).some((folder) => existsSync(join(folder, tool)));
}
