import { Refusal } from '@keystead/refusal';
import { z } from 'zod';
import type { Identity } from '../../kernel/identity/identity';
import type { Mounts } from '../../kernel/mounts/mounts';
import type { Call } from '../../sdk/call';
import { id, string } from '../../sdk/fields';
import { PageInput, pageOf } from '../../sdk/paging';
import { type Path, path } from '../../sdk/path';
import { data, empty, keys, missing } from '../../sdk/reply';
import { aliasOutput, aliasResult, listOutput } from './outputs';
import { mountFields, mountOf, shownGroupAlias } from './responses';

const AliasInput = z.object({
  id: id().optional().describe('The alias to change.'),
  name: string().optional().describe('Name of the group at the auth mount; entity-<UUID> by default.'),
  mount_accessor: string().optional().describe('Accessor of the auth mount. Without it, no login matches the alias.'),
  canonical_id: id().optional().describe('ID of the group. By default a new external group is created.'),
});
type AliasInput = z.output<typeof AliasInput>;

/** Group aliases: the names of external groups at auth mounts. Spec: Group alias. */
export function groupAliasPaths({ groupAliases }: Identity, mounts: Mounts): Path[] {
  const write = async (call: Call<unknown, AliasInput>, id: string | undefined) => {
    const { input, namespace } = call;
    const mount = mountOf(mounts, namespace.uuid, input.mount_accessor);
    if (mount?.local) throw new Refusal('invalid', `mount accessor ${JSON.stringify(mount.accessor)} is a local mount`);
    const fields = { name: input.name, mount, groupId: input.canonical_id || undefined };
    const alias = id
      ? await groupAliases.update(namespace.uuid, id, fields)
      : await groupAliases.create(namespace.uuid, fields);
    if (alias.mountAccessor === '') call.warn('the alias has no mount accessor, so no login can match it');
    return data({ canonical_id: alias.groupId, id: alias.id });
  };
  return [
    path('group-alias', {
      summary: 'Creates and changes group aliases.',
      spec: 'Group alias',
      write: {
        summary: 'Create a group alias, or change the one with this ID.',
        input: AliasInput,
        output: aliasResult,
        run: (call) => write(call, call.input.id || undefined),
      },
    }),
    path('group-alias/id', {
      summary: 'Group aliases by ID.',
      spec: 'Group alias',
      list: {
        summary: 'List the IDs of the group aliases.',
        input: PageInput,
        output: listOutput,
        async run({ input, namespace }) {
          const found = await groupAliases.list(namespace.uuid, pageOf(input));
          const info = found.map((alias) => [
            alias.id,
            {
              canonical_id: alias.groupId,
              custom_metadata: null,
              local: false,
              metadata: null,
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
    path('group-alias/id/:id', {
      summary: 'A group alias.',
      spec: 'Group alias',
      params: { id: 'segment' },
      folds: { id: 'ascii-case' },
      read: {
        summary: 'Read a group alias.',
        output: aliasOutput,
        async run({ params, namespace }) {
          const found = await groupAliases.find(namespace.uuid, params.id);
          return found ? data({ ...shownGroupAlias(mounts, found), namespace_id: namespace.id }) : missing;
        },
      },
      write: {
        summary: 'Change a group alias; omitted fields keep their values.',
        input: AliasInput.omit({ id: true }),
        output: aliasResult,
        run: (call) => write(call, call.params.id),
      },
      delete: {
        summary: 'Delete a group alias. The group is kept. Also succeeds if the alias does not exist.',
        async run({ params, namespace }) {
          await groupAliases.delete(namespace.uuid, params.id);
          return empty;
        },
      },
    }),
  ];
}
