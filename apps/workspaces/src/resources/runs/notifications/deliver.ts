import type { Database } from '../../../kernel/database/database';
import { mayTell } from '../runs/note-notifications';
import { find } from './configuration';
import type { RunFacts, WorkspaceFacts } from './messages';
import type { Sender } from './sender';

/**
 * The number of parallel deliveries. Each is for a different configuration, so that a stalled delivery does not delay
 * others.
 */
const BATCH = 50;
const ROUNDS = 20;
/** The number of attempts before a delivery is abandoned: about 12 hours in total. */
const TRIES = 12;

interface Due {
  readonly id: string;
  readonly configuration_id: string;
  readonly run_id: string | null;
  readonly workspace_id: string | null;
  readonly details: Readonly<Record<string, unknown>> | null;
  readonly trigger: string;
  readonly run_status: string | null;
  readonly actor_type: string | null;
  readonly actor_id: string | null;
  readonly created_at: Date;
  readonly attempts: number;
  readonly mailed_to: readonly string[];
}

/**
 * Sends due deliveries, each by one node at a time. Returns the number of attempts. Failures are retried at growing
 * intervals. If a node dies while it sends, another node sends again after a minute, so a message may arrive twice.
 */
export async function deliverDue(db: Database, sender: Sender, publicUrl: string): Promise<number> {
  let attempts = 0;
  for (let round = 0; round < ROUNDS; round++) {
    const due = await take(db);
    if (due.length === 0) break;
    attempts += due.length;
    await Promise.all(due.map((one) => deliver(db, sender, publicUrl, one)));
  }
  return attempts;
}

/** Claims the oldest due delivery of each configuration. */
const take = ({ prisma }: Database) => prisma.$queryRaw<Due[]>`
  UPDATE notification_delivery SET attempts = attempts + 1, due_at = now() + interval '1 minute'
   WHERE id IN (
     SELECT d.id FROM notification_delivery d
      WHERE d.id IN (
        SELECT f.id FROM (
          SELECT DISTINCT ON (configuration_id) id, due_at FROM notification_delivery
           WHERE done_at IS NULL AND due_at <= now()::timestamptz(3) ORDER BY configuration_id, due_at, id) f
         ORDER BY f.due_at LIMIT ${BATCH})
        AND d.done_at IS NULL AND d.due_at <= now()::timestamptz(3)
      FOR UPDATE SKIP LOCKED)
  RETURNING id, configuration_id, run_id, workspace_id, details, trigger, run_status, actor_type, actor_id, created_at, attempts, mailed_to`;

async function deliver(db: Database, sender: Sender, publicUrl: string, due: Due): Promise<void> {
  const configuration = await find(db, sender.keyring, due.configuration_id);
  if (!configuration) return;
  const { teamId } = configuration;
  const mayKnow = teamId === null || due.workspace_id === null || (await mayTell(db, teamId, due.workspace_id));
  if (!configuration.enabled || !mayKnow) {
    await db.prisma.notificationDelivery.deleteMany({ where: { id: due.id } });
    return;
  }
  const run = due.run_id === null ? undefined : await factsOf(db, publicUrl, due.run_id);
  const workspace = due.workspace_id === null ? undefined : await workspaceFactsOf(db, publicUrl, due.workspace_id);
  const event = {
    configurationId: configuration.id,
    configurationUrl: `${publicUrl}/api/v2/notification-configurations/${configuration.id}`,
    name: configuration.name,
    trigger: due.trigger,
    status: due.run_status,
    at: due.created_at,
    by: await nameOf(db, due.actor_type, due.actor_id),
    run,
    workspace,
    details: due.details ?? undefined,
  };
  const { successful, code, body, reached = [] } = await sender.send(db, configuration, event, due.mailed_to);
  const isOver = successful || due.attempts >= TRIES;
  // The pause doubles from half a minute up to four hours, by the database's clock.
  const wait = Math.min(30 * 2 ** (due.attempts - 1), 4 * 3600);
  const ended = await db.prisma.$executeRaw`
    UPDATE notification_delivery
       SET mailed_to = mailed_to || ${[...reached]}::text[], sent_at = now(), successful = ${successful}, code = ${code}, body = ${body},
           done_at = CASE WHEN ${isOver} THEN now() END, due_at = now() + ${wait} * interval '1 second'
     WHERE id = ${due.id} AND done_at IS NULL AND (attempts = ${due.attempts} OR ${successful})`;
  if (ended > 0 || reached.length === 0) return;
  // Another node has claimed the delivery in the meantime. The recipients that were reached are stored nevertheless, so
  // that no mail is sent twice.
  await db.prisma.$executeRaw`
    UPDATE notification_delivery SET mailed_to = mailed_to || ${[...reached]}::text[] WHERE id = ${due.id}`;
}

async function factsOf({ prisma }: Database, publicUrl: string, id: string): Promise<RunFacts | undefined> {
  const run = await prisma.run.findUnique({
    where: { id },
    select: {
      message: true,
      createdAt: true,
      createdByType: true,
      createdById: true,
      workspace: { select: { id: true, name: true, organization: { select: { name: true } } } },
    },
  });
  if (!run) return undefined;
  const { workspace } = run;
  return {
    id,
    message: run.message,
    createdAt: run.createdAt,
    createdBy: await nameOf({ prisma } as Database, run.createdByType, run.createdById),
    workspaceId: workspace.id,
    workspaceName: workspace.name,
    organizationName: workspace.organization.name,
    url: `${publicUrl}/app/${workspace.organization.name}/${workspace.name}/runs/${id}`,
  };
}

async function workspaceFactsOf(
  { prisma }: Database,
  publicUrl: string,
  id: string,
): Promise<WorkspaceFacts | undefined> {
  const found = await prisma.workspace.findUnique({
    where: { id },
    select: { name: true, organization: { select: { name: true } } },
  });
  if (!found) return undefined;
  const { name: organizationName } = found.organization;
  return {
    workspaceId: id,
    workspaceName: found.name,
    organizationName,
    url: `${publicUrl}/app/${organizationName}/workspaces/${found.name}`,
  };
}

/** The name of the user who caused an event; null if it was not a user. */
async function nameOf({ prisma }: Database, type: string | null, id: string | null): Promise<string | null> {
  if (type !== 'users' || id === null) return null;
  return (await prisma.user.findUnique({ where: { id }, select: { username: true } }))?.username ?? null;
}

/** Deletes notifications that were sent or abandoned thirty days ago. */
export const forgetDelivered = ({ prisma }: Database) =>
  prisma.$executeRaw`DELETE FROM notification_delivery WHERE done_at < now() - interval '30 days'`;
