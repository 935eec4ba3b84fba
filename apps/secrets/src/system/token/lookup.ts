import { Refusal } from '@keystead/refusal';
import { z } from 'zod';
import { remainingSeconds } from '../../kernel/tokens/ttl';
import type { TokenRecord, Tokens } from '../../kernel/tokens/types';
import type { CallerToken } from '../../sdk/call';
import { EndingInput, endingOf } from '../../sdk/ending';
import { bool, secretString, string } from '../../sdk/fields';
import { pageOf } from '../../sdk/paging';
import { operation, path } from '../../sdk/path';
import { data, keys, listed } from '../../sdk/reply';
import { findNamed, type TokenParts } from './parts';

/** Looking up tokens: the caller's own, another, or one by its accessor. */
export function lookupPaths(parts: TokenParts) {
  const { tokens } = parts;
  const show = async (id: string, token: ShownToken, nowMs: number) => data(await describe(parts, id, token, nowMs));

  const lookup = operation({
    summary: 'Look up a token.',
    operationId: 'token-look-up',
    input: z.object({ token: secretString().optional().describe('The token. Default: the caller’s.') }),
    output: lookupOutput,
    async run(call) {
      const id = call.input.token || call.sentToken!;
      const token = await findNamed(parts, call, id);
      if (!token) throw new Refusal('denied', 'bad token');
      return show(id, token, call.nowMs);
    },
  });

  const lookupSelf = operation({
    summary: 'Look up the caller’s token.',
    operationId: 'token-look-up-self',
    output: lookupOutput,
    run: ({ sentToken, caller, nowMs }) => show(sentToken!, caller.token!, nowMs),
  });

  return [
    path('lookup', {
      summary: 'Look up a token.',
      read: { ...lookup, operationId: 'token-look-up-2' },
      write: lookup,
    }),
    path('lookup-self', {
      summary: 'Look up the caller’s token.',
      read: lookupSelf,
      write: { ...lookupSelf, operationId: 'token-look-up-self2' },
    }),
    path('lookup-accessor', {
      summary: 'Look up a token by its accessor.',
      write: {
        summary: 'Look up a token by its accessor.',
        operationId: 'token-look-up-accessor',
        input: z.object({ accessor: string().optional().describe('The accessor of the token.') }),
        output: lookupOutput,
        async run({ input, namespace, nowMs }) {
          return show('', await requireAccessor(tokens, namespace.uuid, input.accessor), nowMs);
        },
      },
    }),
    path('accessors', {
      summary: 'The accessors of all tokens.',
      sudo: true,
      list: {
        summary: 'List the accessors of all tokens.',
        operationId: 'token-list-accessors',
        description:
          'Pages follow the order of the whole list. With expires_within, the list has details, but only of tokens that another token created with a lifetime of a day or longer.',
        input: EndingInput.extend({
          detailed: bool().optional().describe('Include the name, policies and expiry of each token.'),
        }),
        output: z.object({ keys: z.array(z.string()), key_info: z.record(z.string(), z.looseObject({})).optional() }),
        async run({ namespace, input, nowMs }) {
          const range = endingOf(input, nowMs);
          const detailed = range !== undefined || input.detailed === true;
          const each = (token: TokenRecord) => [token.accessor, detailed ? detailsOf(token) : undefined] as const;
          const found =
            range === undefined
              ? await tokens.listLive(namespace.uuid, each, pageOf(input))
              : (await tokens.listExpiring(namespace.uuid, range)).map(each);
          return keys(
            found.map(([accessor]) => accessor),
            detailed ? Object.fromEntries(found) : undefined,
          );
        },
      },
    }),
  ];
}

const detailsOf = (token: TokenRecord) => ({
  display_name: token.displayName,
  path: token.path,
  policies: token.policies,
  renewable: token.renewable,
  expire_time: token.expiresAtMs ? new Date(token.expiresAtMs).toISOString() : null,
});

/** The token of an accessor that is visible in a namespace; throws the refusals that clients expect. */
export async function requireAccessor(
  tokens: Tokens,
  namespaceId: string,
  accessor: string | undefined,
): Promise<TokenRecord> {
  if (!accessor) throw listed('invalid', 'missing accessor');
  const token = await tokens.findByAccessor(namespaceId, accessor);
  if (!token) throw listed('invalid', 'invalid accessor');
  return token;
}

/** A caller's token, or a stored one. */
type ShownToken = CallerToken | TokenRecord;

/** A token in look-ups, with keys in the order that clients expect. */
async function describe(
  parts: TokenParts,
  id: string,
  token: ShownToken,
  nowMs: number,
): Promise<Record<string, unknown>> {
  const expires = token.expiresAtMs ?? undefined;
  const shown: Record<string, unknown> = {
    accessor: token.accessor,
    creation_time: Math.floor(token.createdAtMs / 1000),
    creation_ttl: token.ttlSeconds,
    display_name: token.displayName,
    entity_id: token.entityId ?? '',
    expire_time: expires === undefined ? null : new Date(expires).toISOString(),
    explicit_max_ttl: token.explicitMaxTtlSeconds,
    id,
    issue_time: new Date(token.createdAtMs).toISOString(),
    meta: token.meta,
    num_uses: token.usesLeft ?? 0,
    orphan: token.orphan,
    path: token.path,
    policies: token.policies,
    renewable: token.renewable,
    ttl: remainingSeconds(expires, nowMs),
    type: token.type,
  };
  if (token.entityId) {
    const { own, external } = await identityPolicies(parts, token.entityId);
    shown.external_namespace_policies = external;
    if (own.length > 0) shown.identity_policies = own;
  }
  if (token.lastRenewalMs !== undefined) {
    shown.last_renewal = new Date(token.lastRenewalMs).toISOString();
    shown.last_renewal_time = Math.floor(token.lastRenewalMs / 1000);
  }
  if (token.periodSeconds > 0) shown.period = token.periodSeconds;
  if (token.boundCidrs.length > 0) shown.bound_cidrs = token.boundCidrs;
  if (token.role) shown.role = token.role;
  const namespacePath = parts.namespaces.find(token.namespaceId)?.path ?? '';
  if (namespacePath !== '') shown.namespace_path = namespacePath;
  return shown;
}

/** Policies of an entity and its groups: those of its namespace, and others by namespace path. */
async function identityPolicies({ identity, namespaces }: TokenParts, entityId: string) {
  const view = await identity.find(entityId);
  const external: Record<string, readonly string[]> = {};
  for (const { namespaceId, names } of view?.policies ?? []) {
    const path = namespaces.find(namespaceId)?.path;
    if (path !== undefined && namespaceId !== view!.namespaceId) external[path] = names;
  }
  return { own: view?.ownPolicies ?? [], external };
}

const lookupOutput = z.looseObject({
  accessor: z.string(),
  creation_time: z.int(),
  creation_ttl: z.int(),
  display_name: z.string(),
  entity_id: z.string(),
  expire_time: z.string().nullable(),
  explicit_max_ttl: z.int(),
  id: z.string(),
  issue_time: z.string(),
  meta: z.record(z.string(), z.string()).nullable(),
  num_uses: z.int(),
  orphan: z.boolean(),
  path: z.string(),
  policies: z.array(z.string()),
  renewable: z.boolean(),
  ttl: z.int(),
  type: z.string(),
});
