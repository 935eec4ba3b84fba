import { Refusal } from '@keystead/refusal';
import { z } from 'zod';
import type { Identity } from '../../../kernel/identity/identity';
import type { AccessQuery } from '../../../kernel/policy/access';
import type { PolicyStore } from '../../../kernel/policy/store';
import type { RuleReference } from '../../../kernel/policy/types';
import { questionOf, SentPath } from '../../../kernel/routing/sent-path';
import { Pauses } from '../../../kernel/storage/slices';
import { oneOf, string } from '../../../sdk/fields';
import { type Path, path } from '../../../sdk/path';
import { data } from '../../../sdk/reply';
import { type AuthorityParts, operationNames, verbOf } from './authority';

interface WhoMayDeps extends AuthorityParts {
  readonly policies: PolicyStore;
  readonly identity: Identity;
}

/** The maximum numbers of items that are checked. If there are more, the response says that it is incomplete. */
const most = { policies: 2000, groups: 500, entities: 2000 };
const patienceMs = 5_000;

const input = z.object({
  path: string().describe('The path of the request to check, without /v1/.'),
  operation: oneOf(operationNames).describe('Operation of the request to check.'),
});
const named = z.object({ id: z.string(), name: z.string() });
const output = z.object({
  path: z.string(),
  operation: z.string(),
  policies: z
    .array(
      z.object({
        name: z.string(),
        allowed: z.boolean().describe('false if a rule for the path forbids the request.'),
        path: z.string().nullable(),
        line: z.int().nullable(),
      }),
    )
    .describe('Policies of this namespace with a rule for the request, each evaluated separately.'),
  groups: z.array(named).describe('Groups of this namespace whose policies allow the request.'),
  entities: z.array(named).describe('Entities of this namespace whose own or group policies allow the request.'),
  complete: z.boolean().describe('false if there were too many entities or groups to check all of them.'),
});

/** `sys/policies/who-may`: finds the callers who may make a given request. */
export function whoMayPath(parts: WhoMayDeps): Path {
  return path('policies/who-may', {
    summary: 'Who may make a request.',
    description:
      'Answers which policies, groups and entities of this namespace allow a request. Tokens with other policies, and root tokens, may do more. Entities of namespaces above are not listed.',
    sudo: true,
    write: {
      summary: 'List who may make a request.',
      operationId: 'policies-who-may',
      input,
      output,
      async run({ input: { path, operation }, namespace }) {
        if (path.split('/', 1_001).length > 1_000) {
          throw new Refusal('invalid', 'path cannot have more than 1000 segments');
        }
        const { namespaces, mounts } = parts;
        const match = SentPath.ofField(path, 'path').locate(namespaces, mounts, verbOf(operation), namespace.path);
        const question = { ...questionOf(match), operation };
        const look = new Look();
        const explain = async (query: AccessQuery) => (await parts.access.of(query)).explain(question);
        const names = (await parts.policies.list(namespace.uuid)).filter((name) => name !== 'root');
        const policies = await look.through(names.slice(0, most.policies), async (name) => {
          const { allowed, rule } = await explain({ namespaceId: namespace.uuid, policies: [name] });
          return rule && { name, allowed, ...firstPlace(rule) };
        });
        const groups = await parts.identity.groups.list(namespace.uuid, 'name', { limit: most.groups + 1 });
        const allowedGroups = await look.through(groups.slice(0, most.groups), async ({ id, name }) => {
          const group = await parts.identity.groups.find(namespace.uuid, id);
          if (!group || group.policies.length === 0) return undefined;
          const { allowed } = await explain({ namespaceId: namespace.uuid, policies: group.policies });
          return allowed ? { id, name } : undefined;
        });
        const entities = await parts.identity.entities.list(namespace.uuid, 'name', { limit: most.entities + 1 });
        const allowedEntities = await look.through(entities.slice(0, most.entities), async ({ id, name }) => {
          const identity = await parts.identity.find(id);
          if (!identity || identity.disabled) return undefined;
          const { allowed } = await explain({ namespaceId: namespace.uuid, policies: [], identity });
          return allowed ? { id, name } : undefined;
        });
        const tooMany = names.length > most.policies || groups.length > most.groups || entities.length > most.entities;
        return data({
          path,
          operation,
          policies,
          groups: allowedGroups,
          entities: allowedEntities,
          complete: look.complete && !tooMany,
        });
      },
    },
  });
}

/** Checks many items for a limited time, and lets other requests run in between. */
class Look {
  complete = true;
  private readonly untilMs = performance.now() + patienceMs;
  private readonly pauses = new Pauses();

  /** The results of `judge`, without undefined ones. */
  async through<T, R>(all: readonly T[], judge: (one: T) => Promise<R | undefined>): Promise<R[]> {
    const found: R[] = [];
    for (const one of all) {
      if (performance.now() > this.untilMs) {
        this.complete = false;
        break;
      }
      if (this.pauses.due) await this.pauses.take();
      const result = await judge(one);
      if (result !== undefined) found.push(result);
    }
    return found;
  }
}

function firstPlace({ pattern, places }: RuleReference) {
  return { path: places[0]?.pattern ?? pattern, line: places[0]?.line ?? null };
}
