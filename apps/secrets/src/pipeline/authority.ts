import { isRefusal } from '@keystead/refusal';
import type { Operation } from '../kernel/policy/capability';
import type { AccessList, Question } from '../kernel/policy/types';
import type { TokenRecord } from '../kernel/tokens/types';
import type { Verb } from '../sdk/call';
import type { Kernel } from './kernel';

/** A token looked at from outside, without using it. */
export interface TokenAuthority {
  readonly accessor: string;
  /** Token, entity and group policies together, sorted. */
  readonly policies: readonly string[];
  /** 0 is unlimited. */
  readonly usesLeft: number;
  readonly boundCidrs: readonly string[];
  readonly namespacePath: string;
  /** False for a token whose entity is disabled or gone. */
  readonly entityInForce: boolean;
  capabilities(path: string): string[];
  explain(question: Question): ReturnType<AccessList['explain']>;
}

/** What tokens may do, for those who ask about it rather than do it. */
export class Authority {
  constructor(
    private readonly kernel: Pick<Kernel, 'tokens' | 'identity' | 'access' | 'namespaces' | 'mounts' | 'quotas'>,
  ) {}

  async byToken(token: string): Promise<TokenAuthority | undefined> {
    return this.of(await this.kernel.tokens.find(token));
  }

  async byAccessor(accessor: string): Promise<TokenAuthority | undefined> {
    return this.of(await this.kernel.tokens.findByAccessor(accessor));
  }

  /** By the hexadecimal hash that handlers see. */
  async byHash(hash: string): Promise<TokenAuthority | undefined> {
    return this.of(await this.kernel.tokens.findByHash(Buffer.from(hash, 'hex')));
  }

  /** Whether a path needs sudo besides its capability. */
  needsSudo(namespaceId: string, path: string, operation: Operation): boolean {
    const resolved = this.kernel.mounts.resolve(namespaceId, path);
    if (!resolved) return false;
    const verb: Verb =
      operation === 'create' || operation === 'update' ? 'write' : operation === 'scan' ? 'list' : operation;
    const declared = resolved.mount.tree.match(resolved.path, verb)?.path;
    return declared?.operations[verb]?.sudo ?? declared?.sudo ?? false;
  }

  /** The quota that would refuse a request at this moment; asking counts as one request. */
  quotaInTheWay(namespaceId: string, path: string, address: string): string | undefined {
    const mountUuid = this.kernel.mounts.resolve(namespaceId, path)?.mount.uuid;
    try {
      this.kernel.quotas.check({ namespaceId, mountUuid, path, address });
      return undefined;
    } catch (error) {
      if (isRefusal(error) && error.kind === 'limited') return error.message;
      throw error;
    }
  }

  private async of(record: TokenRecord | undefined): Promise<TokenAuthority | undefined> {
    if (!record) return undefined;
    const identity = record.entityId === undefined ? undefined : await this.kernel.identity.find(record.entityId);
    const entityInForce = record.entityId === undefined || (identity !== undefined && !identity.disabled);
    const { namespaceId, policies } = record;
    const access = await this.kernel.access.of({ namespaceId, policies, identity });
    const inherited = identity?.policies.flatMap(({ names }) => names) ?? [];
    return {
      accessor: record.accessor,
      policies: [...new Set([...policies, ...inherited])].sort(),
      usesLeft: record.usesLeft ?? 0,
      boundCidrs: record.boundCidrs,
      namespacePath: this.kernel.namespaces.find(namespaceId)?.path ?? '',
      entityInForce,
      capabilities: (path) => access.capabilities(path),
      explain: (question) => access.explain(question),
    };
  }
}
