import path from 'node:path';
import { readConformance } from '../conformance/report';
import { readArguments, rowsToPlay } from './choose';
import { poolDatabases } from './database-pool';
import { loadMutated } from './loader';
import { nameOf } from './mutant';
import { planOf } from './plan';
import { readResults, resultOf, writeResults } from './results';
import { placesOfSecrets, wrappersOfSecrets } from './secrets';
import { forgetFragments, placesOfWorkspaces, wrappersOfWorkspaces } from './workspaces';

// `npm run mutants`: plays every mutant of every row against the tests that name the row, and records what became of it.
//   --changed [commit]   only rows whose declarations, tests or mutants differ from a commit; the one before, unless told
//   --seconds N          begins no row after so long
//   anything else        only these rows: W1.3, W1 for all of a table, or W

const root = path.resolve(__dirname, '../..');

async function main(): Promise<number> {
  const given = readArguments(process.argv.slice(2));
  const plan = planOf(readConformance(root));
  const wrappers = {
    ...wrappersOfWorkspaces,
    ...wrappersOfSecrets,
    'packages/testing/src/fresh-database.ts': poolDatabases,
    'apps/workspaces/src/kernel/fragments.ts': forgetFragments,
  };
  const mutants = plan.flatMap((planned) => planned.mutants);
  loadMutated(mutants, wrappers, { '@jest/globals': path.join(__dirname, 'globals.ts') });
  // What a mutant breaks outside of a test must not end the run.
  process.on('uncaughtException', () => undefined);
  process.on('unhandledRejection', () => undefined);
  const setup =
    require('../../packages/testing/src/global-setup') as typeof import('../../packages/testing/src/global-setup');
  await setup.default();
  const results = readResults(root);
  // What the services declare is known once it is loaded.
  for (const app of ['workspaces', 'secrets']) require(path.join(root, 'apps', app, 'src/service'));
  const places = new Map([...placesOfWorkspaces, ...placesOfSecrets]);
  const chosen = rowsToPlay(root, plan, given, results, places);
  const { Player } = require('./play') as typeof import('./play');
  const player = new Player();
  const end = Date.now() + given.seconds * 1000;
  const begun = Date.now();
  let planted = 0;
  let survived = 0;
  let left = 0;
  for (const planned of chosen) {
    if (Date.now() > end) {
      left += 1;
      continue;
    }
    const survivors = await player.play(planned);
    planted += planned.mutants.length;
    survived += survivors.length;
    results[planned.row.id] = resultOf(planned, survivors);
    writeResults(root, results, plan);
    process.stdout.write(`${planned.row.id} ${planned.mutants.length - survivors.length}/${planned.mutants.length}\n`);
    for (const { mutant, reached } of survivors) {
      process.stdout.write(`  survives: ${nameOf(mutant)}${reached ? '' : ' (the tests never come to it)'}\n`);
    }
  }
  await player.close();
  await setup.globalTeardown();
  const seconds = Math.round((Date.now() - begun) / 1000);
  process.stdout.write(`${chosen.length - left} rows, ${planted} mutants, ${seconds} s\n`);
  if (left > 0) process.stdout.write(`${left} rows were left for want of time\n`);
  process.stdout.write(`${planted - survived} passed, ${survived} failed\n`);
  return survived === 0 ? 0 : 1;
}

main().then(
  (code) => process.exit(code),
  (error) => {
    process.stderr.write(`${error.stack}\n`);
    process.exit(1);
  },
);
