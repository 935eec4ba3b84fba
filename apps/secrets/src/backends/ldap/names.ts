import { z } from 'zod';
import { collection } from '../../sdk/collection';
import { anyCase, commaList } from '../../sdk/fields';
import { namesPath, recordPath } from '../../sdk/records';
import { empty } from '../../sdk/reply';

const policies = anyCase(commaList()).describe('Policies of who has this name, or is in it.');
const groups = commaList().describe('Further groups, besides those of the directory.');

const User = z.object({ groups, policies });
const Group = z.object({ policies });
/** What is known here of a person; `name` is as it was first written. */
export const users = collection('user/', User.extend({ name: z.string() }));
/** What is known here of a group. */
const groupsHere = collection('group/', Group.extend({ name: z.string() }));

/** People by name, which is compared without case in paths. */
export const userPaths = [
  namesPath('users', users, { summary: 'People of whom something is said here.', list: 'List the names.' }),
  recordPath('users/:name', users, {
    folds: { name: 'case' },
    params: { name: 'segment' },
    summary: 'Groups and policies that a user has besides those of the directory.',
    read: {
      summary: 'Read what is said of a person.',
      output: z.object({ groups: z.string(), policies: z.array(z.string()) }),
      show: (user) => ({ groups: user.groups.join(','), policies: user.policies }),
    },
    write: {
      summary: 'Say which groups and policies a person has; replaces both.',
      update: 'replace',
      defaults: { groups: [], policies: [] },
      input: User,
      run({ params, written, input, storage }) {
        users.put(storage, params.name, { ...input, name: written?.shown ?? params.name });
        return empty;
      },
    },
    delete: 'Forget what is said of a person. They can go on logging in.',
  }),
];

/** Groups by name, likewise. */
export const groupPaths = [
  namesPath('groups', groupsHere, { summary: 'Groups that have policies here.', list: 'List the names.' }),
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
      summary: 'Say which policies a group has.',
      update: 'replace',
      defaults: { policies: [] },
      input: Group,
      run({ params, written, input, storage }) {
        groupsHere.put(storage, params.name, { ...input, name: written?.shown ?? params.name });
        return empty;
      },
    },
    delete: 'Forget the policies of a group.',
  }),
];
