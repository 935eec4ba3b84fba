import type { Keyring } from '@keystead/keyring';
import type { Reach } from '@keystead/outside';
import { Prisma } from '../../../generated/prisma/client';
import type { Database } from '../../../kernel/database/database';
import { Claims, inSeconds, keptFor, type Taken } from '../../connections/git-hosts/claims';
import { Turns } from '../../connections/git-hosts/turns';
import { callTask } from '../../workspaces/run-tasks/call-task';
import { findKey } from '../../workspaces/run-tasks/run-task';
import { settleStage } from '../runs/stages/settle';
import { type ResultStatus, toStatus } from '../runs/stages/stages';
import { lockRunIfThere } from '../runs/transition';
import { isAsked, silence, tokenOf } from './callback';

/** The dependencies of sending requests to tasks. */
export interface TaskDeps {
  readonly db: Database;
  readonly keyring: Keyring;
  readonly reach: Reach;
  readonly publicUrl: string;
}

/** The maximum number of attempts. Requests that are not accepted are sent again after 2, 4, 8 and 16 seconds. */
const mostAttempts = 5;

interface DueTask {
  readonly task_stage_id: string;
  readonly run_task_id: string;
  readonly task_url: string;
  readonly enforcement_level: string;
  readonly sent_at: Date | null;
}

const claims = new Claims({
  table: 'task_result',
  keys: ['id'],
  lease: keptFor,
  only: "x.status IN ('pending', 'running')",
  tieBreak: 'created_at',
});

/**
 * Sends due requests to the services of tasks, and ends results whose task sent nothing for too long. Safe to call
 * concurrently.
 */
export function performTasks(deps: TaskDeps, turns = new Turns()): Promise<void> {
  const { db } = deps;
  const columns = Prisma.sql`x.task_stage_id, x.run_task_id, x.task_url, x.enforcement_level, x.sent_at`;
  return turns.each(
    50,
    (busy) => claims.take<DueTask>(db, busy, columns),
    (task) => perform(deps, task),
    (task) => claims.keep(db, task),
  );
}

async function perform(deps: TaskDeps, task: Taken<'id', DueTask>): Promise<void> {
  const { db, keyring, reach } = deps;
  if (task.sent_at !== null) return conclude(deps, task, 'errored', 'The service of the task did not answer in time');
  if (!(await isAsked(db, task.run_task_id, task.task_url))) {
    return conclude(deps, task, 'errored', 'The task was deleted, or its address has changed: start another run');
  }
  const key = await findKey(db, keyring, task.run_task_id);
  const body = await bodyOf(deps, task);
  if (!body) return claims.remove(db, task);
  const problem = await callTask(reach, { url: task.task_url, key }, body);
  if (problem === undefined) {
    const next = Prisma.sql`LEAST(now() + ${silence}, ends_at)`;
    await claims.end(db, task, next, Prisma.sql`sent_at = now(), ${toStatus('running')}`);
  } else if (task.attempts < mostAttempts) {
    const message = `The request to the task is sent again: ${problem}`.slice(0, 1000);
    await claims.end(db, task, inSeconds(2 ** task.attempts), Prisma.sql`message = ${message}`);
  } else {
    await conclude(deps, task, 'unreachable', `The request to the task failed: ${problem}`);
  }
}

/** Ends a result without an answer, unless an answer has arrived in the meantime. */
async function conclude(
  { db, keyring }: TaskDeps,
  task: Taken<'id', DueTask>,
  status: ResultStatus,
  message: string,
): Promise<void> {
  const [stage] = await db.prisma.$queryRaw<{ run_id: string }[]>`
    SELECT run_id FROM task_stage WHERE id = ${task.task_stage_id}`;
  if (!stage) return;
  await db.transaction(async (tx) => {
    const run = await lockRunIfThere(tx, keyring, stage.run_id);
    if (!run) return;
    const columns = Prisma.sql`${toStatus(status)}, message = ${message.slice(0, 1000)}`;
    if (await claims.end(tx, task, Prisma.sql`NULL`, columns)) await settleStage(tx, run, task.task_stage_id);
  });
}

interface Facts {
  readonly run_id: string;
  readonly message: string | null;
  readonly run_created_at: Date;
  readonly username: string | null;
  readonly plan_only: boolean;
  readonly stage: string;
  readonly workspace_id: string;
  readonly workspace: string;
  readonly working_directory: string | null;
  readonly organization: string;
  readonly configuration_id: string | null;
  readonly branch: string | null;
  readonly commit_url: string | null;
  readonly pull_request_url: string | null;
  readonly clone_url: string | null;
}

/** The body of a request, with the names of the protocol. */
async function bodyOf(
  { db, keyring, publicUrl }: TaskDeps,
  { id, task_stage_id, enforcement_level }: Taken<'id', DueTask>,
) {
  const [facts] = await db.prisma.$queryRaw<Facts[]>`
    SELECT s.run_id, s.stage, r.message, r.created_at AS run_created_at, u.username, r.plan_only, w.id AS workspace_id,
           w.name AS workspace, w.working_directory, o.name AS organization, r.configuration_version_id AS configuration_id,
           i.branch, i.commit_url, i.pull_request_url, i.clone_url
      FROM task_stage s JOIN run r ON r.id = s.run_id JOIN workspace w ON w.id = r.workspace_id
      JOIN organization o ON o.id = w.organization_id
      LEFT JOIN user_account u ON r.created_by_type = 'users' AND u.id = r.created_by_id
      LEFT JOIN ingress_attributes i ON i.configuration_version_id = r.configuration_version_id
     WHERE s.id = ${task_stage_id}`;
  if (!facts) return undefined;
  const own = `${publicUrl}/api/v2/task-results/${id}`;
  const page = `${publicUrl}/app/${facts.organization}/${facts.workspace}`;
  return {
    payload_version: 1,
    stage: facts.stage,
    access_token: tokenOf(keyring, id),
    capabilities: { outcomes: true },
    configuration_version_download_url: `${own}/configuration`,
    configuration_version_id: facts.configuration_id,
    is_speculative: facts.plan_only,
    organization_name: facts.organization,
    ...(facts.stage === 'pre_plan' ? {} : { plan_json_api_url: `${own}/plan-json` }),
    run_app_url: `${page}/runs/${facts.run_id}`,
    run_created_at: facts.run_created_at.toISOString(),
    run_created_by: facts.username ?? '',
    run_id: facts.run_id,
    run_message: facts.message ?? '',
    task_result_callback_url: `${own}/callback`,
    task_result_enforcement_level: enforcement_level,
    task_result_id: id,
    vcs_branch: facts.branch,
    vcs_commit_url: facts.commit_url,
    vcs_pull_request_url: facts.pull_request_url,
    vcs_repo_url: facts.clone_url,
    workspace_app_url: page,
    workspace_id: facts.workspace_id,
    workspace_name: facts.workspace,
    workspace_working_directory: facts.working_directory,
  };
}
