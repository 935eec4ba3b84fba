import { z } from 'zod';
import type { Identity } from '../../kernel/identity/identity';
import type { Mounts } from '../../kernel/mounts/mounts';
import type { Call } from '../../sdk/call';
import { anyCase, commaList, id, idList, keyValues, string } from '../../sdk/fields';
import { PageInput, pageOf } from '../../sdk/paging';
import { operation, type Path, path } from '../../sdk/path';
import { data, empty, keys, missing } from '../../sdk/reply';
import { groupOutput, groupResult, listOutput } from './outputs';
import { shownGroup } from './responses';

const GroupInput = z.object({
  id: id().optional().describe('The group to change.'),
  name: anyCase(string()).optional().describe('Name of the group. Unique in its namespace, ignoring case.'),
  type: string().optional().describe('internal (the default), or external: logins determine the members.'),
  metadata: keyValues().optional().describe('Metadata: key-value pairs that policy templates can use.'),
  policies: anyCase(commaList()).optional().describe('Policies that all members of the group have.'),
  member_entity_ids: idList().optional().describe('IDs of the entities in the group.'),
  member_group_ids: idList()
    .optional()
    .describe('IDs of the groups in the group. Their members are also members of this group.'),
});
type GroupInput = z.output<typeof GroupInput>;

/** Groups: internal, external, nested. */
export function groupPaths({ groups }: Identity, mounts: Mounts): Path[] {
  const write = async (
    { input, namespace }: Call<unknown, GroupInput>,
    ref: { id?: string; name?: string },
    name = input.name,
  ) => {
    const { type, metadata, policies, member_entity_ids: memberEntityIds, member_group_ids: memberGroupIds } = input;
    const fields = { name, type: type || undefined, metadata, policies, memberEntityIds, memberGroupIds };
    const { group, created } = await groups.write(namespace.uuid, ref, fields);
    return created ? data({ id: group.id, name: group.name }) : empty;
  };
  const list = (by: 'id' | 'name') =>
    operation({
      summary: by === 'id' ? 'List the IDs of the groups.' : 'List the names of the groups.',
      input: PageInput,
      output: listOutput,
      async run({ input, namespace }) {
        const found = await groups.list(namespace.uuid, by, pageOf(input));
        if (by === 'name') return keys(found.map(({ name }) => name));
        const info = found.map(({ id, name, members, parents }) => [
          id,
          { name, num_member_entities: members, num_parent_groups: parents },
        ]);
        return keys(
          found.map(({ id }) => id),
          Object.fromEntries(info),
        );
      },
    });
  return [
    path('group', {
      summary: 'Creates and changes groups.',
      write: {
        summary: 'Create a group, or change the one with this ID or name.',
        output: groupResult,
        input: GroupInput,
        run: (call) => write(call, call.input.id ? { id: call.input.id } : { name: call.input.name }),
      },
    }),
    path('group/id', { summary: 'Groups by ID.', list: list('id') }),
    path('group/id/:id', {
      summary: 'A group by ID.',
      params: { id: 'segment' },
      folds: { id: 'ascii-case' },
      read: {
        summary: 'Read a group.',
        output: groupOutput,
        async run({ params, namespace }) {
          const found = await groups.find(namespace.uuid, params.id);
          return found ? data(shownGroup(mounts, namespace.id, found)) : missing;
        },
      },
      write: {
        summary: 'Change a group.',
        input: GroupInput.omit({ id: true }),
        run: (call) => write(call, { id: call.params.id }),
      },
      delete: {
        summary: 'Delete a group and its alias. Also succeeds if it does not exist.',
        async run({ params, namespace }) {
          await groups.delete(namespace.uuid, { id: params.id });
          return empty;
        },
      },
    }),
    path('group/name', { summary: 'Groups by name.', list: list('name') }),
    path('group/name/:name', {
      summary: 'A group by name.',
      params: { name: 'segment' },
      folds: { name: 'ascii-case' },
      read: {
        summary: 'Read a group.',
        output: groupOutput,
        async run({ params, namespace }) {
          const found = await groups.findByName(namespace.uuid, params.name);
          return found ? data(shownGroup(mounts, namespace.id, found)) : missing;
        },
      },
      write: {
        summary: 'Create or change a group.',
        output: groupResult,
        input: GroupInput.omit({ id: true, name: true }),
        run: (call) => write(call as Call<unknown, GroupInput>, { name: call.params.name }, call.written?.shown),
      },
      delete: {
        summary: 'Delete a group and its alias. Also succeeds if it does not exist.',
        async run({ params, namespace }) {
          await groups.delete(namespace.uuid, { name: params.name });
          return empty;
        },
      },
    }),
  ];
}
