import type { Auth } from '@keystead/envelope';
import type { Identity } from '../identity/identity';
import type { MintedToken } from './types';

/**
 * The `auth` block of a response about a token. If only the accessor is known, `token` is empty. The block contains the
 * current policies of the token's entity.
 */
export async function authOf(
  identities: Pick<Identity, 'find'>,
  { token, record }: MintedToken,
  leaseDurationSeconds: number,
): Promise<Auth> {
  const identity = record.entityId ? await identities.find(record.entityId) : undefined;
  const identityPolicies = identity ? [...new Set(identity.policies.flatMap(({ names }) => names))].sort() : [];
  return {
    clientToken: token,
    accessor: record.accessor,
    policies: [...new Set([...record.policies, ...identityPolicies])].sort(),
    tokenPolicies: record.policies,
    identityPolicies,
    metadata: record.meta,
    leaseDurationSeconds,
    renewable: record.renewable,
    entityId: record.entityId ?? '',
    tokenType: record.type,
    orphan: record.orphan,
    mfaRequirement: null,
    numUses: record.numUses,
  };
}
