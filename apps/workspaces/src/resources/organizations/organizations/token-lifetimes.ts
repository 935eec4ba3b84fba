import { choice, document, instant, invalid, whole } from '@keystead/jsonapi';
import { z } from 'zod';
import { type Actor, actorOf, recordChange } from '../../../kernel/audit/audit';
import type { Database } from '../../../kernel/database/database';
import { lockRow } from '../../../kernel/database/lock-row';
import { endpoints, type Lookup, type Resource, serializerOf } from '../../../kernel/endpoints/endpoint';
import { longestLifeMs } from '../../../kernel/installation/token-lives';
import type { Organization } from './organization';
import { organizationPolicy } from './policy';
import * as organizations from './service';

/** Kinds of token whose lifetime an organization limits, as clients name them. */
const tokenTypes = ['organization', 'team', 'user', 'audit_trails'] as const;
type TokenType = (typeof tokenTypes)[number];

/** The longest lifetime of tokens of one kind. */
interface TokenLifetime {
  readonly organizationId: string;
  readonly tokenType: TokenType;
  readonly maxMs: number;
  readonly createdAt: Date;
  readonly updatedAt: Date;
}

const lifetimeSerializer = serializerOf<TokenLifetime>()({
  type: 'organization-token-ttl-policies',
  shape: { 'token-type': choice(tokenTypes), 'max-ttl-ms': whole, 'created-at': instant, 'updated-at': instant },
  id: ({ organizationId, tokenType }) => `${organizationId}-${tokenType}`,
  attributes: (one) => ({
    'token-type': one.tokenType,
    'max-ttl-ms': one.maxMs,
    'created-at': one.createdAt,
    'updated-at': one.updatedAt,
  }),
});

const lifetimesOf = ({ id, tokenMaxLives, createdAt, updatedAt }: Organization): TokenLifetime[] => {
  const lives = tokenMaxLives as Readonly<Partial<Record<TokenType, number>>>;
  return tokenTypes.map((tokenType) => ({
    organizationId: id,
    tokenType,
    maxMs: lives[tokenType] ?? longestLifeMs,
    createdAt,
    updatedAt,
  }));
};

const UpdateLifetimes = document('organization-token-ttl-policies', {
  attributes: {
    'token-ttl-policies': z
      .array(
        z.object({
          'token-type': z.enum(tokenTypes),
          'max-ttl-ms': z
            .int()
            .min(3_600_000)
            .max(longestLifeMs)
            .meta({ description: 'Milliseconds, at least one hour.' }),
        }),
      )
      .min(1)
      .max(tokenTypes.length),
  },
});

const path = '/organizations/:organization_name/token-ttl-policies';
const load = ({ db, env, params }: Lookup<typeof path>) => organizations.findByName(db, env, params.organization_name);
const { list, change } = endpoints(organizationPolicy, lifetimeSerializer, {
  visible: organizationPolicy['can-traverse'],
});

const index = list(path, {
  summary:
    'List the maximum lifetimes of tokens, by token type. They apply if `max-ttl-enabled` of the organization is true.',
  requires: 'can-update-api-token',
  load,
  run: async ({ target, page }) => {
    const all = lifetimesOf(target);
    return { items: all.slice(page!.offset, page!.offset + page!.size), total: all.length };
  },
});

const update = change('PATCH')(path, {
  summary:
    'Change the maximum lifetimes of tokens; omitted token types keep theirs. Existing tokens are shortened immediately.',
  requires: 'can-update-api-token',
  paging: 'none',
  stepUp: true,
  body: UpdateLifetimes,
  load,
  run: async ({ db, env, target, body, ...call }) => {
    const lifetimes = Object.fromEntries(body.tokenTtlPolicies.map((one) => [one['token-type'], one['max-ttl-ms']]));
    if (Object.keys(lifetimes).length < body.tokenTtlPolicies.length) {
      throw invalid('tokenTtlPolicies', 'contain a kind of token twice');
    }
    return db.transaction(async (tx) => {
      await lockRow(tx, 'organization', target.id);
      const before = await organizations.requireOrganization(tx, env, target.id);
      const lives = { ...(before.tokenMaxLives as object), ...lifetimes };
      await tx.prisma.organization.update({
        where: { id: target.id },
        data: { tokenMaxLives: lives, updatedAt: new Date() },
      });
      await organizations.shortenTokens(tx, target.id, call.principal);
      const after = await organizations.requireOrganization(tx, env, target.id);
      await recordLives(tx, actorOf(call), before, after);
      return { items: lifetimesOf(after) };
    });
  },
});

const recordLives = (tx: Database, actor: Actor, before: Organization, after: Organization) =>
  recordChange(tx, actor, {
    organizationId: after.id,
    action: 'organization.update',
    target: { type: 'organizations', id: after.id, name: after.name },
    before: { tokenMaxLives: before.tokenMaxLives },
    after: { tokenMaxLives: after.tokenMaxLives },
  });

/** The longest lifetimes of an organization's tokens. */
export const tokenLifetimeResource: Resource = { name: 'token-ttl-policies', endpoints: [index, update] };
