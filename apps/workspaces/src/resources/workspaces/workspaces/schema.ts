import { document, freeForm, many, one } from '@keystead/jsonapi';
import { Refusal } from '@keystead/refusal';
import { z } from 'zod';
import { secretsLogin } from '../../installation/identity-tokens/schema';

const NAME = /^[A-Za-z0-9_-]+$/;
const MOST_PATHS = 1000;

const name = z.string().min(1).max(90).regex(NAME, 'Name can only include letters, numbers, dashes and underscores');

const text = (longest: number) => z.string().max(longest).nullable();
const paths = z.array(z.string().max(4096)).max(MOST_PATHS).nullable();

const folder = z
  .string()
  .max(4096)
  .refine((value) => !value.startsWith('/') && !value.split('/').includes('..'), 'must be a path below the repository');

const DURATION = /^\d{1,4}[dh]$/;
const duration = z
  .string()
  .refine(
    (value) => DURATION.test(value) && Number.parseInt(value, 10) > 0,
    "Auto destroy activity duration has an incorrect format, we expect up to 4 numeric digits and 1 unit ('d' or 'h')",
  );

const timestamp = z.iso
  .datetime({ offset: true, error: 'must be an ISO 8601 timestamp' })
  .transform((value) => new Date(value));

const vcsRepo = z.object({
  branch: z.string().max(255).nullable().optional(),
  identifier: z
    .string()
    .max(512)
    .regex(/^[^/\s]+(?:\/[^/\s]+)+$|^$/, 'must have the form :org/:repo')
    .optional(),
  'ingress-submodules': z.boolean().optional(),
  'oauth-token-id': z.string().nullable().optional(),
  'vcshost-app-installation-id': z.string().nullable().optional(),
  'tags-regex': z.string().max(1024).nullable().optional(),
});

const shared = {
  'agent-pool-id': z.string().nullable().optional(),
  'allow-destroy-plan': z.boolean().optional(),
  'assessments-enabled': z.boolean().optional(),
  'auto-apply': z.boolean().optional(),
  'auto-apply-run-trigger': z.boolean().optional(),
  'auto-destroy-at': timestamp.nullable().optional(),
  'auto-destroy-activity-duration': duration.nullable().optional(),
  description: text(65_536).optional(),
  'execution-mode': z.enum(['remote', 'local', 'agent']).nullable().optional(),
  'file-triggers-enabled': z.boolean().optional(),
  'global-remote-state': z.boolean().optional(),
  'project-remote-state': z.boolean().optional(),
  ...secretsLogin,
  operations: z.boolean().optional(),
  'queue-all-runs': z.boolean().optional(),
  'speculative-enabled': z.boolean().optional(),
  'structured-run-output-enabled': z.boolean().optional(),
  'infra-version': z.string().max(255).nullable().optional(),
  'trigger-patterns': paths.optional(),
  'trigger-prefixes': paths.optional(),
  'vcs-repo': vcsRepo.nullable().optional(),
  'working-directory': folder.nullable().optional(),
  'setting-overwrites': z
    .object({ 'execution-mode': z.boolean().optional(), 'agent-pool': z.boolean().optional() })
    .nullable()
    .optional(),
};

const aliases = {
  'infra-version': 'terraform-version',
  'vcs-repo.vcshost-app-installation-id': 'vcs-repo.github-app-installation-id',
};

const editions = { 'assessments-enabled': 'hosted' };

const relationships = {
  project: one('projects'),
  'agent-pool': one('agent-pools'),
  tags: many('tags'),
  'tag-bindings': many('tag-bindings'),
};

/** Body of a create. Spec: Workspaces */
export const CreateWorkspace = document('workspaces', {
  editions,
  attributes: {
    name,
    ...shared,
    'source-name': text(255).optional(),
    'source-url': z
      .string()
      .max(2048)
      .regex(/^https?:\/\//, 'must be an http or https address')
      .nullable()
      .optional(),
  },
  relationships,
  aliases,
});

/** Body of an update: what is left out keeps its value. Spec: Workspaces */
export const UpdateWorkspace = document('workspaces', {
  editions,
  attributes: { name: name.optional(), ...shared },
  relationships,
  aliases,
});

type ValueOf<S> = S extends { parse(...given: never[]): { value: infer V } } ? V : never;

/** What a create says. */
export type NewWorkspace = ValueOf<typeof CreateWorkspace>;
/** What an update says. */
export type WorkspaceChanges = ValueOf<typeof UpdateWorkspace>;

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
