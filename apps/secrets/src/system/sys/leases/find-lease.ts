import type { Leases } from '../../../kernel/leases/leases';
import type { LeaseRecord } from '../../../kernel/leases/types';
import type { Mounts } from '../../../kernel/mounts/mounts';
import type { Namespaces } from '../../../kernel/namespaces/namespaces';
import type { Tokens } from '../../../kernel/tokens/types';

/** The kernel's modules for lease endpoints. */
export interface LeaseParts {
  readonly leases: Leases;
  readonly tokens: Tokens;
  readonly mounts: Mounts;
  readonly namespaces: Namespaces;
}

/** A lease, or a token that may never expire. */
interface FoundLease extends Pick<LeaseRecord, 'id' | 'path' | 'issuedAtMs' | 'renewedAtMs' | 'renewable'> {
  readonly expiresAtMs?: number;
}

/** The lease of an id in a namespace; ids of tokens from listings are accepted, too. */
export async function findLease(
  { leases, tokens }: Pick<LeaseParts, 'leases' | 'tokens'>,
  namespaceId: string,
  id: string,
): Promise<FoundLease | undefined> {
  const hash = leases.tokenOf(id);
  if (!hash) return leases.find(namespaceId, id);
  const token = await tokens.findByHash(hash);
  // The tail is enough to find the row, but the rest of the id must match, too.
  if (token?.namespaceId !== namespaceId || !id.startsWith(`${token.path}/h`)) return undefined;
  return {
    id,
    path: token.path,
    issuedAtMs: token.createdAtMs,
    expiresAtMs: token.expiresAtMs,
    renewedAtMs: token.lastRenewalMs,
    renewable: token.renewable,
  };
}
