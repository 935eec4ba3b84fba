import pg from 'pg';
import { outside } from '../outside';
import { stage } from '../stage';
import { standInOpa, standInTool } from '../stand-in-tool';

/**
 * The one installation and the one browser of all journeys: each journey uses its own names for the objects it creates.
 */
export const at = stage({
  SECRETS_AUDIT_TABLE: 'on',
  SECRETS_AUDIT_READS: 'on',
  WORKSPACES_RATE_LIMIT: '0',
  WORKSPACES_NOTIFICATION_NETWORKS: '127.0.0.0/8',
  WORKSPACES_VCS_NETWORKS: '127.0.0.0/8',
  WORKSPACES_WORKER_BINARY: standInTool(),
  WORKSPACES_WORKER_OPA: standInOpa(),
});

/** Receives the installation's notifications and hosts its repositories. */
export const elsewhere = outside();

/** Makes every proof of identity too old to be accepted. */
export async function forgetProofs(service: 'secrets' | 'workspaces'): Promise<void> {
  const client = new pg.Client(await at.installation.databaseUrl(service));
  await client.connect();
  const forgotten = service === 'secrets' ? 'step_up_until_ms = 0' : 'step_up_until = NULL';
  await client.query(`UPDATE console_session SET ${forgotten}`);
  await client.end();
}
