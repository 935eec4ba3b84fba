import { z } from 'zod';
import { collection } from '../../sdk/collection';
import { commaList } from '../../sdk/fields';
import { path } from '../../sdk/path';
import { data, empty, keys, missing } from '../../sdk/reply';

const policies = commaList().describe('Policies of who has this name, or is in it.');
const groups = commaList().describe('Further groups, beside those of the directory.');

const User = z.object({ groups, policies });
const Group = z.object({ policies });
/** What is known here of a person; `name` is as it was first written. */
export const users = collection('user/', User.extend({ name: z.string() }));
/** What is known here of a group. */
const groupsHere = collection('group/', Group.extend({ name: z.string() }));

/** People by name, which is compared without case in paths. */
export const userPaths = [
  path('users', {
    summary: 'People of whom something is said here.',
    list: {
      summary: 'List the names.',
      output: z.object({ keys: z.array(z.string()) }),
      run: async ({ storage }) => keys(await users.list(storage)),
    },
  }),
  path('users/:name', {
    folds: { name: 'case' },
    params: { name: 'segment' },
    summary: 'Groups and policies that somebody has beside those of the directory.',
    stored: ({ params, storage }) => users.find(storage, params.name),
    read: {
      summary: 'Read what is said of a person.',
      output: z.object({ groups: z.string(), policies: z.array(z.string()) }),
      async run({ params, storage }) {
        const user = await users.find(storage, params.name);
        return user ? data({ groups: user.groups.join(','), policies: user.policies }) : missing;
      },
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
    delete: {
      summary: 'Forget what is said of a person. They can go on logging in.',
      run({ params, storage }) {
        users.delete(storage, params.name);
        return empty;
      },
    },
  }),
];

/** Groups by name, likewise. */
export const groupPaths = [
  path('groups', {
    summary: 'Groups that have policies here.',
    list: {
      summary: 'List the names.',
      output: z.object({ keys: z.array(z.string()) }),
      run: async ({ storage }) => keys(await groupsHere.list(storage)),
    },
  }),
  path('groups/:name', {
    folds: { name: 'case' },
    params: { name: 'segment' },
    summary: 'Policies of whoever is in a group.',
    stored: ({ params, storage }) => groupsHere.find(storage, params.name),
    read: {
      summary: 'Read the policies of a group.',
      output: z.object({ policies: z.array(z.string()) }),
      async run({ params, storage }) {
        const group = await groupsHere.find(storage, params.name);
        return group ? data({ policies: group.policies }) : missing;
      },
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
    delete: {
      summary: 'Forget the policies of a group.',
      run({ params, storage }) {
        groupsHere.delete(storage, params.name);
        return empty;
      },
    },
  }),
];
