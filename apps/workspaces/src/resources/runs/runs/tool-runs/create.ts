import type { Keyring } from '@keystead/keyring';
import { Refusal } from '@keystead/refusal';
import { Prisma } from '../../../../generated/prisma/client';
import { type Actor, recordChange } from '../../../../kernel/audit/audit';
import { type Database, still } from '../../../../kernel/database/database';
import { deleteOlder } from '../../../../kernel/database/delete-older';
import { newId } from '../../../../kernel/database/ids';
import { lockRow } from '../../../../kernel/database/lock-row';
import { tellOfWork } from '../../../../kernel/database/notices';
import type { RunVariable } from '../run';
import { movePhase } from '../transition';
import {
  belongsTo,
  find,
  sealVariables,
  type ToolRun,
  type ToolRunKind,
  type ToolRunOwner,
  type ToolRunSettings,
} from './tool-run';

/** The maximum number of unfinished runs of the tool for a module or a workspace. */
const mostUnfinished = 50;
/** The maximum number of finished runs of the tool for a module or a workspace; older ones are deleted. */
const mostKept = 100;

/** A new run of the tool: its owner, inputs and settings. */
export interface NewToolRun {
  readonly owner: ToolRunOwner;
  readonly organizationId: string;
  /** The name of the module or the workspace. */
  readonly name: string;
  readonly files: { readonly configurationVersionId: string } | { readonly moduleVersionId: string };
  readonly settings: ToolRunSettings;
  readonly variables: readonly RunVariable[];
  readonly infraVersion: string | null;
  readonly source: string;
}

const idOf = { test: 'trun', query: 'qry' } as const;
const typeOf = { test: 'test-runs', query: 'queries' } as const;

/** The audit event of a run of the tool. */
export const changeOf = (
  { id, kind, organizationId }: Pick<ToolRun, 'id' | 'kind' | 'organizationId'>,
  verb: string,
) => ({
  organizationId,
  action: `${kind === 'test' ? 'test-run' : 'query'}.${verb}`,
  target: { type: typeOf[kind], id, name: id },
});

/**
 * Queues a run of the tool, in a transaction. Throws `conflict` while its module or workspace has too many unfinished
 * runs of the tool.
 */
export async function create(tx: Database, keyring: Keyring, actor: Actor, input: NewToolRun): Promise<ToolRun> {
  const { owner, organizationId, name, files, settings, variables, infraVersion, source } = input;
  const isOfModule = 'moduleId' in owner;
  await lockRow(tx, isOfModule ? 'registry_module' : 'workspace', isOfModule ? owner.moduleId : owner.workspaceId);
  if ((await tx.prisma.toolRun.count({ where: { ...owner, finishedAt: null } })) >= mostUnfinished) {
    throw new Refusal(
      'conflict',
      `${name} has ${mostUnfinished} unfinished ${isOfModule ? 'tests' : 'queries'}: wait, or cancel some`,
    );
  }
  await prune(tx, owner);
  const kind: ToolRunKind = isOfModule ? 'test' : 'query';
  const id = newId(idOf[kind]);
  await tx.prisma.toolRun.create({
    data: {
      id,
      kind,
      organizationId,
      ...owner,
      ...files,
      settings: { ...settings } as Prisma.InputJsonObject,
      variables: sealVariables(keyring, id, variables),
      infraVersion,
      source,
      createdByType: actor.type,
      createdById: actor.id,
    },
  });
  await tx.prisma.runPhase.create({ data: { id, kind } });
  await movePhase(tx, id, 'queued');
  await tx.prisma.runJob.createMany({ data: { id: newId('job'), phaseId: id, kind } });
  await tellOfWork(tx);
  const toolRun = still(await find(tx, kind, id));
  await recordChange(tx, actor, { ...changeOf(toolRun, 'create'), after: { ...owner, ...files, source } });
  return toolRun;
}

/** Deletes finished runs of the tool except the newest, with the uploads that only they used. */
async function prune(tx: Database, owner: ToolRunOwner): Promise<void> {
  await deleteOlder(tx, 'tool_run', Prisma.sql`${belongsTo(owner)} AND t.finished_at IS NOT NULL`, mostKept - 1);
  if (!('moduleId' in owner)) return;
  await tx.prisma.$executeRaw`
    DELETE FROM configuration_version c WHERE c.module_id = ${owner.moduleId} AND c.created_at < now() - interval '1 day'
       AND NOT EXISTS (SELECT 1 FROM tool_run t WHERE t.configuration_version_id = c.id)`;
}
