import path from 'node:path';
import { readConformance } from '../conformance/report';
import { poolDatabases } from './database-pool';
import { onStep } from './limits';
import { loadMutated } from './loader';
import { nameOf } from './mutant';
import { planOf } from './plan';
import { placesOfSecrets, wrappersOfSecrets } from './secrets';
import { forgetFragments, placesOfWorkspaces, wrappersOfWorkspaces } from './workspaces';

// A process that loads both services once and runs the rows of its orders. A mutant that causes an endless loop or an
// exit only ends this process, not the run.

/** An order to the process: run this row, except the mutants in which it hung before. */
export interface Order {
  readonly row: string;
  readonly stuck: readonly string[];
}

/** A message from the process. */
export type Said =
  | { readonly kind: 'ready'; readonly places: readonly (readonly [string, string])[] }
  /** A step begins, with or without a mutant. */
  | { readonly kind: 'step'; readonly mutant: string | undefined }
  | { readonly kind: 'played'; readonly survivors: readonly { name: string; reached: boolean }[] }
  | { readonly kind: 'failed'; readonly why: string };

const root = path.resolve(__dirname, '../../..');
const say = (said: Said): void => {
  process.send!(said);
};

async function main(): Promise<void> {
  const plan = planOf(readConformance(root));
  const wrappers = {
    ...wrappersOfWorkspaces,
    ...wrappersOfSecrets,
    'packages/testing/src/fresh-database.ts': poolDatabases,
    'apps/workspaces/src/kernel/endpoints/fragments.ts': forgetFragments,
  };
  const mutants = plan.flatMap((planned) => planned.mutants);
  loadMutated(mutants, wrappers, { '@jest/globals': path.join(__dirname, 'globals.ts') });
  // An uncaught error caused by a mutant outside a test must not end the run.
  process.on('uncaughtException', () => undefined);
  process.on('unhandledRejection', () => undefined);
  const setup =
    require('../../../packages/testing/src/global-setup') as typeof import('../../../packages/testing/src/global-setup');
  await setup.default();
  // The services' declarations are known after loading.
  for (const app of ['workspaces', 'secrets']) require(path.join(root, 'apps', app, 'src/service'));
  const { Player } = require('./play') as typeof import('./play');
  let mutant: string | undefined;
  onStep(() => say({ kind: 'step', mutant }));
  const player = new Player((name) => {
    mutant = name;
  });
  process.on('message', async ({ row, stuck }: Order) => {
    const planned = plan.find((one) => one.row.id === row)!;
    const left = planned.mutants.filter((one) => !stuck.includes(nameOf(one)));
    try {
      const survivors = await player.play(planned, left);
      say({ kind: 'played', survivors: survivors.map((one) => ({ name: nameOf(one.mutant), reached: one.reached })) });
    } catch (error) {
      say({ kind: 'failed', why: String((error as Error).stack) });
    }
  });
  // The database server ends when its input closes, with this process.
  process.once('disconnect', async () => {
    await setup.globalTeardown();
    process.exit(0);
  });
  say({ kind: 'ready', places: [...placesOfWorkspaces, ...placesOfSecrets] });
}

main().catch((error) => {
  process.stderr.write(`${error.stack}\n`);
  process.exit(1);
});
