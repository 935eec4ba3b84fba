import { Prisma } from '../../../../generated/prisma/client';
import { isPoolOpen } from '../run';
import type { JobHolder } from './job';

/**
 * SQL: the pool `hp` of the agent that holds the job `j` is no longer open to its workspace, or to tests of modules.
 */
export const isClosed = `EXISTS (SELECT 1 FROM run_worker hk JOIN agent_pool ha ON ha.id = hk.agent_pool_id
   LEFT JOIN run hr ON hr.id = j.run_id LEFT JOIN tool_run ht ON ht.id = j.phase_id
   LEFT JOIN workspace hw ON hw.id = coalesce(hr.workspace_id, ht.workspace_id) LEFT JOIN project hp ON hp.id = hw.project_id
  WHERE hk.id = j.worker_id AND NOT CASE WHEN hw.id IS NULL THEN ha.organization_scoped AND ha.organization_id = ht.organization_id
        ELSE ${isPoolOpen({ w: 'hw', p: 'hp', o: '' }, 'hk.agent_pool_id')} END)`;

/** SQL: the job `j` is held by this worker, in this attempt, and the pool of the agent is still open to it. */
export const isHeld = ({ workerId, attempt }: JobHolder, states = "'claimed', 'started'"): Prisma.Sql =>
  Prisma.sql`j.worker_id = ${workerId} AND j.attempt = ${attempt} AND j.state IN (${Prisma.raw(states)}) AND NOT ${Prisma.raw(isClosed)}`;
