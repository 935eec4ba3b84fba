import path from 'node:path';
import { afterAll, beforeAll, describe, it } from '@jest/globals';
import { stepsOf } from '../../docs/guides/document';
import { openSession } from '../../docs/guides/run-document';
import { createInstallation, type TestInstallation } from './installation';
import { killAndRecover, victims } from './kills';

const page = path.resolve(__dirname, '../../docs/try-it.md');

// The test of the guides normally tests the undisturbed page, too.
const long = process.env.KEYSTEAD_LONG === '1';

describe.each([...(long ? [['undisturbed']] : []), ['with every process killed in the middle']])(
  'the walk of docs/try-it.md, %s',
  (how) => {
    let installation: TestInstallation;
    let session: ReturnType<typeof openSession>;
    beforeAll(async () => {
      installation = await createInstallation();
      await installation.start();
      session = openSession(page, { cwd: installation.folder });
    });
    afterAll(async () => {
      session?.close();
      await installation.remove();
    });

    it.each(stepsOf(page).map((step, index) => [`${index + 1}. ${step.section}`, step, index] as const))(
      '%s',
      async (_, step, index) => {
        if (how !== 'undisturbed') await killAndRecover(installation, victims[index % victims.length]!);
        await session.run(step);
      },
    );
  },
);
