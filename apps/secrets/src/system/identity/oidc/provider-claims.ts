import type { IdentityView } from '../../../kernel/identity/types';
import type { Storage } from '../../../sdk/storage';
import { fillClaims, reservedClaims } from './claims-template';
import { scopes } from './scope-paths';

/** The claims of scopes for an entity; `conflict` if two scopes have the same claim. */
export async function claimsOf(
  storage: Storage,
  names: readonly string[],
  { subject }: IdentityView,
  nowMs: number,
): Promise<{ claims: Record<string, unknown> } | { conflict: string }> {
  const claims = new Map<string, { scope: string; value: unknown }>();
  for (const name of names) {
    const scope = await scopes.find(storage, name);
    for (const [claim, value] of Object.entries(fillClaims(scope?.template ?? '', subject, nowMs))) {
      const other = claims.get(claim);
      if (other) {
        const both = `claim '${claim}' in scopes '${name}', '${other.scope}'`;
        return { conflict: `found scopes with conflicting top-level claim: ${both}` };
      }
      if (!(reservedClaims as readonly string[]).includes(claim)) claims.set(claim, { scope: name, value });
    }
  }
  return { claims: Object.fromEntries([...claims].map(([claim, { value }]) => [claim, value])) };
}
