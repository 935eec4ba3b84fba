import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { createInstallation, type TestInstallation } from './installation';
import { killAndRecover, victims } from './kills';
import { difference, readWalk, Shell } from './walk';

const walk = readWalk(path.resolve(__dirname, '../../docs/try-it.md'));

describe.each([['undisturbed'], ['with every process killed in the middle']])(
  'the walk of docs/try-it.md, %s',
  (how) => {
    let installation: TestInstallation;
    let shell: Shell | undefined;
    beforeAll(async () => {
      installation = await createInstallation();
      await installation.start();
      shell = new Shell(installation.folder);
    }, 400_000);
    afterAll(async () => {
      shell?.end();
      await installation.remove();
    });

    it.each(walk.map((block, index) => [`${index + 1}. ${block.title}`, block, index] as const))(
      '%s',
      async (_, block, index) => {
        if (how !== 'undisturbed') await killAndRecover(installation, victims[index % victims.length]!);
        const printed = await shell!.run(block.commands);
        if (block.expected) expect(difference(printed, block.expected)).toBeUndefined();
      },
      400_000,
    );
  },
);
