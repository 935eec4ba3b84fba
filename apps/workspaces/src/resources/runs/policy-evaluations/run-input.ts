import type { Database } from '../../../kernel/database/database';
import { effectiveBindings } from '../../workspaces/tags/service';
import { finalVariables } from '../../workspaces/variable-sets/effective-variables';
import { modeOf } from '../runs/run';

interface JudgedRun {
  readonly workspace_id: string;
  readonly run: object;
  readonly workspace: object;
}

const mode = modeOf({ w: 'w', p: 'p', o: 'o' });
const facts = `
  SELECT w.id AS workspace_id,
         json_build_object('id', r.id, 'created_at', r.created_at, 'created_by', coalesce(u.username, ''), 'message', r.message,
           'source', r.source, 'commit_sha', coalesce(i.commit_sha, ''), 'is_destroy', r.is_destroy, 'refresh', r.refresh,
           'refresh_only', r.refresh_only, 'replace_addrs', r.replace_addrs, 'target_addrs', r.target_addrs, 'speculative', r.plan_only,
           'project', json_build_object('id', p.id, 'name', p.name), 'organization', json_build_object('name', o.name)) AS run,
         json_build_object('id', w.id, 'name', w.name, 'created_at', w.created_at, 'description', w.description,
           'execution_mode', ${mode}, 'auto_apply', w.auto_apply, 'working_directory', w.working_directory,
           'secrets_role', coalesce(w.secrets_role, p.secrets_role),
           'tags', ARRAY(SELECT t.name FROM workspace_tag x JOIN tag t ON t.id = x.tag_id WHERE x.workspace_id = w.id ORDER BY t.name),
           'vcs_repo', CASE WHEN w.vcs_identifier IS NOT NULL THEN json_build_object('identifier', w.vcs_identifier,
             'display_identifier', w.vcs_identifier, 'branch', w.vcs_branch, 'ingress_submodules', w.vcs_ingress_submodules) END) AS workspace
    FROM run r JOIN workspace w ON w.id = r.workspace_id JOIN project p ON p.id = w.project_id
    JOIN organization o ON o.id = w.organization_id
    LEFT JOIN user_account u ON r.created_by_type = 'users' AND u.id = r.created_by_id
    LEFT JOIN ingress_attributes i ON i.configuration_version_id = r.configuration_version_id
   WHERE r.id = $1`;

/**
 * The input of policies about a run, under the names that HCP Terraform uses, with the run's role at the secrets
 * service. It contains only the names of variables. Undefined if the run no longer exists.
 */
export async function runInput(db: Database, runId: string): Promise<object | undefined> {
  const [found] = await db.prisma.$queryRawUnsafe<JudgedRun[]>(facts, runId);
  if (!found) return undefined;
  const { workspace_id: id } = found;
  const bindings = (await effectiveBindings(db, [id])).get(id) ?? [];
  const variables = await finalVariables(db, id);
  return {
    ...found.run,
    variables: Object.fromEntries(variables.map(({ key, category, sensitive }) => [key, { category, sensitive }])),
    workspace: { ...found.workspace, tag_bindings: bindings.map(({ key, value }) => ({ key, value })) },
  };
}
