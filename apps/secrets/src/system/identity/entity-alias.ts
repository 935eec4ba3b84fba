import { z } from 'zod';
import type { Identity } from '../../kernel/identity/identity';
import type { Mounts } from '../../kernel/mounts/mounts';
import type { Call } from '../../sdk/call';
import { id, keyValues, olderName, string } from '../../sdk/fields';
import { PageInput, pageOf } from '../../sdk/paging';
import { type Path, path } from '../../sdk/path';
import { data, empty, keys, missing } from '../../sdk/reply';
import { aliasOutput, aliasResult, listOutput } from './outputs';
import { mountFields, mountOf, shownEntityAlias } from './responses';

const AliasInput = z.object({
  id: id().optional().describe('The alias to change.'),
  name: string().optional().describe('Name of the user at the auth mount.'),
  mount_accessor: string().optional().describe('Accessor of the auth mount.'),
  canonical_id: id().optional().describe('ID of the entity. By default a new entity is created.'),
  entity_id: olderName(id(), 'canonical_id'),
  custom_metadata: keyValues().optional().describe('Metadata: key-value pairs that policy templates can use.'),
});
type AliasInput = z.output<typeof AliasInput>;

/** Entity aliases: the names of an entity at auth mounts. */
export function entityAliasPaths({ entityAliases }: Identity, mounts: Mounts): Path[] {
  const write = async ({ input, namespace }: Call<unknown, AliasInput>, id: string | undefined) => {
    const { alias, outcome } = await entityAliases.write(namespace.uuid, id, {
      name: input.name,
      mount: mountOf(mounts, namespace.uuid, input.mount_accessor),
      entityId: input.canonical_id || input.entity_id,
      customMetadata: input.custom_metadata,
    });
    return outcome === 'unchanged' ? empty : data({ canonical_id: alias.entityId, id: alias.id });
  };
  return [
    path('entity-alias', {
      summary: 'Creates and changes entity aliases.',
      write: {
        summary: 'Create an alias, or change the one with this ID, or with this mount and name.',
        input: AliasInput,
        output: aliasResult,
        run: (call) => write(call, call.input.id || undefined),
      },
    }),
    path('entity-alias/id', {
      summary: 'Entity aliases by ID.',
      list: {
        summary: 'List the IDs of the entity aliases.',
        input: PageInput,
        output: listOutput,
        async run({ input, namespace }) {
          const found = await entityAliases.list(namespace.uuid, pageOf(input));
          const info = found.map((alias) => [
            alias.id,
            {
              canonical_id: alias.entityId,
              custom_metadata: alias.customMetadata,
              local: alias.local,
              metadata: alias.metadata,
              mount_accessor: alias.mountAccessor,
              ...mountFields(mounts, alias.mountAccessor),
              name: alias.name,
            },
          ]);
          return keys(
            found.map(({ id }) => id),
            Object.fromEntries(info),
          );
        },
      },
    }),
    path('entity-alias/id/:id', {
      summary: 'An entity alias.',
      params: { id: 'segment' },
      folds: { id: 'ascii-case' },
      read: {
        summary: 'Read an entity alias.',
        output: aliasOutput,
        async run({ params, namespace }) {
          const found = await entityAliases.find(namespace.uuid, params.id);
          return found ? data({ ...shownEntityAlias(mounts, found), namespace_id: namespace.id }) : missing;
        },
      },
      write: {
        summary: 'Change an entity alias.',
        input: AliasInput.omit({ id: true }),
        output: aliasResult,
        run: (call) => write(call, call.params.id),
      },
      delete: {
        summary: 'Delete an entity alias. The entity is kept. Also succeeds if the alias does not exist.',
        async run({ params, namespace }) {
          await entityAliases.delete(namespace.uuid, params.id);
          return empty;
        },
      },
    }),
  ];
}
