import { invalid } from '@keystead/jsonapi';
import type { Database } from '../../../kernel/database/database';
import type { RegistryModule } from './module';
import type { ModuleChanges } from './schema';

/** Whether a module is tested, and where its tests run. */
export type TestColumns = Pick<RegistryModule, 'testsEnabled' | 'testExecutionMode' | 'testAgentPoolId'>;

/** The settings of a new module. */
export const untested: TestColumns = { testsEnabled: false, testExecutionMode: null, testAgentPoolId: null };

const place = (name: string) => ['testConfig', name];

/**
 * The test settings of a module after a change. Throws `invalid` for the agent mode without a pool, and for a pool that
 * is not open to the whole organization.
 */
export async function testColumns(
  db: Database,
  organizationId: string,
  before: TestColumns & { readonly registryName?: string },
  sent: ModuleChanges['testConfig'],
): Promise<TestColumns> {
  const { testsEnabled, testExecutionMode, testAgentPoolId } = before;
  if (!sent) return { testsEnabled, testExecutionMode, testAgentPoolId };
  if (before.registryName === 'public') throw invalid('testConfig', 'is only for private modules');
  const { agentPoolId: pool } = sent;
  const mode = sent.agentExecutionMode ?? (pool ? 'agent' : testExecutionMode);
  if (mode === 'remote' && pool) throw invalid(place('agentPoolId'), 'must not be set with the execution mode remote');
  const testsAfter = sent.testsEnabled ?? testsEnabled;
  if (mode !== 'agent') return { testsEnabled: testsAfter, testExecutionMode: mode, testAgentPoolId: null };
  const poolId = pool ?? testAgentPoolId;
  if (!poolId) throw invalid(place('agentPoolId'), "can't be blank with the execution mode agent");
  const open = { id: poolId, organizationId, organizationScoped: true };
  if ((await db.prisma.agentPool.count({ where: open })) === 0) {
    throw invalid(place('agentPoolId'), 'was not found among the agent pools that are open to the whole organization');
  }
  return { testsEnabled: testsAfter, testExecutionMode: mode, testAgentPoolId: poolId };
}
