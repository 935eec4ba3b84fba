import { Refusal } from '@keystead/refusal';
import { z } from 'zod';
import { mountPath } from '../../../sdk/fields';
import { path } from '../../../sdk/path';
import { pathProblem, withoutOuterSlashes } from '../../../sdk/path-text';
import { data, missing } from '../../../sdk/reply';
import type { MountParts } from './mount-changes';
import { mountMoves } from './mount-moves';

const fixed = ['sys/', 'cubbyhole/', 'identity/', 'auth/token/'];

/** Moving mounts. */
export function remountPaths(parts: MountParts) {
  const { mounts } = parts;
  const moves = mountMoves(parts);
  return [
    path('remount', {
      summary: 'Moves a mount to another path.',
      sudo: true,
      responseFormat: 'injected',
      write: {
        summary: 'Move a mount to another path. Its leases are revoked; its data is kept.',
        operationId: 'remount',
        input: z.object({
          from: mountPath().optional().describe('The current path.'),
          to: mountPath().optional().describe('The new path.'),
        }),
        output: z.object({ migration_id: z.string() }),
        auditClear: 'all',
        async run({ input, namespace, warn }) {
          const from = tidy(input.from, 'from');
          const to = tidy(input.to, 'to');
          const mount = await mounts.seek(namespace.uuid, from);
          if (fixed.includes(from)) throw new Refusal('invalid', `cannot remount "${from}"`);
          if (fixed.some((reserved) => to.startsWith(reserved))) {
            throw new Refusal('invalid', `cannot remount to destination ${to}`);
          }
          if (!mount) throw new Refusal('invalid', `no matching mount at "${from}"`);
          if (from.startsWith('auth/') !== to.startsWith('auth/')) {
            throw new Refusal('invalid', 'cannot move between secret engines and auth methods');
          }
          const conflict = mounts.conflict(namespace.uuid, to);
          if (conflict && conflict.uuid !== mount.uuid)
            throw new Refusal('invalid', `path is already in use at ${conflict.path}`);
          const id = await moves.begin(mount, to);
          warn(
            'Mount move has been queued. Progress will be reported in the server log, tagged with the returned migration_id',
          );
          return data({ migration_id: id });
        },
      },
    }),
    path('remount/status/:id', {
      summary: 'The status of a move.',
      params: { id: 'uuid' },
      read: {
        summary: 'Read the status of a move.',
        operationId: 'remount-status',
        output: z.looseObject({ migration_id: z.string() }),
        auditClear: 'all',
        async run({ namespace, params }) {
          const found = await moves.find(namespace.uuid, params.id);
          if (!found) return missing;
          return data({
            migration_id: params.id,
            migration_info: { source_mount: found.source, status: found.status, target_mount: found.target },
          });
        },
      },
    }),
  ];
}

function tidy(path: string | undefined, field: string): string {
  const unslashed = withoutOuterSlashes(path ?? '');
  if (unslashed === '') throw new Refusal('invalid', `'${field}' is required`);
  if (pathProblem(unslashed) !== undefined || unslashed.length > 1024) {
    const message = `'${field}' must be a path in its simplest form, of characters that can be seen`;
    throw new Refusal('invalid', message, [{ path: [field], message }]);
  }
  return `${unslashed}/`;
}
