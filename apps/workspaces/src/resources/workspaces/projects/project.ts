import type { JudgedProject } from './policy';

/** A project. Execution mode and agent pool are its own; if they are null, `inherited` has them. */
export interface Project extends JudgedProject {
  readonly organizationName: string;
  readonly name: string;
  readonly description: string | null;
  readonly autoDestroyActivityDuration: string | null;
  /** Null: as the organization says. */
  readonly allowForceDeleteWorkspaces: boolean | null;
  /** Where its workspaces' runs get credentials; null: nowhere. */
  readonly secretsRole: string | null;
  readonly secretsNamespace: string | null;
  readonly executionMode: string | null;
  readonly agentPoolId: string | null;
  readonly inherited: { readonly executionMode: string; readonly agentPoolId: string | null };
  readonly createdAt: Date;
  /** How many projects the organization has. */
  readonly projectCount: number;
  readonly workspaceCount: number;
  readonly teamCount: number;
  readonly revision: bigint;
}
