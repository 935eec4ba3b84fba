import { bare, document, freeForm, many, one, type ParsedDocument } from '@keystead/jsonapi';
import { Refusal } from '@keystead/refusal';
import { z } from 'zod';
import { sentBindings } from '../projects/tag-bindings';
import { workspaceAttributes } from './attributes';
import { tagsByName } from './tags';

const relationships = {
  project: one('projects'),
  'agent-pool': one('agent-pools'),
  tags: many(tagsByName),
  'tag-bindings': many(sentBindings),
};

const { create, update, editions, aliases } = workspaceAttributes;
const unserved = {
  'hyok-enabled': 'hold your own key (HYOK) is not built',
  'migration-environment': 'there are no environments to migrate',
};

/** Body of a create. Spec: Workspaces */
export const CreateWorkspace = document('workspaces', {
  attributes: create,
  relationships,
  editions,
  aliases,
  unserved,
});

/** Body of an update: omitted fields keep their values. Spec: Workspaces */
export const UpdateWorkspace = document('workspaces', {
  attributes: update,
  relationships,
  editions,
  aliases,
  unserved,
});

/** The content of a create. */
export type NewWorkspace = ParsedDocument<typeof CreateWorkspace>;
/** The content of an update. */
export type WorkspaceChanges = ParsedDocument<typeof UpdateWorkspace>;

/**
 * The reason for a lock, and how long it outlives the last heartbeat of its holder. Without this time, it does not
 * expire.
 */
export const LockBody = bare({
  reason: z.string().max(2048).nullish(),
  'heartbeat-seconds': z.int().min(10).max(86_400).nullish(),
});
export type LockTerms = ParsedDocument<typeof LockBody>;

const Assignment = z.object({
  data: z.union([
    z.object({ type: z.literal('workspaces'), attributes: z.object({ id: z.string().nullable() }) }),
    z.object({ type: z.literal('ssh-keys'), id: z.string().nullable() }),
    z.null(),
  ]),
});

/** Body of an SSH key assignment: the key's id, or null to remove it. */
export const AssignSshKey = freeForm(
  (raw): string | null => {
    const result = Assignment.safeParse(raw);
    if (!result.success) {
      throw new Refusal('invalid', '', [{ path: ['data'], message: 'must name an SSH key, or null' }]);
    }
    const { data } = result.data;
    return data === null ? null : 'attributes' in data ? data.attributes.id : data.id;
  },
  { type: 'object', required: ['data'], properties: { data: { type: 'object', nullable: true } } },
  false,
);
