import { Refusal } from '@keystead/refusal';
import { z } from 'zod';
import type { StepUp } from '../../../kernel/mfa/step-up';
import type { PolicyStore, StoredPolicy } from '../../../kernel/policy/store';
import { type Call, callWith } from '../../../sdk/call';
import { announced, bool, document, duration, int, notKept, olderName, string } from '../../../sdk/fields';
import { type Path, path } from '../../../sdk/path';
import { data, empty, keys, missing } from '../../../sdk/reply';

const PolicyInput = z.object({
  policy: document(string()).optional().describe('The policy, in HCL or JSON; either may be in base64.'),
  cas: notKept(int())
    .optional()
    .describe('Write only if this is the current version. 0 or -1: write only if the policy does not exist.'),
  cas_required: bool().optional().describe('Later writes must include cas.'),
  expiration: string().optional().describe('Time when the policy expires, such as 2030-01-31T12:00:00Z.'),
  ttl: announced(duration(), { 'x-shown-as': 'expiration' })
    .optional()
    .describe('Lifetime of the policy from now, instead of expiration.'),
  allow_wildcards_in_identity_templates: bool()
    .optional()
    .describe('Also fill templates with values that contain * or +.'),
  allow_slashes_in_identity_templates: bool().optional().describe('Also fill templates with values that contain /.'),
});
type PolicyInput = z.output<typeof PolicyInput>;

const policyFields = {
  allow_slashes_in_identity_templates: z.boolean(),
  allow_wildcards_in_identity_templates: z.boolean(),
  cas_required: z.boolean(),
  expiration: z.string().optional(),
  modified: z.string(),
  name: z.string(),
  version: z.int(),
};
const namesOutput = z.object({ keys: z.array(z.string()), policies: z.array(z.string()).optional() });

/** Everything under `sys/policies/acl` and its older form `sys/policy`. */
export function policyPaths(policies: PolicyStore, methods: StepUp): Path[] {
  const list = async ({ namespace }: Call, prefix = '') =>
    (await policies.list(namespace.uuid)).filter((name) => name.startsWith(prefix));
  const write = (call: Call<{ name: string }, PolicyInput>) => writePolicy(policies, methods, call);
  const remove = async ({ namespace, params }: Call<{ name: string }>) => {
    await policies.delete(namespace.uuid, params.name);
    return empty;
  };
  return [
    path('policies/acl', {
      summary: 'The policies of the namespace.',
      list: {
        operationId: 'policies-list-acl-policies',
        summary: 'List the policies.',
        output: namesOutput,
        run: async (call) => keys(await list(call)),
      },
    }),
    path('policies/acl/:name*', {
      summary: 'A policy: what tokens with it may do on which paths.',
      params: { name: /^.+$/s },
      folds: { name: 'case' },
      list: {
        summary: 'List the policies whose names begin with a prefix.',
        output: namesOutput,
        run: async (call) => keys(await list(call, call.params.name)),
      },
      read: {
        operationId: 'policies-read-acl-policy',
        summary: 'Read a policy.',
        output: z.object({ ...policyFields, policy: z.string() }),
        async run({ namespace, params }) {
          const found = await policies.find(namespace.uuid, params.name);
          return found ? data({ ...shown(found), policy: found.text }) : missing;
        },
      },
      write: {
        operationId: 'policies-write-acl-policy',
        summary: 'Create a policy, or replace its text.',
        input: PolicyInput,
        run: write,
      },
      delete: {
        operationId: 'policies-delete-acl-policy',
        summary: 'Delete a policy. Also succeeds if it does not exist.',
        run: remove,
      },
    }),
    path('policies/detailed/acl', {
      summary: 'The policies of the namespace, with their contents.',
      list: {
        summary: 'List the policies with their metadata.',
        operationId: 'policies-list-acl-policies-detailed',
        output: namesOutput.extend({
          key_info: z.record(z.string(), z.object({ ...policyFields, policy: z.string() })),
        }),
        async run(call) {
          const info: Record<string, unknown> = {};
          for await (const found of policies.findAll(call.namespace.uuid, await list(call))) {
            info[found.name] = { ...shown(found), policy: found.text };
          }
          return keys(Object.keys(info), info);
        },
      },
    }),
    path('policy', {
      summary: 'The policies of the namespace (older path).',
      responseFormat: 'injected',
      read: {
        operationId: 'policies-list-acl-policies2',
        summary: 'List the policies.',
        output: namesOutput,
        run: async (call) => bothNames(await list(call)),
      },
      list: {
        operationId: 'policies-list-acl-policies3',
        summary: 'List the policies.',
        output: namesOutput,
        run: async (call) => bothNames(await list(call)),
      },
    }),
    path('policy/:name*', {
      summary: 'A policy (older path).',
      params: { name: /^.+$/s },
      folds: { name: 'case' },
      responseFormat: 'injected',
      read: {
        operationId: 'policies-read-acl-policy2',
        summary: 'Read a policy.',
        output: z.object({ ...policyFields, rules: z.string() }),
        async run({ namespace, params }) {
          const found = await policies.find(namespace.uuid, params.name);
          return found ? data({ ...shown(found), rules: found.text }) : missing;
        },
      },
      write: {
        operationId: 'policies-write-acl-policy2',
        summary: 'Create a policy, or replace its text.',
        input: PolicyInput.extend({ rules: olderName(document(string()), 'policy') }),
        run: (call) =>
          write(callWith(call, { input: { ...call.input, policy: call.input.policy ?? call.input.rules } })),
      },
      delete: {
        operationId: 'policies-delete-acl-policy2',
        summary: 'Delete a policy. Also succeeds if it does not exist.',
        run: remove,
      },
    }),
  ];
}

const bothNames = (names: readonly string[]) => data({ keys: names, policies: names });

function shown(policy: StoredPolicy): Record<string, unknown> {
  return {
    allow_slashes_in_identity_templates: policy.allowsSlashesInTemplates,
    allow_wildcards_in_identity_templates: policy.allowsWildcardsInTemplates,
    cas_required: policy.casRequired,
    ...(policy.expiresAtMs !== undefined && { expiration: new Date(policy.expiresAtMs).toISOString() }),
    modified: new Date(policy.updatedAtMs).toISOString(),
    name: policy.name,
    version: policy.version,
  };
}

async function writePolicy(policies: PolicyStore, methods: StepUp, call: Call<{ name: string }, PolicyInput>) {
  const { params, input, namespace } = call;
  if (!input.policy) throw new Refusal('invalid', "'policy' parameter not supplied or empty", [issue('policy')]);
  const name = checkName(params.name);
  await policies.put(namespace.uuid, name, {
    text: decoded(input.policy),
    cas: input.cas === -1 ? 0 : input.cas,
    casRequired: input.cas_required,
    allowsWildcardsInTemplates: input.allow_wildcards_in_identity_templates,
    allowsSlashesInTemplates: input.allow_slashes_in_identity_templates,
    expiresAtMs: expiryOf(call),
  });
  const written = await policies.find(namespace.uuid, name);
  const named = [...new Set(written?.policy.rules.flatMap(({ mfaMethods }) => mfaMethods))];
  const unknown = named.length === 0 ? [] : await methods.unknown(namespace.uuid, named);
  if (unknown.length > 0) {
    call.warn(
      `mfa_methods names methods that do not exist here: ${unknown.join(', ')}; these requests are refused until the methods exist`,
    );
  }
  return empty;
}

function checkName(name: string): string {
  if (name.length > 512) throw new Refusal('invalid', 'policy name is longer than 512 characters', [issue('name')]);
  if (/[\u0000-\u001F\u007F,]/.test(name)) {
    throw new Refusal('invalid', 'policy name cannot contain commas or control characters', [issue('name')]);
  }
  // Policy names are trimmed when used: a policy with blanks around its name could never apply.
  if (name.trim() !== name) {
    throw new Refusal('invalid', 'policy name cannot begin or end with a blank', [issue('name')]);
  }
  return name;
}

/** Clients may send the text in base64. Policy text itself is never valid base64: it needs blanks or braces. */
export function decoded(text: string): string {
  const isBase64 = text.length % 4 === 0 && /^[A-Za-z0-9+/]+={0,2}$/.test(text);
  return isBase64 ? Buffer.from(text, 'base64').toString('utf8') : text;
}

function expiryOf({ input, nowMs }: Call<unknown, PolicyInput>): number | undefined {
  if (input.ttl) return nowMs + input.ttl * 1_000;
  if (!input.expiration) return undefined;
  const atMs = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d/.test(input.expiration) ? Date.parse(input.expiration) : Number.NaN;
  if (Number.isNaN(atMs)) {
    throw new Refusal('invalid', "'expiration' must be a time such as 2030-01-31T12:00:00Z", [issue('expiration')]);
  }
  if (atMs <= nowMs) throw new Refusal('invalid', "'expiration' must be in the future", [issue('expiration')]);
  return atMs;
}

const issue = (field: string) => ({ path: [field], message: 'invalid' });
