import type { JudgedProject } from './policy';

/**
 * A project with its own execution mode and agent pool; if they are null, `inherited` contains the effective values.
 */
export interface Project extends JudgedProject {
  readonly organizationName: string;
  readonly name: string;
  readonly description: string | null;
  readonly autoDestroyActivityDuration: string | null;
  /** Null means the setting of the organization. */
  readonly allowForceDeleteWorkspaces: boolean | null;
  /** The role that runs of its workspaces use to get credentials; null means that they get none. */
  readonly secretsRole: string | null;
  readonly secretsNamespace: string | null;
  readonly executionMode: string | null;
  readonly agentPoolId: string | null;
  readonly inherited: { readonly executionMode: string; readonly agentPoolId: string | null };
  readonly createdAt: Date;
  /** The number of projects of the organization. */
  readonly projectCount: number;
  readonly workspaceCount: number;
  readonly teamCount: number;
  readonly revision: bigint;
}
