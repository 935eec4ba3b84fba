import type { NotificationConfiguration as Row } from '../../../generated/prisma/client';
import type { ProjectTarget, WorkspaceTarget } from '../../../kernel/access/access';

/** Where notifications go. */
export const destinations = ['generic', 'slack', 'microsoft-teams', 'email'] as const;

/** The last try of a delivery. */
export interface Tried {
  readonly trigger: string;
  readonly sentAt: Date | null;
  readonly successful: boolean | null;
  readonly code: string | null;
  readonly body: string | null;
}

/** Whom to notify of which events in the runs of a workspace, or of all workspaces of a project. */
export interface NotificationConfiguration extends Omit<Row, 'url' | 'token'> {
  readonly organizationId: string;
  readonly workspace: (WorkspaceTarget & { readonly name: string }) | null;
  readonly project: (ProjectTarget & { readonly name: string }) | null;
  readonly url: string | null;
  readonly token: string | null;
  readonly deliveries: readonly Tried[];
}
