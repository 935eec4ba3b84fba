import { useParams } from '@tanstack/react-router';
import type { Item, Permissions } from '../data/documents';
import { useOne } from '../data/use-api';

/** A workspace, as far as the console looks at it. */
export interface WorkspaceAttributes {
  readonly name: string;
  readonly description: string | null;
  readonly 'auto-apply': boolean;
  readonly 'execution-mode': string;
  readonly 'infra-version': string;
  readonly 'working-directory': string | null;
  readonly 'resource-count': number;
  readonly 'latest-change-at': string;
  readonly 'created-at': string;
  readonly locked: boolean;
  readonly 'locked-reason': string | null;
  readonly 'locked-at': string | null;
  readonly 'tag-names': readonly string[];
  readonly 'secrets-role': string | null;
  readonly 'allow-destroy-plan': boolean;
  readonly 'global-remote-state': boolean;
  readonly 'queue-all-runs': boolean;
  readonly 'auto-destroy-at': string | null;
  readonly permissions: Permissions;
}

export type Workspace = Item<WorkspaceAttributes>;

/** The organization and the workspace that the address names. */
function useNames(): { readonly org: string; readonly ws: string } {
  const { organization: org = '', workspace: ws = '' } = useParams({ strict: false }) as Record<string, string>;
  return { org, ws };
}

export const organizationPath = (org: string): string => `organizations/${encodeURIComponent(org)}`;

/** The workspace that the address names. */
export function useWorkspace() {
  const { org, ws } = useNames();
  const path = `${organizationPath(org)}/workspaces/${encodeURIComponent(ws)}`;
  const asked = useOne<WorkspaceAttributes>(`${path}?include=current_run,project,readme`);
  return { ...asked, org, ws, path, to: `/${path}`, workspace: asked.data?.data, included: asked.data?.included };
}
