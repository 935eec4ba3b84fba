import type { CommandSpec } from '../command';
import { relation } from '../migration/resource';
import {
  attributesOf,
  findService,
  organizationFlag,
  organizationOf,
  type ServiceFlags,
  workspaceOf,
} from '../workspaces/service';

interface WorkspaceFlags extends ServiceFlags {
  search?: string;
  tags?: string;
  description?: string;
  executionMode?: string;
  workingDirectory?: string;
  varFile?: string[];
  toolVersion?: string;
  autoApply?: boolean;
  project?: string;
  reason?: string;
  force?: boolean;
}

const columns = ['name', 'execution-mode', 'locked', 'resource-count', 'terraform-version', 'auto-apply', 'updated-at'];
const named = { '<name>': 'the workspace: its name, or its id' } as const;

/** `ws …`: workspaces. */
export const workspaceCommands: readonly CommandSpec[] = [
  {
    name: 'ws list',
    help: 'List the workspaces of an organization.',
    flags: {
      ...organizationFlag,
      '--search <text>': 'only those whose name contains this',
      '--tags <names>': 'only those with all these tags, separated by commas',
    },
    examples: ['ws list -organization=harbour', 'ws list -search=web -tags=prod'],
    async run(context, flags: WorkspaceFlags) {
      const query = new URLSearchParams({
        ...(flags.search ? { 'search[name]': flags.search } : {}),
        ...(flags.tags ? { 'search[tags]': flags.tags } : {}),
      }).toString();
      const path = `organizations/${organizationOf(context, flags)}/workspaces${query && `?${query}`}`;
      const found = await findService(context).list(path);
      const rows = found.map(({ attributes = {}, id }) => [
        attributes.name,
        attributes['execution-mode'],
        attributes.locked,
        attributes['resource-count'],
        id,
      ]);
      context.output.rows(found, ['name', 'runs', 'locked', 'resources', 'id'], rows);
    },
  },
  {
    name: 'ws show',
    help: 'Show a workspace.',
    args: named,
    flags: organizationFlag,
    examples: ['ws show -organization=harbour web', 'ws show ws-6fJqZ1aTn8bC2d3E'],
    async run(context, flags: WorkspaceFlags, name: string) {
      const found = await workspaceOf(context, findService(context), flags, name);
      const run = relation(found, 'current-run');
      context.output.show(found, { id: found.id, ...attributesOf(found, columns), 'current run': run });
    },
  },
  {
    name: 'ws create',
    help: 'Create a workspace.',
    args: { '<name>': 'the workspace' },
    flags: {
      ...organizationFlag,
      '--description <text>': 'what it is for',
      '--execution-mode <mode>': 'where its runs take place: remote, local or agent',
      '--working-directory <path>': 'folder of the configuration in which runs work',
      '--var-file <path>': { help: 'variables file in the configuration; repeat for more', repeatable: true },
      '--tool-version <version>': { help: 'version of the tool for runs', also: ['--terraform-version'] },
      '--project <id>': 'the project it belongs to',
      '--auto-apply': 'apply plans without asking',
    },
    examples: ['ws create -organization=harbour -execution-mode=local web'],
    async run(context, flags: WorkspaceFlags, name: string) {
      const project = flags.project && { project: { data: { type: 'projects', id: flags.project } } };
      const found = await findService(context).create(`organizations/${organizationOf(context, flags)}/workspaces`, {
        type: 'workspaces',
        attributes: {
          name,
          description: flags.description,
          'execution-mode': flags.executionMode,
          'working-directory': flags.workingDirectory,
          'var-files': flags.varFile,
          'terraform-version': flags.toolVersion,
          'auto-apply': flags.autoApply,
        },
        ...(project ? { relationships: project } : {}),
      });
      context.output.show(found, { id: found.id, ...attributesOf(found, columns) });
    },
  },
  {
    name: 'ws delete',
    help: 'Delete a workspace. If it manages resources, this requires --force.',
    args: named,
    flags: {
      ...organizationFlag,
      '--force': { help: 'even if it manages resources; they are not destroyed', also: ['--f'] },
    },
    examples: ['ws delete -organization=harbour web'],
    async run(context, flags: WorkspaceFlags, name: string) {
      const service = findService(context);
      const { id } = await workspaceOf(context, service, flags, name);
      if (flags.force) await service.remove(`workspaces/${id}`);
      else await service.act(`workspaces/${id}/actions/safe-delete`);
      context.output.note(`deleted: ${name}`);
    },
  },
  {
    name: 'ws lock',
    also: ['state lock'],
    help: 'Lock a workspace, so that no one else can write its state.',
    args: named,
    flags: { ...organizationFlag, '--reason <text>': 'shown to others' },
    examples: ['ws lock -organization=harbour -reason=maintenance web'],
    async run(context, flags: WorkspaceFlags, name: string) {
      const service = findService(context);
      const { id } = await workspaceOf(context, service, flags, name);
      await service.act(`workspaces/${id}/actions/lock`, { reason: flags.reason ?? '' });
      context.output.note(`locked: ${name}`);
    },
  },
  {
    name: 'ws unlock',
    also: ['state unlock'],
    help: 'Unlock a workspace.',
    args: named,
    flags: { ...organizationFlag, '--force': { help: 'also if another user locked it', also: ['--f'] } },
    examples: ['ws unlock -organization=harbour web'],
    async run(context, flags: WorkspaceFlags, name: string) {
      const service = findService(context);
      const { id } = await workspaceOf(context, service, flags, name);
      await service.act(`workspaces/${id}/actions/${flags.force ? 'force-unlock' : 'unlock'}`);
      context.output.note(`unlocked: ${name}`);
    },
  },
];
