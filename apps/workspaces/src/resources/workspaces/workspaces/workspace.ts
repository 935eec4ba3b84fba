import type { Keyring } from '@keystead/keyring';
import type { Reach } from '@keystead/outside';
import { notFound } from '@keystead/refusal';
import type { Workspace as Row } from '../../../generated/prisma/client';
import type { Access } from '../../../kernel/access/access';
import type { Actor } from '../../../kernel/audit/audit';
import type { Database } from '../../../kernel/database/database';
import { rowMapper } from '../../../kernel/database/rows';
import type { SiteSettings } from '../../../kernel/endpoints/environment';
import type { Edition } from '../../../kernel/installation/edition';
import { requireFeatureSet } from '../../../kernel/installation/feature-sets';
import { allowsAtLeast } from '../../../kernel/installation/infra-versions';

/** Where a workspace's runs take place. */
export type ExecutionMode = 'remote' | 'local' | 'agent';

/** A workspace, with the data of other rows that its rendering and its rules need. */
export interface Workspace extends Row {
  /** Name of the organization. */
  readonly organization: string;
  /** Whether the organization turns assessments on for all its workspaces that support them. */
  readonly assessmentsEnforced: boolean;
  readonly organizationRevision: bigint;
  readonly projectRevision: bigint;
  readonly organizationMode: ExecutionMode;
  readonly organizationPoolId: string | null;
  readonly projectMode: ExecutionMode | null;
  readonly projectPoolId: string | null;
  /** How long workspaces of the project may be idle, such as `14d`; null if the project sets no limit. */
  readonly projectAutoDestroy: string | null;
  /** Whether its workspaces may be deleted while they manage resources; null means the setting of the organization. */
  readonly projectForceDelete: boolean | null;
  readonly tagNames: readonly string[];
  readonly variableIds: readonly string[];
  /** The ids of the outputs of the current state. */
  readonly outputIds: readonly string[];
  /** Figures about the last 30 finished runs; null before the first finished run. */
  readonly kpis: {
    runs: number;
    failures: number;
    policyFailures: number;
    planMs: number | null;
    applyMs: number | null;
  } | null;
  /** The address of the host, from the connection behind the repository. */
  readonly vcsHttpUrl: string | null;
  readonly vcsProvider: string | null;
  /** The repository as its host has described it. */
  readonly vcsRepositoryId: string | null;
  readonly vcsDisplayIdentifier: string | null;
  readonly vcsRepositoryUrl: string | null;
  /** The plan of the organization; null in the self-hosted edition. */
  readonly featureSet: string | null;
  readonly retentionId: string | null;
  /** The number of days for which old data is kept; also null if the policy keeps everything. */
  readonly retentionDays: number | null;
}

const columns = `
SELECT w.*, o.name AS organization, o.revision AS organization_revision, p.revision AS project_revision,
       o.default_execution_mode AS organization_mode, o.assessments_enforced,
       o.default_agent_pool_id AS organization_pool_id, p.execution_mode AS project_mode,
       p.agent_pool_id AS project_pool_id, p.auto_destroy_activity_duration AS project_auto_destroy,
       p.allow_force_delete_workspaces AS project_force_delete, r.id AS retention_id, r.delete_older_than_n_days AS retention_days,
       (SELECT s.feature_set FROM subscription s WHERE s.organization_id = w.organization_id) AS feature_set,
       c.http_url AS vcs_http_url, c.service_provider AS vcs_provider,
       g.id AS vcs_repository_id, g.display_identifier AS vcs_display_identifier, g.http_url AS vcs_repository_url`;

/** All columns of a `Workspace`, from rows named `w`. Conditions follow. */
export const selectWorkspaces = `${columns},
       ARRAY(SELECT t.name FROM workspace_tag wt JOIN tag t ON t.id = wt.tag_id
              WHERE wt.workspace_id = w.id ORDER BY wt.position) AS tag_names,
       ARRAY(SELECT v.id FROM variable v WHERE v.workspace_id = w.id ORDER BY v.key, v.id) AS variable_ids,
       ARRAY(SELECT so.id FROM state_output so WHERE so.state_version_id = w.current_state_version_id
              ORDER BY so.name) AS output_ids,
       (SELECT CASE WHEN count(*) = 0 THEN NULL ELSE json_build_object(
                 'runs', count(*)::int, 'failures', count(*) FILTER (WHERE l.status = 'errored')::int,
                 'policyFailures', count(*) FILTER (WHERE l.policies_failed)::int,
                 'planMs', avg(l.plan_ms)::int, 'applyMs', avg(l.apply_ms)::int) END
          FROM (SELECT u.status, u.policies_failed, u.plan_ms, u.apply_ms FROM run u WHERE u.workspace_id = w.id AND u.finished_at IS NOT NULL
                   AND NOT u.is_assessment
                 ORDER BY u.created_at DESC LIMIT 30) l) AS kpis`;

/** The columns of a `Workspace` for rows that were just inserted and have no related rows yet. */
export const selectNewWorkspaces = `${columns},
       '{}'::text[] AS tag_names, '{}'::text[] AS variable_ids, '{}'::text[] AS output_ids, NULL::json AS kpis`;

/** The tables behind `selectWorkspaces`; `rows` replaces the workspace table. */
export const fromWorkspaces = (rows = 'workspace'): string => `
  FROM ${rows} w
  JOIN organization o ON o.id = w.organization_id AND o.removed_at IS NULL
  JOIN project p ON p.id = w.project_id
  LEFT JOIN retention_policy r ON r.workspace_id = w.id
  LEFT JOIN oauth_token a ON a.id = w.oauth_token_id
  LEFT JOIN oauth_client c ON c.id = a.oauth_client_id
  LEFT JOIN vcs_repository g ON g.oauth_token_id = w.oauth_token_id AND g.identifier = w.vcs_identifier`;

/**
 * The rows with the ids of `$1`, one look-up each. With a plain join, a table that was never analyzed may be read
 * completely through the index of its organization instead.
 */
export const workspacesById = `(SELECT f.* FROM unnest($1::text[]) AS k(key)
    CROSS JOIN LATERAL (SELECT * FROM workspace x WHERE x.id = k.key LIMIT 1) f)`;

/**
 * Workspaces by id. Planning takes eight times as long as executing, and PostgreSQL would plan for each id, because it
 * assumes ten ids in an unknown list. Quick reads, in contrast, are planned only once.
 */
const readById = {
  name: 'workspace_by_id',
  quick: true,
  text: `${selectWorkspaces}, w.id AS key ${fromWorkspaces(workspacesById)}`,
};

/** Workspaces by organization and name, `acme/web`; the organization ignoring case. */
const readByName = {
  name: 'workspace_by_name',
  text: `${selectWorkspaces}, k.key ${fromWorkspaces()}
    JOIN unnest($1::text[]) AS k(key)
      ON lower(o.name) = lower(split_part(k.key, '/', 1)) AND w.name = split_part(k.key, '/', 2)`,
};

/** A workspace from a row of these statements. */
export const workspaceOf = rowMapper<Workspace>(['revision', 'organization_revision', 'project_revision']);

interface Mode {
  readonly mode: ExecutionMode;
  readonly poolId: string | null;
}

/** The mode of the project, otherwise of the organization, for a workspace that sets none. */
export function inheritedMode(workspace: Workspace): Mode {
  return workspace.projectMode === null
    ? { mode: workspace.organizationMode, poolId: workspace.organizationPoolId }
    : { mode: workspace.projectMode, poolId: workspace.projectPoolId };
}

/** The workspace's own mode, otherwise the inherited mode. Only this function decides about inheritance. */
export function effectiveMode(workspace: Workspace): Mode {
  return workspace.executionMode === null
    ? inheritedMode(workspace)
    : { mode: workspace.executionMode as ExecutionMode, poolId: workspace.agentPoolId };
}

const assessedSince = '0.15.4';

/**
 * Whether assessments are on: requested by the workspace or by its organization, and possible. The request is kept
 * while they are not possible. Spec: Workspaces
 */
export function isAssessed(workspace: Workspace): boolean {
  const { assessmentsEnabled, assessmentsEnforced, featureSet } = workspace;
  return (assessmentsEnabled || assessmentsEnforced) && featureSet !== null && canBeAssessed(workspace);
}

/**
 * Whether assessments are possible: included in the organization's plan, if it has one, and supported with the
 * workspace's mode and version.
 */
export function canBeAssessed(workspace: Workspace): boolean {
  const { featureSet, infraVersion } = workspace;
  if (featureSet !== null && !requireFeatureSet(featureSet).assesses) return false;
  return effectiveMode(workspace).mode !== 'local' && allowsAtLeast(infraVersion, assessedSince);
}

/** The workspace with a `ws-…` id. */
export async function find(db: Database, id: string): Promise<Workspace | undefined> {
  const row = await db.readOne(readById, id);
  return row && workspaceOf(row);
}

/** The workspace with a name in an organization. */
export async function findByName(db: Database, organization: string, name: string): Promise<Workspace | undefined> {
  if (organization.includes('/') || name.includes('/')) return undefined;
  const row = await db.readOne(readByName, `${organization}/${name}`);
  return row && workspaceOf(row);
}

/** Workspaces by id, in no particular order; unknown ids are left out. */
export async function findMany(db: Database, ids: readonly string[]): Promise<Workspace[]> {
  const found = await Promise.all(ids.map((id) => find(db, id)));
  return found.filter((workspace) => workspace !== undefined);
}

/** A workspace that must exist. Throws `missing`. */
export async function requireWorkspace(db: Database, id: string): Promise<Workspace> {
  const found = await find(db, id);
  if (found === undefined) throw notFound();
  return found;
}

/** The caller who changes a workspace, and the data that the rules need. */
export interface WorkspaceCaller {
  readonly actor: Actor;
  readonly access: Access;
  readonly edition: Edition;
  readonly settings: SiteSettings;
  /** The data for calls to Git hosts; without a reach, no host is called. */
  readonly vcs: { readonly keyring: Keyring; readonly reach: Reach | undefined };
}

/** Statuses of finished runs. Lists of workspaces separate them from unfinished runs, which are few. */
export const finishedStatuses = ['applied', 'planned_and_finished', 'errored', 'canceled', 'discarded'] as const;
