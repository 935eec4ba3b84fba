import { invalid } from '@keystead/jsonapi';
import type { Keyring } from '@keystead/keyring';
import { type Actor, system } from '../../../kernel/audit/audit';
import type { Database } from '../../../kernel/database/database';
import { lockRow } from '../../../kernel/database/lock-row';
import { findOfModule } from '../../runs/configuration-versions/configuration-version';
import { namesTwice } from '../../runs/runs/create';
import { readRange } from '../../runs/runs/jobs/logs';
import { create } from '../../runs/runs/tool-runs/create';
import type { ToolRun } from '../../runs/runs/tool-runs/tool-run';
import type { ModuleVersion, RegistryModule } from '../modules/module';
import type { NewTestRun } from './schema';

const aboutOf = ({ id: moduleId, organizationId, name }: RegistryModule) => ({
  owner: { moduleId },
  organizationId,
  name,
  infraVersion: null,
});

/**
 * Queues tests of a module. Throws `invalid` if the module is not tested, or the configuration belongs to another
 * module.
 */
export async function queueTests(
  db: Database,
  keyring: Keyring,
  actor: Actor,
  module: RegistryModule,
  input: NewTestRun,
): Promise<ToolRun> {
  if (!module.testsEnabled) {
    throw invalid('registryModule', 'is not tested: set tests-enabled in its test-config to true');
  }
  if (input.registryModule && input.registryModule !== module.id) {
    throw invalid('registryModule', 'must be the module in the path');
  }
  if (namesTwice(input.variables)) throw invalid('variables', 'must not contain the same variable twice');
  const configuration = await findOfModule(db, input.configurationVersion);
  if (configuration?.moduleId !== module.id) throw invalid('configurationVersion', 'was not found in the module');
  if (configuration.status !== 'uploaded')
    throw invalid('configurationVersion', `is ${configuration.status}; tests need an uploaded one`);
  const { filters, testDirectory, verbose, parallelism, variables } = input;
  return db.transaction((tx) =>
    create(tx, keyring, actor, {
      ...aboutOf(module),
      files: { configurationVersionId: configuration.id },
      settings: {
        filters: filters ?? [],
        testDirectory: testDirectory || null,
        verbose: verbose === true,
        parallelism: parallelism ?? null,
      },
      variables: variables ?? [],
      source: 'tfe-api',
    }),
  );
}

/** Queues tests of a version from a branch if its module is tested, only once per version. */
export async function testVersion(db: Database, keyring: Keyring, { id, module }: ModuleVersion): Promise<void> {
  if (!module.testsEnabled || module.vcsBranch === null) return;
  const files = { moduleVersionId: id };
  const input = { ...aboutOf(module), files, settings: {}, variables: [], source: 'tfe-vcs' };
  await db.transaction(async (tx) => {
    await lockRow(tx, 'registry_module', module.id);
    if ((await tx.prisma.toolRun.count({ where: files })) === 0) await create(tx, keyring, system, input);
  });
}

const pieceBytes = 256 * 1024;
/** Longer lines are not test results. */
const longestLine = 1024 * 1024;

/** The lines of a log, read in pieces. */
export async function* linesOf(db: Database, keyring: Keyring, { id, logSize }: ToolRun): AsyncGenerator<string> {
  let rest = Buffer.alloc(0);
  for (let from = 0; from < Number(logSize); from += pieceBytes) {
    rest = Buffer.concat([
      rest,
      await readRange(db, keyring, id, { from, to: Math.min(from + pieceBytes, Number(logSize)) }),
    ]);
    for (let end = rest.indexOf(10); end >= 0; end = rest.indexOf(10)) {
      yield rest.subarray(0, end).toString('utf8');
      rest = rest.subarray(end + 1);
    }
    if (rest.length > longestLine) rest = Buffer.alloc(0);
  }
}
