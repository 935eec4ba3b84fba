import { Refusal } from '@keystead/refusal';
import { z } from 'zod';
import type { Identity } from '../../kernel/identity/identity';
import type { Mounts } from '../../kernel/mounts/mounts';
import type { Call } from '../../sdk/call';
import { anyCase, bool, commaList, id, idList, keyValues, string } from '../../sdk/fields';
import { PageInput, pageOf } from '../../sdk/paging';
import { operation, type Path, path } from '../../sdk/path';
import { data, empty, keys, missing } from '../../sdk/reply';
import { entityOutput, entityResult, listOutput } from './outputs';
import { mountFields, shownEntity } from './responses';

const EntityInput = z.object({
  id: id().optional().describe('The entity to change.'),
  name: anyCase(string()).optional().describe('Name of the entity. Unique in its namespace, ignoring case.'),
  metadata: keyValues().optional().describe('Metadata: key-value pairs that policy templates can use.'),
  policies: anyCase(commaList()).optional().describe('Policies that all tokens of the entity have.'),
  disabled: bool().optional().describe('A disabled entity can neither log in nor use its tokens.'),
});
type EntityInput = z.output<typeof EntityInput>;

const MergeInput = z.object({
  from_entity_ids: idList().optional().describe('IDs of the entities to merge into the target.'),
  to_entity_id: id().optional().describe('ID of the entity that remains.'),
  force: bool().optional().describe('If both have a secret for the same MFA method, keep that of the target.'),
  conflicting_alias_ids_to_keep: commaList()
    .optional()
    .describe('IDs of the aliases to keep if both entities have an alias on the same mount.'),
});

/** Entities: the users and machines behind logins. */
export function entityPaths(identity: Identity, mounts: Mounts): Path[] {
  const { entities } = identity;
  const write = async (
    call: Call<unknown, EntityInput>,
    ref: { id?: string; name?: string },
    name = call.input.name,
  ) => {
    const { metadata, policies, disabled } = call.input;
    const { entity, created } = await entities.write(call.namespace.uuid, ref, { name, metadata, policies, disabled });
    return created ? data({ aliases: null, id: entity.id, name: entity.name }) : empty;
  };
  const list = (by: 'id' | 'name') =>
    operation({
      summary: by === 'id' ? 'List the IDs of the entities.' : 'List the names of the entities.',
      input: PageInput,
      output: listOutput,
      async run({ input, namespace }) {
        const found = await entities.list(namespace.uuid, by, pageOf(input));
        if (by === 'name') return keys(found.map(({ name }) => name));
        const info = found.map(({ id, name, aliases }) => [
          id,
          {
            aliases: aliases.map((alias) => ({
              id: alias.id,
              mount_accessor: alias.mountAccessor,
              ...mountFields(mounts, alias.mountAccessor),
              name: alias.name,
            })),
            name,
          },
        ]);
        return keys(
          found.map(({ id }) => id),
          Object.fromEntries(info),
        );
      },
    });
  return [
    path('entity', {
      summary: 'Creates and changes entities.',
      write: {
        summary: 'Create an entity, or change the one with this ID or name.',
        output: entityResult,
        input: EntityInput,
        run: (call) => write(call, call.input.id ? { id: call.input.id } : { name: call.input.name }),
      },
    }),
    path('entity/id', { summary: 'Entities by ID.', list: list('id') }),
    path('entity/id/:id', {
      summary: 'An entity by ID.',
      params: { id: 'segment' },
      folds: { id: 'ascii-case' },
      read: {
        summary: 'Read an entity.',
        output: entityOutput,
        async run({ params, namespace }) {
          const found = await entities.find(namespace.uuid, params.id);
          return found ? data(shownEntity(mounts, namespace.id, found)) : missing;
        },
      },
      write: {
        summary: 'Change an entity.',
        input: EntityInput.omit({ id: true }),
        run: (call) => write(call, { id: call.params.id }),
      },
      delete: {
        summary: 'Delete an entity and its aliases. Also succeeds if it does not exist.',
        async run({ params, namespace }) {
          await entities.delete(namespace.uuid, [params.id]);
          return empty;
        },
      },
    }),
    path('entity/name', { summary: 'Entities by name.', list: list('name') }),
    path('entity/name/:name', {
      summary: 'An entity by name.',
      params: { name: 'segment' },
      folds: { name: 'ascii-case' },
      read: {
        summary: 'Read an entity.',
        output: entityOutput,
        async run({ params, namespace }) {
          const found = await entities.findByName(namespace.uuid, params.name);
          return found ? data(shownEntity(mounts, namespace.id, found)) : missing;
        },
      },
      write: {
        summary: 'Create or change an entity.',
        output: entityResult,
        input: EntityInput.omit({ id: true, name: true }),
        run: (call) => write(call as Call<unknown, EntityInput>, { name: call.params.name }, call.written?.shown),
      },
      delete: {
        summary: 'Delete an entity and its aliases. Also succeeds if it does not exist.',
        async run({ params, namespace }) {
          await entities.deleteByName(namespace.uuid, params.name);
          return empty;
        },
      },
    }),
    path('entity/batch-delete', {
      summary: 'Deletes several entities.',
      write: {
        operationId: 'entity-batch-delete',
        summary: 'Delete entities and their aliases.',
        input: z.object({ entity_ids: idList().optional().describe('IDs of the entities to delete.') }),
        async run({ input, namespace }) {
          if (!input.entity_ids?.length) throw new Refusal('invalid', 'missing entity ids to delete');
          await entities.delete(namespace.uuid, input.entity_ids);
          return empty;
        },
      },
    }),
    path('entity/merge', {
      summary: 'Merges several entities into one.',
      write: {
        operationId: 'entity-merge',
        summary: 'Merge entities into one.',
        input: MergeInput,
        async run({ input, namespace }) {
          if (!input.to_entity_id) throw new Refusal('invalid', 'missing entity id to merge to');
          if (!input.from_entity_ids?.length) throw new Refusal('invalid', 'missing entity ids to merge from');
          await identity.merge(namespace.uuid, {
            toId: input.to_entity_id,
            fromIds: [...new Set(input.from_entity_ids)],
            force: input.force ?? false,
            aliasIdsToKeep: input.conflicting_alias_ids_to_keep ?? [],
          });
          return empty;
        },
      },
    }),
  ];
}
