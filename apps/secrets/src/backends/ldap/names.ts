import { z } from 'zod';
import { collection } from '../../sdk/collection';
import { anyCase, commaList } from '../../sdk/fields';
import { namesPath, recordPath } from '../../sdk/records';
import { empty } from '../../sdk/reply';

const policies = anyCase(commaList()).describe('Policies of the user, or of the members of the group.');
const groups = commaList().describe('Groups of the user, in addition to those in the directory.');

const User = z.object({ groups, policies });
const Group = z.object({ policies });
/** The local settings of a user; `name` has the case of the first write. */
export const users = collection('user/', User.extend({ name: z.string() }));
/** The local settings of a group. */
const groupsHere = collection('group/', Group.extend({ name: z.string() }));

/** The local settings of users, by name, ignoring case. */
export const userPaths = [
  namesPath('users', users, { summary: 'Users with local groups or policies.', list: 'List the names.' }),
  recordPath('users/:name', users, {
    folds: { name: 'case' },
    params: { name: 'segment' },
    summary: 'Local groups and policies of a user, in addition to those from the directory.',
    read: {
      summary: 'Read the local groups and policies of a user.',
      output: z.object({ groups: z.string(), policies: z.array(z.string()) }),
      show: (user) => ({ groups: user.groups.join(','), policies: user.policies }),
    },
    write: {
      summary: 'Replace the local groups and policies of a user.',
      update: 'replace',
      defaults: { groups: [], policies: [] },
      input: User,
      run({ params, written: spelling, input, storage }) {
        users.put(storage, params.name, { ...input, name: spelling?.shown ?? params.name });
        return empty;
      },
    },
    delete: 'Delete the local groups and policies of a user. The user can still log in.',
  }),
];

/** The local settings of groups, by name. */
export const groupPaths = [
  namesPath('groups', groupsHere, { summary: 'Groups with policies.', list: 'List the names.' }),
  recordPath('groups/:name', groupsHere, {
    folds: { name: 'case' },
    params: { name: 'segment' },
    summary: 'Policies of the members of a group.',
    read: {
      summary: 'Read the policies of a group.',
      output: z.object({ policies: z.array(z.string()) }),
      show: (group) => ({ policies: group.policies }),
    },
    write: {
      summary: 'Set the policies of a group.',
      update: 'replace',
      defaults: { policies: [] },
      input: Group,
      run({ params, written: spelling, input, storage }) {
        groupsHere.put(storage, params.name, { ...input, name: spelling?.shown ?? params.name });
        return empty;
      },
    },
    delete: 'Remove the policies of a group.',
  }),
];
