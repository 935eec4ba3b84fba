import { invalid } from '@keystead/jsonapi';
import { Refusal } from '@keystead/refusal';
import type { Actor } from '../../../kernel/audit/audit';
import type { Database } from '../../../kernel/database/database';
import { lockedByWhom } from '../../workspaces/workspaces/lock';
import type { Workspace } from '../../workspaces/workspaces/workspace';
import type { ParsedState } from './scanner/parse-state';
import type { StateVersion } from './state-version';

/** The place of a state in its history. */
export type History = Pick<StateVersion, 'serial' | 'md5' | 'lineage'>;

/** The place in history that a new state claims. */
export interface Claim {
  readonly serial: bigint;
  readonly lineage: string | null;
  readonly md5: string;
  readonly force: boolean;
}

/**
 * Throws `invalid`, with the name of the field, if a claim contradicts the state itself. The content of a state
 * determines its place in the history, as in the tool.
 */
export function requireOwnClaim({ serial, lineage }: Claim, parsed: ParsedState): void {
  if (serial !== parsed.serial) {
    throw invalid('serial', `is ${serial}, but the state has the serial ${parsed.serial}`);
  }
  if (lineage !== null && lineage !== parsed.lineage) {
    throw invalid(
      'lineage',
      `is ${lineage}, but the state has ${parsed.lineage ? `the lineage ${parsed.lineage}` : 'none'}`,
    );
  }
}

/** Throws `conflict`, with the message that clients expect, unless the caller holds the workspace's lock. */
export async function requireLock(
  db: Database,
  actor: Pick<Actor, 'type' | 'id'>,
  workspace: Workspace,
): Promise<void> {
  if (workspace.lockedAt === null) {
    throw new Refusal('conflict', 'This workspace is not locked and will only accept state uploads when locked');
  }
  if (workspace.lockedByType === actor.type && workspace.lockedById === actor.id) return;
  const whom = await lockedByWhom(db, workspace);
  throw new Refusal('conflict', `This workspace ${whom} and will only accept state uploads from them while locked.`);
}

/**
 * Refuses a state that does not follow the current one: the same serial with other content, a lower serial, or another
 * lineage without a higher serial. Throws `conflict` with the serials and lineages of both. With `force`, every state
 * is accepted.
 */
export function requireSuccessor(claim: Claim, current: History | undefined): void {
  if (!current || claim.force) return;
  const both = `the current state has serial ${current.serial} and lineage ${current.lineage ?? 'none'}, the one provided serial ${claim.serial} and lineage ${claim.lineage ?? 'none'}`;
  if (claim.serial === current.serial && claim.md5 !== current.md5) {
    const mismatch =
      'The MD5 hash of the state provided does not match what is currently known for the same serial number';
    throw new Refusal('conflict', `${mismatch}: ${both}`);
  }
  if (claim.serial < current.serial) {
    throw new Refusal('conflict', `The state provided is older than the current one: ${both}`);
  }
  const otherLineage = claim.lineage !== null && current.lineage !== null && claim.lineage !== current.lineage;
  if (otherLineage && claim.serial <= current.serial) {
    throw new Refusal('conflict', `The state provided has a different lineage than the current one: ${both}`);
  }
}
