import { document, freeForm, many, one, type ParsedDocument } from '@keystead/jsonapi';
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
  'hyok-enabled': 'keys of your own are not built',
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

/** Body of an update: what is left out keeps its value. Spec: Workspaces */
export const UpdateWorkspace = document('workspaces', {
  attributes: update,
  relationships,
  editions,
  aliases,
  unserved,
});

/** What a create says. */
export type NewWorkspace = ParsedDocument<typeof CreateWorkspace>;
/** What an update says. */
export type WorkspaceChanges = ParsedDocument<typeof UpdateWorkspace>;

const Lock = z.object({
  reason: z.string().max(2048).nullish(),
  'heartbeat-seconds': z.int().min(10).max(86_400).nullish(),
});
const WrappedLock = z.object({ data: z.object({ attributes: Lock.nullish() }).nullish() });

/** Why a lock is taken, and how long it outlives the last sign of life of its holder; null for as long as it takes. */
export interface LockTerms {
  readonly reason: string | null;
  readonly heartbeatSeconds: number | null;
}

/** Body of a lock: a bare reason, a document with any or an empty type, or nothing. */
export const LockBody = freeForm(
  (raw): LockTerms => {
    const wrapped = WrappedLock.safeParse(raw ?? {});
    const bare = Lock.safeParse(raw ?? {});
    if (!wrapped.success || !bare.success) {
      const issues = [...(wrapped.error?.issues ?? []), ...(bare.error?.issues ?? [])];
      const isHeartbeat = issues.some(({ path }) => path.includes('heartbeat-seconds'));
      const [name, message] = isHeartbeat
        ? ['heartbeat-seconds', 'must be a whole number from 10 to 86400']
        : ['reason', 'must be a string'];
      throw new Refusal('invalid', '', [{ path: ['data', 'attributes', name], message }]);
    }
    const attributes = wrapped.data.data?.attributes;
    return {
      reason: attributes?.reason ?? bare.data.reason ?? null,
      heartbeatSeconds: attributes?.['heartbeat-seconds'] ?? bare.data['heartbeat-seconds'] ?? null,
    };
  },
  {
    type: 'object',
    properties: {
      reason: { type: 'string' },
      'heartbeat-seconds': { type: 'integer', minimum: 10, maximum: 86_400 },
      data: { type: 'object', properties: { type: { type: 'string' }, attributes: { type: 'object' } } },
    },
  },
);

const Assignment = z.object({
  data: z.union([
    z.object({ type: z.literal('workspaces'), attributes: z.object({ id: z.string().nullable() }) }),
    z.object({ type: z.literal('ssh-keys'), id: z.string().nullable() }),
    z.null(),
  ]),
});

/** Body of an SSH key assignment: the key's id, or null to take it away. */
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
