import type { VariableSet as Row } from '../../../generated/prisma/client';
import type { WorkspaceTarget } from '../../../kernel/access/access';

/** Variables for many workspaces: of the whole organization, of projects, or of single workspaces. */
export interface VariableSet extends Row {
  readonly organizationName: string;
  readonly variableIds: readonly string[];
  readonly workspaces: readonly WorkspaceTarget[];
  readonly projectIds: readonly string[];
}
