import type { NotificationConfiguration as Row } from '../../../generated/prisma/client';
import type { GivenGrants, ProjectTarget, WorkspaceTarget } from '../../../kernel/access/access';
import type { Rights } from '../../../kernel/access/capabilities';

/** Where notifications go. */
export const destinations = ['generic', 'slack', 'microsoft-teams', 'email'] as const;

/** The last attempt of a delivery. */
export interface Tried {
  readonly trigger: string;
  readonly sentAt: Date | null;
  readonly successful: boolean | null;
  readonly code: string | null;
  readonly body: string | null;
}

/** The parts of a team that rules need. */
export interface SubscribedTeam {
  readonly id: string;
  readonly organizationId: string;
  readonly name: string;
  readonly isOwners: boolean;
  readonly visibility: string;
  readonly rights: Rights;
  readonly grants: GivenGrants;
}

/**
 * A configuration of notifications: about runs of a workspace or of all workspaces of a project, or to a team about the
 * workspaces that it may read.
 */
export interface NotificationConfiguration extends Omit<Row, 'url' | 'token'> {
  readonly organizationId: string;
  readonly workspace: (WorkspaceTarget & { readonly name: string }) | null;
  readonly project: (ProjectTarget & { readonly name: string }) | null;
  readonly team: SubscribedTeam | null;
  readonly url: string | null;
  readonly token: string | null;
  readonly deliveries: readonly Tried[];
}
