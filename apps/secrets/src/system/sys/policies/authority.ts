import type { Identity } from '../../../kernel/identity/identity';
import type { IdentityView } from '../../../kernel/identity/types';
import type { Mfa } from '../../../kernel/mfa/mfa';
import type { Mounts } from '../../../kernel/mounts/mounts';
import type { Namespaces } from '../../../kernel/namespaces/namespaces';
import type { Access, AccessQuery } from '../../../kernel/policy/access';
import type { Explanation, Question } from '../../../kernel/policy/types';
import type { Quotas } from '../../../kernel/quotas/quotas';
import { questionOf, type RouteMatch, SentPath } from '../../../kernel/routing/sent-path';
import type { TokenRecord, Tokens } from '../../../kernel/tokens/types';
import type { Verb } from '../../../sdk/call';

/** The kernel's modules for the rights of a token. */
export interface AuthorityParts {
  readonly namespaces: Namespaces;
  readonly mounts: Mounts;
  readonly access: Access;
  readonly tokens: Tokens;
  readonly identity: Identity;
  readonly mfa: Mfa;
  readonly quotas: Quotas;
}

/** The operations to check. */
export const operationNames = ['create', 'read', 'update', 'patch', 'delete', 'list', 'scan'] as const;
type OperationName = (typeof operationNames)[number];

/** A request to check, with its path as a client would send it. */
export interface AuthorityQuestion extends Pick<Question, 'operation' | 'parameters' | 'wrapTtlSeconds'> {
  readonly namespaceId: string;
  readonly path: string;
}

/** The policies of a token: its own, and the current ones of its entity. */
export async function accessQueryOf(
  { identity }: Pick<AuthorityParts, 'identity'>,
  { namespaceId, policies, entityId }: Pick<TokenRecord, 'namespaceId' | 'policies'> & { readonly entityId?: string },
): Promise<AccessQuery & { readonly identity?: IdentityView }> {
  return { namespaceId, policies, identity: entityId === undefined ? undefined : await identity.find(entityId) };
}

/** Looks up tokens; undefined for tokens that are unknown, expired, revoked, or not visible in a namespace. */
export class Authority {
  constructor(private readonly parts: AuthorityParts) {}

  async byToken(namespaceId: string, token: string): Promise<TokenAuthority | undefined> {
    return this.holder(await this.parts.tokens.findWithin(namespaceId, token));
  }

  async byAccessor(namespaceId: string, accessor: string): Promise<TokenAuthority | undefined> {
    return this.holder(await this.parts.tokens.findByAccessor(namespaceId, accessor));
  }

  /** The token of a call; `hash` is hexadecimal. */
  async byHash(hash: string): Promise<TokenAuthority | undefined> {
    return this.holder(await this.parts.tokens.findByHash(Buffer.from(hash, 'hex')));
  }

  /** The rights of a hypothetical token that has only these policies and no entity. */
  ofPolicies(namespaceId: string, policies: readonly string[]): Promise<TokenAuthority> {
    return holderOf(this.parts, { accessor: '', namespaceId, policies, boundCidrs: [] });
  }

  /** Whether the path needs sudo in addition to the capability. */
  needsSudo(namespaceId: string, path: string, operation: OperationName): boolean {
    const match = matchOf(this.parts, namespaceId, path, verbOf(operation));
    return match.operation?.sudo ?? match.declared?.sudo ?? false;
  }

  /** The quota that would refuse the request now, if any. */
  quotaInTheWay(namespaceId: string, path: string, operation: OperationName, address: string): string | undefined {
    const { namespace, mount, path: at, folding } = matchOf(this.parts, namespaceId, path, verbOf(operation));
    const question = { namespaceId: namespace.uuid, mountUuid: mount?.uuid, path: at, folding, address };
    const quota = this.parts.quotas.refusing(question);
    if (!quota) return undefined;
    // Quota names of namespaces above stay private.
    return quota.ownerId === namespaceId
      ? `the rate limit quota ${JSON.stringify(quota.name)} is exhausted`
      : 'a rate limit quota of a parent namespace is exhausted';
  }

  private async holder(record: TokenRecord | undefined): Promise<TokenAuthority | undefined> {
    return record && holderOf(this.parts, record);
  }
}

/** A token and its rights, looked up without using it. */
export type TokenAuthority = Awaited<ReturnType<typeof holderOf>>;

type Holding = Pick<TokenRecord, 'accessor' | 'namespaceId' | 'policies' | 'boundCidrs'> &
  Partial<Pick<TokenRecord, 'entityId' | 'usesLeft' | 'mountId'>>;

async function holderOf(parts: AuthorityParts, record: Holding) {
  const query = await accessQueryOf(parts, record);
  const view = query.identity;
  const access = await parts.access.of(query);
  return {
    accessor: record.accessor,
    /** Token, entity and group policies together, sorted. */
    policies: [...new Set([...record.policies, ...(view?.policies ?? []).flatMap(({ names }) => names)])].sort(),
    /** 0 is unlimited. */
    usesLeft: record.usesLeft ?? 0,
    boundCidrs: record.boundCidrs,
    namespacePath: parts.namespaces.find(record.namespaceId)?.path ?? '',
    /** Whether the entity of the token is active; false if it is disabled or deleted. */
    entityInForce: record.entityId === undefined || (view !== undefined && !view.disabled),
    /** Names of the login enforcements that a new login of its entity at its mount must meet. */
    loginEnforcements: () => loginEnforcements(parts, record, view),
    /**
     * The capabilities on a path as a client would send it. The path is parsed like that of a request. Throws
     * `malformed`.
     */
    capabilities(namespaceId: string, text: string): string[] {
      const { path, folding } = questionOf(matchOf(parts, namespaceId, text, text.endsWith('/') ? 'list' : 'read'));
      return access.capabilities(path, folding);
    },
    /** Explains the decision about one request. */
    explain({ namespaceId, path, ...question }: AuthorityQuestion): Explanation {
      return access.explain({
        ...question,
        ...questionOf(matchOf(parts, namespaceId, path, verbOf(question.operation))),
      });
    },
  };
}

async function loginEnforcements(
  { mounts, mfa }: AuthorityParts,
  { mountId, namespaceId }: Pick<Holding, 'mountId' | 'namespaceId'>,
  view: IdentityView | undefined,
): Promise<string[]> {
  const mount = mountId === undefined ? undefined : mounts.find(mountId);
  if (!mount || !view) return [];
  const { accessor, type: mountType } = mount;
  const { entityId, groupIds } = view;
  const matching = await mfa.enforcements.matching({ namespaceId, accessor, mountType, entityId, groupIds });
  return matching.map(({ name }) => name);
}

function matchOf({ namespaces, mounts }: AuthorityParts, namespaceId: string, path: string, verb: Verb): RouteMatch {
  return SentPath.ofField(path, 'path').locate(namespaces, mounts, verb, namespaces.find(namespaceId)?.path ?? '');
}

/** The verb of a request with an operation. */
export function verbOf(operation: string): Verb {
  return operation === 'create' || operation === 'update' ? 'write' : (operation as Verb);
}
