import type { Keyring } from '@keystead/keyring';
import type { Run as Row } from '../../../generated/prisma/client';
import type { WorkspaceTarget } from '../../../kernel/access/access';
import type { Database } from '../../../kernel/database/database';
import { joined } from '../../../kernel/database/joined';
import { rowMapper } from '../../../kernel/database/rows';
import { workerSilenceSeconds } from '../../../kernel/installation/infra-versions';
import { forwarders } from '../../connections/forwarding/requests';
import { taskStages } from '../../workspaces/run-tasks/run-task';
import { queuedStatuses, waitingStatuses } from './statuses';

/** A value for one run: an expression of the configuration language. */
export interface RunVariable {
  readonly key: string;
  readonly value: string;
}

/** A token of the secrets service, by its accessor. */
export interface SecretsLogin {
  readonly phase: 'plan' | 'apply';
  readonly accessor: string;
  readonly namespace: string;
}

/** A run as transitions need it, with everything that is needed to check rights on it. */
export interface LockedRun extends Omit<Row, 'variables' | 'moduleVersions'> {
  readonly moduleVersions: readonly ModuleVersion[];
  readonly organizationId: string;
  readonly organization: string;
  readonly workspaceName: string;
  /** The data for permission checks. */
  readonly workspace: WorkspaceTarget;
  readonly planId: string;
  readonly planStatus: string;
  readonly hasChanges: boolean | null;
  readonly applyId: string;
  readonly variables: readonly RunVariable[];
  /** When the run was read, by the database's clock. */
  readonly readAt: Date;
  readonly executionMode: string;
  readonly lockedByType: string | null;
  readonly lockedById: string | null;
  /** The current run of the workspace, or the next run if no run is current. */
  readonly currentRunId: string | null;
}

/** A run, with everything that is needed to render it. */
export interface Run extends LockedRun {
  readonly eventIds: readonly string[];
  readonly commentIds: readonly string[];
  readonly taskStageIds: readonly string[];
  /** The tokens that its plan and its apply received from the secrets service, by their accessors. */
  readonly secretsLogins: readonly SecretsLogin[];
  /** The number of runs of the organization that are ahead of this run or in progress. */
  readonly position: number;
  readonly workersAlive: boolean;
  /** The versions of the tool that workers have. */
  readonly workerVersions: readonly string[];
  /**
   * Set while its commit has not been fetched: the number of failed attempts, and the agents or workers that fetch it.
   */
  readonly fetching: Fetching | null;
}

/** A version of a registry module that a plan tries. */
export interface ModuleVersion {
  /** The source with its host: `registry.example.com/acme/network/aws`. */
  readonly source: string;
  readonly version: string;
}

/** Why a commit waits. */
interface Fetching {
  readonly failures: number;
  /** The pool whose agents call the host; null if the service's workers call it. */
  readonly pool: string | null;
  readonly forwards: boolean;
}

/** Aliases of rows in a statement: a workspace, its project and its organization. */
interface Placed {
  readonly w: string;
  readonly p: string;
  readonly o: string;
}

/**
 * SQL: the execution mode of a workspace: its own, otherwise that of its project, otherwise that of the organization.
 */
export const modeOf = ({ w, p, o }: Placed): string =>
  `coalesce(${w}.execution_mode, ${p}.execution_mode, ${o}.default_execution_mode)`;

/** SQL: the agent pool of a workspace, from the same level as its mode. */
export const poolOf = ({ w, p, o }: Placed): string =>
  `CASE WHEN ${w}.execution_mode IS NOT NULL THEN ${w}.agent_pool_id
        WHEN ${p}.execution_mode IS NOT NULL THEN ${p}.agent_pool_id ELSE ${o}.default_agent_pool_id END`;

/** SQL: whether a workspace may use a pool. Default: its own pool. */
export const isPoolOpen = (
  at: Placed,
  pool = poolOf(at),
): string => `EXISTS (SELECT 1 FROM agent_pool ap WHERE ap.id = ${pool}
  AND NOT EXISTS (SELECT 1 FROM agent_pool_exclusion x WHERE x.agent_pool_id = ap.id AND x.workspace_id = ${at.w}.id)
  AND (ap.organization_scoped
    OR EXISTS (SELECT 1 FROM agent_pool_workspace x WHERE x.agent_pool_id = ap.id AND x.workspace_id = ${at.w}.id)
    OR EXISTS (SELECT 1 FROM agent_pool_project x WHERE x.agent_pool_id = ap.id AND x.project_id = ${at.p}.id)))`;

// Workers with a recent heartbeat. For remote runs, these are the workers of the service; for a workspace in agent
// mode, those of its pool.
const workersOf = (at: Placed): string => `run_worker k
  WHERE k.seen_at > now() - interval '${workerSilenceSeconds} seconds' AND k.ended_at IS NULL
    AND CASE ${modeOf(at)} WHEN 'remote' THEN k.agent_pool_id IS NULL
        WHEN 'agent' THEN k.agent_pool_id = ${poolOf(at)} AND k.token_id IS NOT NULL AND ${isPoolOpen(at)}
        ELSE false END`;

/** SQL: the versions of the tool on workers that may carry out runs of a workspace. */
export const workerVersions = (at: Placed): string =>
  `ARRAY(SELECT DISTINCT v FROM (SELECT unnest(k.versions) AS v FROM ${workersOf(at)}) offered ORDER BY v)`;

const quoted = (names: readonly string[]): string => names.map((name) => `'${name}'`).join(', ');

const places = { w: 'w', p: 'j', o: 'o' };

/** All columns of a `LockedRun`, from rows named `r`. */
const selectLocked = `
SELECT r.*, w.organization_id, w.project_id, w.name AS workspace_name, o.name AS organization,
       p.id AS plan_id, p.status AS plan_status, p.has_changes, a.id AS apply_id, now() AS read_at,
       w.locked_by_type, w.locked_by_id, w.current_run_id, ${modeOf(places)} AS execution_mode`;

/** All columns of a `Run`, from rows named `r`. Conditions follow. */
export const selectRuns = `${selectLocked},
       ARRAY(SELECT e.id FROM run_event e WHERE e.run_id = r.id ORDER BY e.number) AS event_ids,
       ARRAY(SELECT c.id FROM run_comment c WHERE c.run_id = r.id ORDER BY c.number) AS comment_ids,
       ARRAY(SELECT s.id FROM task_stage s WHERE s.run_id = r.id ORDER BY array_position(ARRAY[${quoted(taskStages)}], s.stage)) AS task_stage_ids,
       (SELECT coalesce(json_agg(json_build_object('phase', f.kind, 'accessor', f.secrets_accessor,
                 'namespace', coalesce(f.secrets_namespace, '')) ORDER BY f.kind DESC), '[]')
          FROM run_phase f WHERE f.run_id = r.id AND f.secrets_accessor IS NOT NULL) AS secrets_logins,
       CASE WHEN r.status NOT IN (${quoted(waitingStatuses)}) THEN 0 ELSE
         (SELECT count(*)::int FROM run q JOIN workspace v ON v.id = q.workspace_id
           WHERE v.organization_id = w.organization_id AND q.finished_at IS NULL AND q.number < r.number AND NOT q.is_assessment
             AND q.status IN (${quoted(queuedStatuses)})) END AS position,
       CASE WHEN r.status = 'pending' THEN
         (SELECT json_build_object('failures', i.fetch_failures, 'pool', ap.name,
                   'forwards', EXISTS (SELECT 1 FROM ${forwarders} AND k.agent_pool_id = ap.id))
            FROM configuration_version c JOIN ingress_attributes i ON i.configuration_version_id = c.id
            LEFT JOIN vcs_repository v ON v.id = i.repository_id
            LEFT JOIN oauth_token t ON t.id = v.oauth_token_id LEFT JOIN oauth_client oc ON oc.id = t.oauth_client_id
            LEFT JOIN agent_pool ap ON ap.id = CASE WHEN oc.id IS NULL THEN v.agent_pool_id ELSE oc.agent_pool_id END
           WHERE c.id = r.configuration_version_id AND c.status = 'fetching') END AS fetching,
       EXISTS (SELECT 1 FROM ${workersOf(places)}) AS workers_alive, ${workerVersions(places)} AS worker_versions`;

/** The tables behind `selectRuns`, without assessments. */
export const fromRuns = `
  FROM run r
  JOIN workspace w ON w.id = r.workspace_id AND NOT r.is_assessment
  JOIN project j ON j.id = w.project_id
  JOIN organization o ON o.id = w.organization_id AND o.removed_at IS NULL
  JOIN run_phase p ON p.run_id = r.id AND p.kind = 'plan'
  JOIN run_phase a ON a.run_id = r.id AND a.kind = 'apply'`;

/** The same tables for runs by id. */
const fromKeys = `
  FROM (SELECT * FROM run WHERE id = ANY($1) OFFSET 0) r
  ${joined('workspace', 'w', 'id = r.workspace_id')}
  ${joined('project', 'j', 'id = w.project_id')}
  ${joined('organization', 'o', 'id = w.organization_id AND removed_at IS NULL')}
  ${joined('run_phase', 'p', "run_id = r.id AND kind = 'plan'")}
  ${joined('run_phase', 'a', "run_id = r.id AND kind = 'apply'")}`;

const readLocked = { name: 'locked_run_by_id', text: `${selectLocked}, r.id AS key ${fromKeys}` };

/** Runs by id. */
export const readById = { name: 'run_by_id', text: `${selectRuns}, r.id AS key ${fromKeys} WHERE NOT r.is_assessment` };

const mapped = rowMapper<Omit<Run, 'variables' | 'workspace'> & { variables: Uint8Array | null; projectId: string }>([
  'number',
]);

/** The cell in which the variables of a run are sealed. */
export const variablesCell = (id: string) => ({ table: 'run', row: id, column: 'variables' });

/** A run from a row of these statements. */
export function runOf(keyring: Keyring, row: Record<string, unknown>): Run {
  const { variables, ...run } = mapped(row);
  const { workspaceId: id, projectId, organizationId } = run;
  const text = variables === null ? '[]' : keyring.open(variables, variablesCell(run.id)).toString('utf8');
  return {
    ...run,
    workspace: { id, projectId, organizationId },
    variables: JSON.parse(text) as RunVariable[],
  };
}

/** The run with a `run-…` id. */
export async function find(db: Database, keyring: Keyring, id: string): Promise<Run | undefined> {
  const row = await db.readOne(readById, id);
  return row && runOf(keyring, row);
}

/** A run or an assessment whose workspace is locked. */
export async function findLocked(tx: Database, keyring: Keyring, id: string): Promise<LockedRun | undefined> {
  const row = await tx.readOne(readLocked, id);
  return row && runOf(keyring, row);
}

/** Runs by id, in no particular order; unknown ids are left out. */
export async function findMany(db: Database, keyring: Keyring, ids: readonly string[]): Promise<Run[]> {
  const found = await Promise.all(ids.map((id) => find(db, keyring, id)));
  return found.filter((run) => run !== undefined);
}
