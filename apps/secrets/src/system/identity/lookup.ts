import { Refusal } from '@keystead/refusal';
import { z } from 'zod';
import type { Identity } from '../../kernel/identity/identity';
import type { Mounts } from '../../kernel/mounts/mounts';
import { id, string } from '../../sdk/fields';
import { type Path, path } from '../../sdk/path';
import { data, empty } from '../../sdk/reply';
import { entityOutput, groupOutput } from './outputs';
import { shownEntity, shownGroup } from './responses';

const LookupInput = z.object({
  id: id().optional().describe('ID of the entity or group.'),
  name: string().optional().describe('Name of the entity or group.'),
  alias_id: id().optional().describe('ID of an alias.'),
  alias_name: string().optional().describe('Name of an alias. Requires alias_mount_accessor.'),
  alias_mount_accessor: string().optional().describe('Accessor of the alias’s mount. Requires alias_name.'),
});
type LookupInput = z.output<typeof LookupInput>;

/** Finds entities and groups by id, name or alias. */
export function lookupPaths({ entities, groups, entityAliases, groupAliases }: Identity, mounts: Mounts): Path[] {
  return [
    path('lookup/entity', {
      summary: 'Finds an entity.',
      write: {
        operationId: 'entity-look-up',
        summary: 'Find an entity by ID, name or alias. 204 if there is none.',
        output: entityOutput,
        input: LookupInput,
        async run({ input, namespace }) {
          checkQuery(input);
          const find = async () => {
            if (input.id) return entities.find(namespace.uuid, input.id);
            if (input.name) return entities.findByName(namespace.uuid, input.name);
            const alias = input.alias_id
              ? await entityAliases.find(namespace.uuid, input.alias_id)
              : await byMount(mounts, namespace.uuid, input, (mount, name) => entityAliases.findByName(mount, name));
            return alias && entities.find(namespace.uuid, alias.entityId);
          };
          const found = await find();
          return found ? data(shownEntity(mounts, namespace.id, found)) : empty;
        },
      },
    }),
    path('lookup/group', {
      summary: 'Finds a group.',
      write: {
        operationId: 'group-look-up',
        summary: 'Find a group by ID, name or alias. 204 if there is none.',
        output: groupOutput,
        input: LookupInput,
        async run({ input, namespace }) {
          checkQuery(input);
          const find = async () => {
            if (input.id) return groups.find(namespace.uuid, input.id);
            if (input.name) return groups.findByName(namespace.uuid, input.name);
            const alias = input.alias_id
              ? await groupAliases.find(namespace.uuid, input.alias_id)
              : await byMount(mounts, namespace.uuid, input, (mount, name) => groupAliases.findByName(mount, name));
            return alias && groups.find(namespace.uuid, alias.groupId);
          };
          const found = await find();
          return found ? data(shownGroup(mounts, namespace.id, found)) : empty;
        },
      },
    }),
  ];
}

function checkQuery({ id, name, alias_id, alias_name, alias_mount_accessor }: LookupInput): void {
  const count = [id, name, alias_id, alias_name || alias_mount_accessor].filter(Boolean).length;
  if (count === 0) throw new Refusal('invalid', 'query parameter not supplied');
  if (count > 1)
    throw new Refusal('invalid', 'query parameter conflict; please supply distinct set of query parameters');
  if (Boolean(alias_name) !== Boolean(alias_mount_accessor)) {
    throw new Refusal('invalid', "both 'alias_name' and 'alias_mount_accessor' needs to be set");
  }
}

async function byMount<T>(
  mounts: Mounts,
  namespaceId: string,
  { alias_name: name, alias_mount_accessor: accessor }: LookupInput,
  find: (mountId: string, name: string) => Promise<T | undefined>,
): Promise<T | undefined> {
  const mount = mounts.findByAccessor(accessor!);
  return mount && mount.namespaceId === namespaceId ? find(mount.uuid, name!) : undefined;
}
