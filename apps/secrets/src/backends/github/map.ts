import { z } from 'zod';
import { type Collection, collection } from '../../sdk/collection';
import { commaList } from '../../sdk/fields';
import { namesPath, recordPath } from '../../sdk/records';
import { empty } from '../../sdk/reply';
import type { Storage } from '../../sdk/storage';
import type { Member } from './organizations';

const Mapping = z.object({ value: commaList().describe('Policies, separated by commas.') });
type Mappings = Collection<z.output<typeof Mapping>>;
const teams: Mappings = collection('map/teams/', Mapping);
const users: Mappings = collection('map/users/', Mapping);

/** The team name and user name whose policies apply to all members. */
const allMembers = 'default';

/** The policies of a member: of all their teams, of themselves and of all members. */
export async function policiesOf(storage: Storage, { username, teams: names }: Member): Promise<string[]> {
  const policies = [
    ...[...names, allMembers].map((name) => `map/teams/${name.toLowerCase()}`),
    ...[username, allMembers].map((name) => `map/users/${name.toLowerCase()}`),
  ];
  const found = [...(await storage.getMany(policies)).values()];
  return [...new Set(found.flatMap((text) => (JSON.parse(text) as z.output<typeof Mapping>).value))].sort();
}

/** Policies of teams, by name or slug, ignoring case. */
export const teamPaths = pathsOf('teams', teams, 'team');
/** Policies of users, by GitHub login, ignoring case. */
export const userPaths = pathsOf('users', users, 'user');

function pathsOf(folder: 'teams' | 'users', mappings: Mappings, what: string) {
  return [
    namesPath(`map/${folder}`, mappings, {
      summary: `The ${what}s that have policies in this method.`,
      list: `List the ${what}s.`,
    }),
    recordPath(`map/${folder}/:key`, mappings, {
      folds: { key: 'case' },
      params: { key: 'segment' },
      summary: `Policies of a ${what}. Policies of the name default apply to all members.`,
      read: {
        absent: null,
        summary: `Read the policies of a ${what}.`,
        output: z.object({ key: z.string(), value: z.string() }),
        show: ({ value }, { params }) => ({ key: params.key, value: value.join(',') }),
      },
      write: {
        summary: `Set the policies of a ${what}.`,
        update: 'replace',
        defaults: { value: [] },
        input: Mapping,
        run({ params, input, storage }) {
          mappings.put(storage, params.key, input);
          return empty;
        },
      },
      delete: `Remove the policies of a ${what}.`,
    }),
  ];
}
