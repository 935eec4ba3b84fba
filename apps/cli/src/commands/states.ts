import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { ExactNumber, parseExact } from '@keystead/envelope';
import type { CommandSpec } from '../command';
import type { Remote } from '../migration/remote';
import type { RemoteResource } from '../migration/resource';
import { exitCodes, Problem } from '../problem';
import {
  attributesOf,
  findService,
  organizationOf,
  type ServiceFlags,
  workspaceFlags,
  workspaceOf,
} from '../workspaces/service';

interface StateFlags extends ServiceFlags {
  version?: string;
  force?: boolean;
}

// Larger states are uploaded to a separate link.
const INLINE_BYTES = 1024 * 1024;
const columns = ['serial', 'status', 'created-at', 'size', 'terraform-version'];

/** `state …`: the versions of a workspace's state. */
export const stateCommands: readonly CommandSpec[] = [
  {
    name: 'state list',
    help: 'List the versions of a state, newest first.',
    flags: workspaceFlags,
    examples: ['state list -organization=harbour -workspace=web'],
    async run(context, flags: StateFlags) {
      const service = findService(context);
      const workspace = await workspaceOf(context, service, flags);
      const query = new URLSearchParams({
        'filter[workspace][name]': String(workspace.attributes?.name),
        'filter[organization][name]': decodeURIComponent(await organizationNameOf(context, flags, workspace)),
      });
      const found = await service.list(`state-versions?${query.toString()}`);
      const rows = found.map(({ id, attributes = {} }) => [
        id,
        attributes.serial,
        attributes.status,
        attributes.size,
        attributes['created-at'],
      ]);
      context.output.rows(found, ['id', 'serial', 'status', 'bytes', 'created'], rows);
    },
  },
  {
    name: 'state show',
    help: 'Show a version of a state, without its content.',
    args: { '[id]': 'the version [the current one]' },
    flags: workspaceFlags,
    examples: ['state show -organization=harbour -workspace=web', 'state show sv-6fJqZ1aTn8bC2d3E'],
    async run(context, flags: StateFlags, id?: string) {
      const found = await versionOf(context, findService(context), flags, id);
      context.output.show(found, { id: found.id, ...attributesOf(found, columns) });
    },
  },
  {
    name: 'state pull',
    help: 'Print a version of a state exactly as it was uploaded.',
    args: { '[id]': 'the version [the current one]' },
    flags: workspaceFlags,
    examples: ['state pull -organization=harbour -workspace=web'],
    async run(context, flags: StateFlags, id?: string) {
      const service = findService(context);
      const found = await versionOf(context, service, flags, id);
      const link = found.attributes?.['hosted-state-download-url'];
      const bytes = typeof link === 'string' ? await service.download(link) : undefined;
      if (!bytes)
        throw new Problem(`the content of ${found.id} is deleted, or hidden from this token`, exitCodes.refused);
      context.output.raw(bytes.toString());
    },
  },
  {
    name: 'state push',
    help: 'Lock the workspace and upload a state as a new version.',
    args: { '<file>': 'the state; - for standard input' },
    flags: {
      ...workspaceFlags,
      '--force': { help: 'even if it is not newer than the current version', also: ['--f'] },
    },
    examples: ['state push -organization=harbour -workspace=web terraform.tfstate'],
    async run(context, flags: StateFlags, file: string) {
      const bytes = file === '-' ? Buffer.from(await context.ask.all()) : readFileSync(file);
      const { serial, lineage } = stateIn(bytes, file);
      const service = findService(context);
      const workspace = await workspaceOf(context, service, flags);
      const version = await underLock(service, workspace, async () => {
        const found = await service.create(`workspaces/${workspace.id}/state-versions`, {
          type: 'state-versions',
          attributes: {
            serial,
            lineage,
            md5: createHash('md5').update(bytes).digest('hex'),
            ...(flags.force ? { force: true } : {}),
            ...(bytes.length <= INLINE_BYTES ? { state: bytes.toString('base64') } : {}),
          },
        });
        const link = found.attributes?.['hosted-state-upload-url'];
        if (typeof link === 'string' && bytes.length > INLINE_BYTES) await service.upload(link, bytes);
        return found;
      });
      context.output.show(version, { id: version.id, serial });
    },
  },
  {
    name: 'state rollback',
    help: 'Roll back to an earlier version. Creates a new version.',
    args: { '<id>': 'the earlier version' },
    flags: workspaceFlags,
    examples: ['state rollback -organization=harbour -workspace=web sv-6fJqZ1aTn8bC2d3E'],
    async run(context, flags: StateFlags, id: string) {
      const service = findService(context);
      const workspace = await workspaceOf(context, service, flags);
      const found = await underLock(service, workspace, () =>
        service.patch(`workspaces/${workspace.id}/state-versions`, {
          type: 'state-versions',
          relationships: { 'rollback-state-version': { data: { type: 'state-versions', id } } },
        }),
      );
      context.output.show(found, { id: found.id, ...attributesOf(found, columns) });
    },
  },
];

async function organizationNameOf(
  context: Parameters<typeof organizationOf>[0],
  flags: StateFlags,
  workspace: RemoteResource,
): Promise<string> {
  const data = workspace.relationships?.organization?.data;
  return data && !Array.isArray(data) ? data.id : organizationOf(context, flags);
}

async function versionOf(
  context: Parameters<typeof workspaceOf>[0],
  service: Remote,
  flags: StateFlags,
  id: string | undefined,
): Promise<RemoteResource> {
  if (id) return service.get(`state-versions/${encodeURIComponent(id)}`);
  const workspace = await workspaceOf(context, service, flags);
  const path = `workspaces/${workspace.id}/current-state-version`;
  return service.get(path);
}

/** Locks the workspace while `work` runs. A lock that the caller already holds is kept. */
async function underLock<T>(service: Remote, { id, attributes }: RemoteResource, work: () => Promise<T>): Promise<T> {
  if (attributes?.locked) return work();
  await service.act(`workspaces/${id}/actions/lock`, { reason: 'keystead state' });
  try {
    return await work();
  } finally {
    await service.act(`workspaces/${id}/actions/unlock`);
  }
}

function stateIn(bytes: Buffer, file: string): { serial: number | ExactNumber; lineage?: string } {
  let parsed: unknown;
  try {
    parsed = parseExact(bytes.toString());
  } catch {
    // Reported below.
  }
  const { serial, lineage, version } = (parsed ?? {}) as Record<string, unknown>;
  const isSerial = typeof serial === 'number' || serial instanceof ExactNumber;
  if (!isSerial || version === undefined) throw new Problem(`${file} is not a state`, exitCodes.file);
  return { serial, ...(typeof lineage === 'string' && lineage ? { lineage } : {}) };
}
