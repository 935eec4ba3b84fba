import type { Keyring } from '@keystead/keyring';
import { type Database, still } from '../../../kernel/database/database';
import { effectiveBindings, listOfWorkspace } from '../../workspaces/tags/service';
import type { Variable } from '../../workspaces/variables/variable';
import { find } from '../runs/run';

const everything = { number: 1, size: 1000, offset: 0 };
const orNull = (addresses: readonly string[]) => (addresses.length === 0 ? null : addresses);

/**
 * The content of the import `tfrun`, with the data that this service has: a run, its workspace, project and
 * organization.
 */
export async function runImport(
  db: Database,
  keyring: Keyring,
  runId: string,
  variables: readonly Variable[],
): Promise<Record<string, unknown>> {
  const run = still(await find(db, keyring, runId));
  const id = run.workspaceId;
  const include = { project: { select: { id: true, name: true } } };
  const workspace = still((await db.prisma.workspace.findUnique({ where: { id }, include })) ?? undefined);
  const author = run.createdById
    ? await db.prisma.user.findUnique({ where: { id: run.createdById }, select: { username: true } })
    : null;
  const bindings = (await effectiveBindings(db, [id])).get(id) ?? [];
  const { items: tags } = await listOfWorkspace(db, id, everything);
  return {
    id: run.id,
    created_at: run.createdAt.toISOString(),
    created_by: author?.username ?? run.createdById ?? '',
    message: run.message ?? '',
    commit_sha: null,
    is_destroy: run.isDestroy,
    refresh: run.refresh,
    refresh_only: run.refreshOnly,
    replace_addrs: orNull(run.replaceAddrs),
    speculative: run.planOnly,
    target_addrs: orNull(run.targetAddrs),
    project: workspace.project,
    variables: Object.fromEntries([
      ...run.variables.map(({ key }) => [key, { category: 'terraform', sensitive: false }]),
      ...variables.map(({ key, category, sensitive }) => [key, { category, sensitive }]),
    ]),
    organization: { name: run.organization },
    workspace: {
      id,
      name: workspace.name,
      created_at: workspace.createdAt.toISOString(),
      description: workspace.description,
      execution_mode: run.executionMode,
      auto_apply: workspace.autoApply,
      tags: [...new Set([...tags.map(({ name }) => name), ...bindings.map(({ key }) => key)])],
      tag_bindings: bindings.map(({ key, value, inheritedFrom }) => ({
        key,
        value: value ?? null,
        inherited: inheritedFrom !== null,
      })),
      working_directory: workspace.workingDirectory,
      vcs_repo:
        workspace.vcsIdentifier === null
          ? null
          : {
              identifier: workspace.vcsIdentifier,
              display_identifier: workspace.vcsIdentifier,
              branch: workspace.vcsBranch ?? '',
              ingress_submodules: workspace.vcsIngressSubmodules,
            },
    },
  };
}
