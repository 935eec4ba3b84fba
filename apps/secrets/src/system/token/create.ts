import { Refusal } from '@keystead/refusal';
import { z } from 'zod';
import type { Call, NamespaceView } from '../../sdk/call';
import {
  anyCase,
  bool,
  commaList,
  int,
  keyValues,
  namedDuration,
  olderName,
  secretString,
  string,
} from '../../sdk/fields';
import { Globs } from '../../sdk/globs';
import { lifetime } from '../../sdk/lifetime';
import { operation, path } from '../../sdk/path';
import { issue, type Reply } from '../../sdk/reply';
import { checkNumUses } from '../../sdk/token-params';
import { newTokenPolicies } from './create-policies';
import type { TokenParts } from './parts';
import { roles, type TokenRole } from './role';

const lifetimeText = (name: string) =>
  namedDuration({ none: [''], problem: (text) => text, negative: () => `${name} must be positive` });

const Input = z.object({
  id: secretString().optional().describe('ID of the new token; random by default. Needs sudo.'),
  policies: anyCase(commaList()).optional().describe('Policies of the token. Default: those of the parent.'),
  meta: keyValues().optional().describe('Metadata shown in look-ups and audit lines.'),
  no_parent: bool().optional().describe('Create an orphan token; needs sudo.'),
  no_default_policy: bool().optional().describe('Do not add the default policy.'),
  renewable: bool().optional().describe('Whether the token can be renewed; true by default.'),
  ttl: lifetimeText('ttl').optional().describe('Initial lifetime.'),
  lease: olderName(lifetimeText('ttl'), 'ttl'),
  type: string().optional().describe('service or batch.'),
  explicit_max_ttl: lifetimeText('explicit_max_ttl').optional().describe('Absolute maximum lifetime.'),
  display_name: string().optional().describe('Display name, shown in look-ups and audit lines.'),
  num_uses: int().optional().describe('Number of uses of the token; 0 is unlimited.'),
  period: lifetimeText('period').optional().describe('Make the token periodic; needs sudo.'),
  entity_alias: anyCase(string())
    .optional()
    .describe('Name of the entity alias of the token. The token role must allow it.'),
});
type CreateInput = z.output<typeof Input>;

/** Creating tokens with a token. */
export function createPaths(parts: TokenParts) {
  const create = (orphan: boolean) => async (call: Call<object, CreateInput>) => {
    const { role: name } = call.params as { role?: string };
    const role = name === undefined ? undefined : await roles.find(call.storage, name);
    if (name !== undefined && !role) throw new Refusal('invalid', `unknown role ${name}`);
    return newToken(parts, call, orphan, name, role);
  };
  const spec = {
    summary: 'Create a token.',
    stepUp: true,
    input: Input,
    auditClear: [
      'policies',
      'no_parent',
      'no_default_policy',
      'renewable',
      'ttl',
      'type',
      'explicit_max_ttl',
      'display_name',
      'num_uses',
      'period',
    ],
  };
  const plain = operation<object, typeof Input>({ ...spec, operationId: 'token-create', run: create(false) });
  return [
    path('create', { summary: 'Create a token.', write: plain }),
    path('create-orphan', {
      summary: 'Create an orphan token.',
      write: { ...spec, summary: 'Create an orphan token.', operationId: 'token-create-orphan', run: create(true) },
    }),
    path('create/:role', {
      summary: 'Creates a token with a token role.',
      paramDocs: { role: 'Name of the role.' },
      write: { ...spec, operationId: 'token-create-against-role', run: create(false) },
    }),
  ];
}

async function newToken(
  parts: TokenParts,
  call: Call<object, CreateInput>,
  orphanPath: boolean,
  roleName: string | undefined,
  role: TokenRole | undefined,
): Promise<Reply> {
  const { input, caller, mount, namespace } = call;
  const parent = caller.token!;
  if (parent.type === 'batch') throw refuse('batch tokens cannot create more tokens');
  if (parent.usesLeft !== 0) throw refuse('restricted use token cannot generate child tokens');
  const foreign = parent.namespaceId !== namespace.uuid;
  if (foreign && !caller.sudo) {
    throw refuse('root or sudo privileges required to directly generate a token in a child namespace');
  }
  const type = typeOf(input, role);
  const numUses = atMost(input.num_uses ?? 0, role?.token_num_uses ?? 0);
  if (type === 'batch') refuseForBatch(input);
  checkNumUses(input.num_uses ?? 0, 'number of uses');
  checkId(input.id, caller.sudo, namespace);
  const policies = newTokenPolicies({
    requested: input.policies ?? [],
    parent: foreign ? undefined : parent.policies,
    sudo: caller.sudo,
    noDefault: (input.no_default_policy ?? false) || (role?.token_no_default_policy ?? false),
    role,
  });
  const root = policies.includes('root');
  if (root && foreign) throw refuse('root tokens may not be created from a parent namespace');
  if (root && !parent.policies.includes('root')) {
    throw refuse('root tokens may not be created without parent token being root');
  }
  if (root && type === 'batch') throw refuse('batch tokens cannot be root tokens');
  if (input.no_parent && !caller.sudo) throw refuse('root or sudo privileges required to create orphan token');
  const orphan = role ? role.orphan : orphanPath || (input.no_parent ?? false);
  if (role && input.no_parent !== undefined && input.no_parent !== role.orphan) {
    call.warn(
      `no_parent has no effect with a role: ${roleName} creates tokens ${role.orphan ? 'without' : 'with'} a parent`,
    );
  }
  const life = lifetimeOf(call, role, root, parent.expiresAtMs !== null);
  for (const warning of life.warnings) call.warn(warning);
  const entityId = await entityOf(parts, call, role, orphan ? '' : parent.entityId);
  // A role sets the addresses of its tokens itself.
  const boundCidrs = role ? role.token_bound_cidrs : orphan ? [] : parent.boundCidrs;
  for (const name of await parts.policies.missing(namespace.uuid, policies)) {
    call.warn(`Policy "${name}" does not exist`);
  }
  if (input.id) {
    call.warn('A token with a custom ID is only as hard to guess as the ID.');
  }
  const suffix = role?.path_suffix ? `/${role.path_suffix}` : '';
  return issue({
    id: input.id || undefined,
    orphan,
    type,
    policies,
    meta: input.meta && Object.keys(input.meta).length > 0 ? input.meta : null,
    displayName: displayName(input.display_name),
    entityId,
    path: mount.path + call.path + suffix,
    ttlSeconds: life.ttlSeconds,
    explicitMaxTtlSeconds: life.explicitMaxTtlSeconds,
    periodSeconds: life.periodSeconds,
    renewable: type === 'service' && (role?.renewable ?? true) && (input.renewable ?? true),
    numUses,
    boundCidrs: root && life.ttlSeconds === 0 ? [] : boundCidrs,
    role: roleName,
  });
}

function typeOf(input: CreateInput, role: TokenRole | undefined): 'service' | 'batch' {
  const requested = input.type ?? '';
  if (requested !== '' && requested !== 'service' && requested !== 'batch') throw refuse("invalid 'token_type' value");
  const rule = role?.token_type;
  if (rule === 'service' || rule === 'batch') return rule;
  if (requested === 'service' || requested === 'batch') return requested;
  return rule === 'default-batch' ? 'batch' : 'service';
}

function refuseForBatch(input: CreateInput): void {
  for (const field of ['num_uses', 'period', 'explicit_max_ttl'] as const) {
    if (input[field]) throw refuse(`batch tokens cannot have "${field}" set`);
  }
}

function checkId(id: string | undefined, sudo: boolean, namespace: NamespaceView): void {
  if (!id) return;
  if (!sudo) throw refuse('root or sudo privileges required to specify token id');
  // The error for an id that is in use would reveal that a token exists elsewhere.
  if (namespace.path !== '') throw refuse('token IDs can only be manually specified in the root namespace');
  if (id.startsWith('s.')) throw refuse("custom token ID cannot have the 's.' prefix");
  if (id.includes('.')) throw refuse("custom token ID cannot have a '.' in the value");
}

interface Life {
  readonly ttlSeconds: number;
  readonly explicitMaxTtlSeconds: number;
  readonly periodSeconds: number;
  readonly warnings: readonly string[];
}

function lifetimeOf(
  { input, caller, mount, nowMs }: Call<object, CreateInput>,
  role: TokenRole | undefined,
  root: boolean,
  parentExpires: boolean,
): Life {
  const requestedSeconds = input.ttl ?? input.lease ?? 0;
  const period = input.period ?? 0;
  if (period > 0 && !caller.sudo) throw refuse('root or sudo privileges required to create periodic token');
  const explicitMaxTtlSeconds = atMost(input.explicit_max_ttl ?? 0, role?.token_explicit_max_ttl ?? 0);
  const periodSeconds = atMost(period, role?.token_period ?? 0);
  const endless = root && requestedSeconds === 0 && explicitMaxTtlSeconds === 0 && periodSeconds === 0;
  if (endless && parentExpires) throw refuse('expiring root tokens cannot create non-expiring root tokens');
  if (endless) return { ttlSeconds: 0, explicitMaxTtlSeconds, periodSeconds, warnings: [] };
  const { ttlSeconds, warnings } = lifetime({
    nowMs,
    issuedAtMs: nowMs,
    incrementSeconds: requestedSeconds,
    explicitMaxTtlSeconds,
    periodSeconds,
    mount,
  });
  return { ttlSeconds, explicitMaxTtlSeconds, periodSeconds, warnings };
}

/** The smaller of two limits; 0 means no limit. */
function atMost(a: number, b: number): number {
  return a > 0 && b > 0 ? Math.min(a, b) : a || b;
}

async function entityOf(
  parts: TokenParts,
  { input, mount, namespace }: Call<object, CreateInput>,
  role: TokenRole | undefined,
  inherited: string,
): Promise<string> {
  const alias = input.entity_alias;
  if (!alias) return inherited;
  if (!role) throw refuse("'entity_alias' is only allowed in combination with token role");
  const compare = new Globs();
  if (!role.allowed_entity_aliases.some((allowed) => compare.fits(allowed.toLowerCase(), alias.toLowerCase()))) {
    throw refuse("invalid 'entity_alias' value");
  }
  const { entityId } = await parts.identity.logins.aliasOf({
    namespaceId: namespace.uuid,
    mount: parts.mounts.find(mount.uuid)!,
    aliasName: alias,
    metadata: {},
  });
  return entityId;
}

function displayName(name: string | undefined): string {
  if (!name) return 'token';
  return `token-${name}`.replace(/[^a-zA-Z0-9-]/g, '-').replace(/(?<!-)-+$/, '');
}

function refuse(message: string): Refusal {
  return new Refusal('invalid', message);
}
