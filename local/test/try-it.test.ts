import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { createInstallation, type TestInstallation } from './installation';
import { waitFor } from './start';
import { difference, readWalk, Shell } from './walk';

const walk = readWalk(path.resolve(__dirname, '../../docs/try-it.md'));

describe.each([['undisturbed'], ['with every process killed in the middle']])(
  'the walk of docs/try-it.md, %s',
  (how) => {
    let installation: TestInstallation;
    let shell: Shell;
    beforeAll(async () => {
      installation = await createInstallation();
      await installation.start();
      shell = new Shell(installation.folder);
    }, 240_000);
    afterAll(async () => {
      shell.end();
      await installation.remove();
    });

    it.each(walk.map((block, index) => [`${index + 1}. ${block.title}`, block, index] as const))(
      '%s',
      async (_, block, index) => {
        if (how !== 'undisturbed') await killOne(installation, index);
        const printed = await shell.run(block.commands);
        if (block.expected) expect(difference(printed, block.expected)).toBeUndefined();
      },
      60_000,
    );
  },
);

const victims = ['secrets', 'postgres', 'workspaces', 'program'] as const;

/** Kills one process, a different one each time, and waits until both services are well again. */
async function killOne(installation: TestInstallation, turn: number): Promise<void> {
  const victim = victims[turn % victims.length]!;
  if (victim === 'program') {
    const program = installation.program();
    program.process.kill('SIGKILL');
    await program.ended;
    await waitFor(async () => (await fetch(`${installation.secretsUrl}/livez`).catch(() => undefined)) === undefined);
    await waitFor(
      async () => (await fetch(`${installation.workspacesUrl}/livez`).catch(() => undefined)) === undefined,
    );
    await installation.start();
    return;
  }
  const before = await installation.pids();
  process.kill(before[victim], 'SIGKILL');
  await waitFor(async () => {
    const now = await installation.pids().catch(() => before);
    return now[victim] !== before[victim];
  });
  await installation.healthy();
}
