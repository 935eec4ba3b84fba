import { z } from 'zod';
import type { Identity } from '../../../kernel/identity/identity';
import type { IdentityView } from '../../../kernel/identity/types';
import { collection } from '../../../sdk/collection';
import { idList } from '../../../sdk/fields';
import { path } from '../../../sdk/path';
import { data, empty, keys, missing } from '../../../sdk/reply';
import type { Storage } from '../../../sdk/storage';
import { clients, type OidcClient } from './clients';
import { allOf, distinct, refuse, requireUnused, settle, withName } from './settings';

const Assignment = z.object({ entity_ids: z.array(z.string()), group_ids: z.array(z.string()) });
const assignments = collection('oidc/assignment/', Assignment);

/** The built-in assignment of every namespace: all entities. */
const allowAll = 'allow_all';

/** Finds an assignment, including the built-in assignment. */
export async function findAssignment(storage: Storage, name: string) {
  return name === allowAll ? { entity_ids: ['*'], group_ids: ['*'] } : assignments.find(storage, name);
}

/** Whether an assignment of the client names the entity, one of its groups, or an entity that was merged into it. */
export async function isAssigned(
  { entities }: Identity,
  storage: Storage,
  entity: IdentityView,
  client: OidcClient,
): Promise<boolean> {
  if (entity.disabled) return false;
  if (client.assignments.includes(allowAll)) return true;
  const found = await Promise.all(client.assignments.map((name) => assignments.find(storage, name)));
  const entityIds = new Set(found.flatMap((one) => one?.entity_ids ?? []));
  if (entityIds.has(entity.entityId)) return true;
  if (found.some((one) => one?.group_ids.some((id) => entity.groupIds.has(id)))) return true;
  if (entityIds.size === 0) return false;
  const { mergedEntityIds = [] } = (await entities.find(entity.namespaceId, entity.entityId)) ?? {};
  return mergedEntityIds.some((id) => entityIds.has(id));
}

/** The entities that may sign in to applications. */
export const assignmentPaths = [
  path('oidc/assignment', {
    summary: 'Assignments: who may sign in to applications.',
    list: {
      summary: 'List the assignments.',
      output: z.object({ keys: z.array(z.string()) }),
      run: async ({ storage }) => keys(withName(await assignments.list(storage), allowAll)),
    },
  }),
  path('oidc/assignment/:name', {
    summary: 'An assignment: entities and groups that may sign in to applications.',
    exists: async ({ params, storage }) => (await findAssignment(storage, params.name)) !== undefined,
    read: {
      summary: 'Read an assignment.',
      output: Assignment,
      async run({ params, storage }) {
        const found = await findAssignment(storage, params.name);
        return found ? data(found) : missing;
      },
    },
    write: {
      summary: 'Create an assignment, or change some of its fields.',
      input: z.object({
        entity_ids: idList().optional().describe('IDs of entities.'),
        group_ids: idList().optional().describe('IDs of groups.'),
      }),
      async run({ params: { name }, input, storage }) {
        if (name === allowAll) refuse(`modification of assignment ${JSON.stringify(name)} not allowed`);
        await settle(storage, async (tx) => {
          const { entity_ids, group_ids } = (await assignments.find(tx, name)) ?? { entity_ids: [], group_ids: [] };
          assignments.put(tx, name, {
            entity_ids: distinct(input.entity_ids ?? entity_ids),
            group_ids: distinct(input.group_ids ?? group_ids),
          });
        });
        return empty;
      },
    },
    delete: {
      summary: 'Delete an assignment. Refused while a client uses it.',
      async run({ params: { name }, storage }) {
        if (name === allowAll) refuse(`deletion of assignment ${JSON.stringify(name)} not allowed`);
        await settle(storage, async (tx) => {
          const users = (await allOf(tx, clients)).filter(([, one]) => one.assignments.includes(name));
          requireUnused(
            'assignment',
            name,
            'clients',
            users.map(([user]) => user),
          );
          assignments.delete(tx, name);
        });
        return empty;
      },
    },
  }),
];
