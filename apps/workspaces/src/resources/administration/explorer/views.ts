import { Prisma } from '../../../generated/prisma/client';

/** How a field is compared, sorted and shown. */
export type FieldKind = 'text' | 'number' | 'flag' | 'moment';

/** The views across the workspaces of an organization. */
export interface ExplorerView {
  /** The resource type of the view's rows in answers. */
  readonly type: string;
  readonly fields: Readonly<Record<string, FieldKind>>;
  /** The fields that identify a row. They are the last sort keys. */
  readonly key: readonly string[];
  /**
   * The rows with these keys, if rows can be found by key, so that the cost of a page does not grow with its offset.
   */
  readonly among?: (keys: readonly string[]) => Prisma.Sql;
  /** The rows, with a column for each field, of the workspaces `w` for which `where` is true. */
  rows(where: Prisma.Sql): Prisma.Sql;
}

/** The maximum number of names of workspaces in one row; `workspace-count` counts them all. */
const mostNames = 100;

const used = { workspace_count: 'number', workspaces: 'text' } as const;
const namesOf = Prisma.sql`count(*)::int AS workspace_count,
  array_to_string((array_agg(w.name ORDER BY w.name COLLATE "C"))[1:${mostNames}::int], ', ') AS workspaces`;

/**
 * `registry.terraform.io/hashicorp/aws` from `module.a.provider["registry.terraform.io/hashicorp/aws"].west`; older
 * states have `provider.aws`. Uses string functions: a regular expression would take three times as long as the rest of
 * the query.
 */
const sourceOf = (address: Prisma.Sql): Prisma.Sql => Prisma.sql`
  CASE WHEN strpos(${address}, 'provider["') > 0 THEN split_part(split_part(${address}, 'provider["', -1), '"', 1)
       ELSE coalesce(substring(${address} FROM 'provider\\.([^.]+)'), ${address}) END`;
const lastPart = (text: Prisma.Sql): Prisma.Sql => Prisma.sql`split_part(${text}, '/', -1)`;

/** One field of all resources in a state, without duplicates. */
const listed = (from: Prisma.Sql, name: Prisma.Sql): Prisma.Sql =>
  Prisma.sql`(SELECT string_agg(DISTINCT ${name}, ', ') FROM ${from})`;
const providers = Prisma.sql`jsonb_object_keys(v.providers) AS p(address)`;
const modules = Prisma.sql`workspace_requirement q WHERE q.workspace_id = w.id AND q.kind = 'module'`;
/** The name of a module: `registry.example.com/acme/network/aws` has its provider at the end. */
const moduleName = Prisma.sql`split_part(w.source, '/', -2)`;

/** The views by their names in requests. */
export const views = {
  workspaces: {
    type: 'visibility-workspace',
    key: ['external_id'],
    among: (keys) => Prisma.sql`w.id = ANY(${[...keys]})`,
    fields: {
      all_checks_succeeded: 'flag',
      checks_errored: 'number',
      checks_failed: 'number',
      checks_passed: 'number',
      checks_unknown: 'number',
      current_run_applied_at: 'moment',
      current_run_external_id: 'text',
      current_run_status: 'text',
      drifted: 'flag',
      external_id: 'text',
      module_count: 'number',
      modules: 'text',
      organization_name: 'text',
      project_external_id: 'text',
      project_name: 'text',
      provider_count: 'number',
      providers: 'text',
      resources_drifted: 'number',
      resources_undrifted: 'number',
      state_version_terraform_version: 'text',
      tags: 'text',
      vcs_repo_identifier: 'text',
      workspace_created_at: 'moment',
      workspace_name: 'text',
      workspace_terraform_version: 'text',
      workspace_updated_at: 'moment',
    },
    rows: (where) => Prisma.sql`
      SELECT w.id AS external_id, w.name AS workspace_name, w.infra_version AS workspace_terraform_version,
             w.created_at AS workspace_created_at, w.updated_at AS workspace_updated_at,
             w.vcs_identifier AS vcs_repo_identifier, o.name AS organization_name,
             p.id AS project_external_id, p.name AS project_name,
             r.id AS current_run_external_id, r.status AS current_run_status,
             (r.timestamps->>'applied-at')::timestamptz AS current_run_applied_at,
             coalesce(a.drifted, FALSE) AS drifted, coalesce(a.resources_drifted, 0) AS resources_drifted,
             coalesce(a.resources_undrifted, 0) AS resources_undrifted,
             a.id IS NOT NULL AND a.checks_failed + a.checks_errored + a.checks_unknown = 0 AS all_checks_succeeded,
             coalesce(a.checks_passed, 0) AS checks_passed, coalesce(a.checks_failed, 0) AS checks_failed,
             coalesce(a.checks_errored, 0) AS checks_errored, coalesce(a.checks_unknown, 0) AS checks_unknown,
             v.infra_version AS state_version_terraform_version,
             (SELECT count(DISTINCT ${sourceOf(Prisma.sql`p.address`)})::int FROM ${providers}) AS provider_count,
             ${listed(providers, sourceOf(Prisma.sql`p.address`))} AS providers,
             (SELECT count(DISTINCT q.source)::int FROM ${modules}) AS module_count,
             ${listed(modules, Prisma.sql`q.source || ':' || q.version`)} AS modules,
             ${listed(Prisma.sql`workspace_tag wt JOIN tag t ON t.id = wt.tag_id WHERE wt.workspace_id = w.id`, Prisma.sql`t.name`)} AS tags
        FROM workspace w JOIN organization o ON o.id = w.organization_id JOIN project p ON p.id = w.project_id
             LEFT JOIN run r ON r.id = w.current_run_id
             LEFT JOIN state_version v ON v.id = w.current_state_version_id
             LEFT JOIN assessment_result a ON a.id = w.current_assessment_result_id
       WHERE ${where}`,
  },
  modules: {
    type: 'visibility-module-version',
    key: ['source', 'version'],
    fields: { name: 'text', source: 'text', version: 'text', ...used },
    rows: (where) => Prisma.sql`
      SELECT ${moduleName} AS name, w.source, w.version, ${namesOf}
        FROM (SELECT DISTINCT w.name, q.source, q.version
                FROM workspace w JOIN workspace_requirement q ON q.workspace_id = w.id AND q.kind = 'module'
               WHERE ${where}) w
       GROUP BY w.source, w.version`,
  },
  providers: {
    type: 'visibility-provider-version',
    key: ['source'],
    fields: { name: 'text', source: 'text', version: 'text', ...used },
    rows: (where) => Prisma.sql`
      SELECT ${lastPart(Prisma.sql`w.source`)} AS name, w.source, NULL::text AS version, ${namesOf}
        FROM (SELECT DISTINCT w.name, ${sourceOf(Prisma.sql`p.address`)} AS source
                FROM workspace w JOIN state_version v ON v.id = w.current_state_version_id CROSS JOIN LATERAL ${providers}
               WHERE ${where}) w
       GROUP BY w.source`,
  },
  tf_versions: {
    type: 'visibility-tf-version',
    key: ['version'],
    fields: { version: 'text', ...used },
    rows: (where) => Prisma.sql`
      SELECT w.infra_version AS version, ${namesOf} FROM workspace w WHERE ${where} GROUP BY w.infra_version`,
  },
} as const satisfies Record<string, ExplorerView>;

export type ExplorerViewName = keyof typeof views;

/** Every field of every view. */
export const allFields: Readonly<Record<string, FieldKind>> = Object.assign(
  {},
  ...Object.values(views).map(({ fields }) => fields),
);
