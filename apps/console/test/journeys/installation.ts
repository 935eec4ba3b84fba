import { stage } from '../stage';
import { standInTool } from '../stand-in-tool';

/** The one installation and the one browser of all journeys: each makes what it needs under names of its own. */
export const at = stage({
  SECRETS_AUDIT_TABLE: 'on',
  WORKSPACES_RATE_LIMIT: '0',
  WORKSPACES_WORKER_BINARY: standInTool(),
});
