import type { GivenGrants } from '../../../kernel/access/access';
import type { Rights } from '../../../kernel/access/capabilities';

/** A team. `userIds` are its active people, `membershipIds` also includes people who were only invited. */
export interface Team {
  readonly id: string;
  readonly organizationId: string;
  readonly organizationName: string;
  readonly name: string;
  readonly isOwners: boolean;
  readonly visibility: string;
  readonly ssoTeamId: string | null;
  readonly allowMemberTokenManagement: boolean;
  readonly rights: Rights;
  readonly grants: GivenGrants;
  readonly userIds: readonly string[];
  readonly membershipIds: readonly string[];
  /** The group of a directory that fills the team. */
  readonly scimGroup: { readonly name: string; readonly updatedAt: Date; readonly paused: boolean } | null;
  readonly revision: bigint;
}

/** The settings that decide who sees a team. */
export type SeenTeam = Pick<Team, 'id' | 'organizationId' | 'visibility'>;
