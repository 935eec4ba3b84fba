import { Refusal } from '@keystead/refusal';
import { z } from 'zod';
import type { Explanation, RuleReference } from '../../../kernel/policy/types';
import type { Call } from '../../../sdk/call';
import { commaList, duration, object, oneOf, secretString, string } from '../../../sdk/fields';
import { type Path, path } from '../../../sdk/path';
import { data, listed } from '../../../sdk/reply';
import { checkCidrs, withinCidrs } from '../../../sdk/token-params';
import { type Authority, operationNames, type TokenAuthority } from './authority';

const ExplainInput = z.object({
  path: string().describe('The path of the request to explain, without /v1/.'),
  operation: oneOf(operationNames).describe('Operation of the request to explain.'),
  token: secretString().optional().describe('The token to check. Default: the caller’s. Needs sudo.'),
  accessor: string().optional().describe('The accessor of the token to check. Needs sudo.'),
  policies: commaList()
    .optional()
    .describe('Names of policies to check instead of a token: as if a token had only these and no entity. Needs sudo.'),
  parameters: object().optional().describe('Fields in the body of the request.'),
  wrap_ttl: duration().optional().describe('Wrap TTL of the request.'),
  address: string().optional().describe('Client IP address of the request. Default: the caller’s.'),
});
type ExplainInput = z.output<typeof ExplainInput>;

const Rule = z.object({
  path: z.string(),
  capabilities: z.array(z.string()),
  places: z.array(z.object({ policy: z.string(), namespace: z.string(), path: z.string(), line: z.int() })),
});
const ExplainOutput = z.object({
  allowed: z.boolean().describe('Whether the request would be allowed.'),
  operation: z.string(),
  path: z.string(),
  policies: z.array(z.string()),
  granted_by_policy: z.boolean(),
  root: z.boolean(),
  sudo: z.boolean(),
  reason: z.string().nullable(),
  rule: Rule.nullable().describe('The policy rule that decides.'),
  losing_rules: z.array(Rule.extend({ lost_because: z.string() })),
  obstacles: z
    .array(z.object({ kind: z.string(), message: z.string() }))
    .describe('Other reasons for which the request is refused.'),
  mfa_methods: z.array(z.string()).describe('MFA methods that the request itself requires.'),
  login_enforcements: z.array(z.string()).describe('MFA methods that a new login of the same kind requires.'),
});

/** Something other than policies that would stop the request. */
interface Obstacle {
  readonly kind: 'entity' | 'cidr' | 'use-count' | 'namespace' | 'sudo' | 'quota';
  readonly message: string;
}

/**
 * `sys/policies/explain`: the rule that decides about a request, the rules that it overrides, and other reasons for a
 * refusal.
 */
export function explainPath(authority: Authority): Path {
  return path('policies/explain', {
    summary: 'Why a token may or may not do something.',
    description:
      'Answers for the calling token, or with sudo for another one, which rule of which policy decides about a request, ' +
      'which matching rules it overrides and why, and what else stops the request.',
    write: {
      operationId: 'policies-explain',
      summary: 'Explain whether and why a token may make a request.',
      input: ExplainInput,
      output: ExplainOutput,
      async run(call) {
        const { input, namespace } = call;
        if (input.path.split('/', 1_001).length > 1_000)
          throw new Refusal('invalid', 'path cannot have more than 1000 segments');
        if (input.address !== undefined) checkCidrs([input.address]);
        const holder = await holderOf(authority, call);
        const explained = holder.explain({
          namespaceId: namespace.uuid,
          path: input.path,
          operation: input.operation,
          parameters: input.parameters,
          wrapTtlSeconds: input.wrap_ttl,
        });
        const obstacles = obstaclesOf(authority, holder, explained, call);
        return data({
          allowed: explained.allowed && obstacles.length === 0,
          operation: input.operation,
          path: input.path,
          policies: holder.policies,
          granted_by_policy: explained.allowed,
          root: explained.root,
          sudo: explained.sudo,
          reason: explained.objection ?? null,
          rule: explained.rule ? shownRule(explained.rule) : null,
          losing_rules: explained.losers.map((rule) => ({ ...shownRule(rule), lost_because: rule.lostBecause })),
          obstacles,
          mfa_methods: explained.rule?.mfaMethods.map(({ method }) => method) ?? [],
          login_enforcements: await holder.loginEnforcements(),
        });
      },
    },
  });
}

async function holderOf(authority: Authority, call: Call<unknown, ExplainInput>): Promise<TokenAuthority> {
  const { input, caller, namespace, sentToken } = call;
  if ([input.token, input.accessor, input.policies].filter((value) => value?.length).length > 1) {
    throw new Refusal('invalid', "only one of 'token', 'accessor' and 'policies' can be given");
  }
  if (input.policies?.length) {
    if (!caller.sudo) throw listed('denied', 'permission denied');
    return authority.ofPolicies(namespace.uuid, input.policies);
  }
  const own = await authority.byHash(caller.token?.hash ?? '');
  const foreign =
    input.token && input.token !== sentToken
      ? await authority.byToken(namespace.uuid, input.token)
      : input.accessor
        ? await authority.byAccessor(namespace.uuid, input.accessor)
        : own;
  const isOwn = foreign !== undefined && foreign.accessor !== '' && foreign.accessor === own?.accessor;
  // Checked first, so that callers do not learn whether someone else's token exists.
  if ((input.token || input.accessor) && !isOwn && !caller.sudo) throw listed('denied', 'permission denied');
  if (!foreign) throw listed('invalid', 'invalid token');
  return foreign;
}

function obstaclesOf(
  authority: Authority,
  holder: TokenAuthority,
  explained: Explanation,
  { input, namespace, caller }: Call<unknown, ExplainInput>,
): Obstacle[] {
  const address = input.address ?? caller.address;
  const quota = authority.quotaInTheWay(namespace.uuid, input.path, input.operation, address);
  const found: (Obstacle | false)[] = [
    !holder.entityInForce && { kind: 'entity', message: 'the entity of the token is disabled or no longer exists' },
    !namespace.path.startsWith(holder.namespacePath) && {
      kind: 'namespace',
      message: `the token belongs to the namespace ${holder.namespacePath}`,
    },
    !withinCidrs(address, holder.boundCidrs) && {
      kind: 'cidr',
      message: `the token cannot be used from ${address}, only from ${holder.boundCidrs.join(', ')}`,
    },
    holder.usesLeft < 0 && { kind: 'use-count', message: 'the token has no uses left' },
    !explained.sudo &&
      authority.needsSudo(namespace.uuid, input.path, input.operation) && {
        kind: 'sudo',
        message: 'the path needs the sudo capability as well',
      },
    quota !== undefined && { kind: 'quota', message: quota },
  ];
  return found.filter((obstacle) => obstacle !== false);
}

function shownRule({ pattern, capabilities, places }: RuleReference) {
  return {
    path: pattern,
    capabilities,
    places: places.map(({ policy, namespacePath, pattern: written, line }) => ({
      policy,
      namespace: namespacePath,
      path: written,
      line,
    })),
  };
}
