import type { Keyring } from '@keystead/keyring';
import { Refusal } from '@keystead/refusal';
import { type Actor, recordChange } from '../../../kernel/audit/audit';
import type { Database } from '../../../kernel/database/database';
import { newId } from '../../../kernel/database/ids';
import { advance, enqueue, finish, lockFor } from './queue';
import type { LockedRun } from './run';
import { actionsOf, discardableStatuses, finalStatuses } from './statuses';
import { lockRun, moveRun, recordEvent } from './transition';

/** How long after a cancel a run can be force-canceled. */
const coolOffSeconds = 60;

/** The caller of an action, with the comment. */
interface Act {
  readonly actor: Actor;
  readonly comment: string | null;
}

const notAllowed = (run: LockedRun, verb: string) =>
  new Refusal('transition', `transition not allowed: a run that is ${run.status} cannot be ${verb}`);

/** Adds a comment to a run, with an event. */
export async function addComment(tx: Database, runId: string, actor: Actor, body: string): Promise<string> {
  const id = newId('wsc');
  await tx.prisma.runComment.create({
    data: { id, runId, body, createdByType: actor.type, createdById: actor.id },
  });
  await recordEvent(tx, runId, 'commented', { actor, description: body, commentId: id });
  return id;
}

async function act(
  db: Database,
  keyring: Keyring,
  runId: string,
  { actor, comment }: Act,
  run: (tx: Database, lockedRun: LockedRun) => Promise<void>,
): Promise<void> {
  await db.transaction(async (tx) => {
    const locked = await lockRun(tx, keyring, runId);
    await run(tx, locked);
    if (comment !== null) await addComment(tx, runId, actor, comment);
  });
}

async function audit(tx: Database, actor: Actor, run: LockedRun, verb: string): Promise<void> {
  const { id, organizationId, workspaceName: name } = run;
  await recordChange(tx, actor, { organizationId, action: `run.${verb}`, target: { type: 'runs', id, name } });
}

/**
 * Confirms a plan, which will then be applied. Throws `transition`, and `conflict` if another caller took the lock in
 * the meantime.
 */
export function apply(db: Database, keyring: Keyring, runId: string, by: Act): Promise<void> {
  return act(db, keyring, runId, by, async (tx, run) => {
    if (!actionsOf(run, run.readAt)['is-confirmable']) throw notAllowed(run, 'applied');
    const { type: confirmedByType, id: confirmedById } = by.actor;
    if (run.savePlan) await requireFresh(tx, run);
    else if (!(await lockFor(tx, run.workspaceId, run.id))) {
      throw new Refusal('conflict', 'transition not allowed: the workspace is locked by another user');
    }
    await tx.prisma.run.update({ where: { id: run.id }, data: { confirmedByType, confirmedById } });
    await moveRun(tx, run.id, 'confirmed', { actor: by.actor });
    await audit(tx, by.actor, run, 'apply');
    if (run.savePlan) await advance(tx, run.workspaceId);
    else await enqueue(tx, { id: run.id, phaseId: run.applyId }, 'apply');
  });
}

async function requireFresh(tx: Database, run: LockedRun): Promise<void> {
  const workspace = await tx.prisma.workspace.findUniqueOrThrow({ where: { id: run.workspaceId } });
  if (workspace.currentStateVersionId === run.inputStateVersionId) return;
  throw new Refusal('transition', 'transition not allowed: the state has changed since the plan was saved');
}

/** Ends a run that waits for its turn or for confirmation. */
export function discard(db: Database, keyring: Keyring, runId: string, by: Act): Promise<void> {
  return act(db, keyring, runId, by, async (tx, run) => {
    if (!actionsOf(run, run.readAt)['is-discardable']) throw notAllowed(run, 'discarded');
    await finish(tx, run, 'discarded', { actor: by.actor });
  });
}

/** Cancels a run. If nothing is running, it ends immediately; otherwise its worker interrupts the tool. */
export function cancel(db: Database, keyring: Keyring, runId: string, by: Act): Promise<void> {
  return act(db, keyring, runId, by, async (tx, run) => {
    if (!actionsOf(run, run.readAt)['is-cancelable']) throw notAllowed(run, 'canceled');
    await tx.prisma.$executeRaw`
      UPDATE run SET canceled_at = now(), force_cancel_at = now() + make_interval(secs => ${coolOffSeconds}),
             canceled_by_type = ${by.actor.type}, canceled_by_id = ${by.actor.id}
       WHERE id = ${run.id}`;
    const cancelled = await tx.prisma.runJob.updateMany({
      where: { runId: run.id, state: { in: ['claimed', 'started'] } },
      data: { cancel: 'cancel' },
    });
    if (cancelled.count === 0) return finish(tx, run, 'canceled', { actor: by.actor });
    await recordEvent(tx, run.id, 'cancel-requested', { actor: by.actor });
    await audit(tx, by.actor, run, 'cancel-request');
  });
}

/**
 * Force-cancels a run whose tool does not stop; with `anyTime`, without waiting. The workspace is free immediately, and
 * later results of the tool are refused.
 */
export function forceCancel(
  db: Database,
  keyring: Keyring,
  runId: string,
  by: Act & { readonly anyTime?: boolean },
): Promise<void> {
  return act(db, keyring, runId, by, async (tx, run) => {
    const may = by.anyTime ? !finalStatuses.includes(run.status) : actionsOf(run, run.readAt)['is-force-cancelable'];
    if (!may) throw notAllowed(run, 'canceled by force');
    await tx.prisma.$executeRaw`
      UPDATE run SET canceled_at = now(), canceled_by_type = ${by.actor.type}, canceled_by_id = ${by.actor.id}
       WHERE id = ${run.id} AND canceled_at IS NULL`;
    const open = { runId: run.id, state: { in: ['claimed', 'started'] } };
    await tx.prisma.runJob.updateMany({ where: open, data: { cancel: 'force-cancel' } });
    const reason = 'Force-canceled without waiting for running work';
    const how = { actor: by.actor, reason, stamp: 'force-canceled-at', event: 'force-canceled' };
    await finish(tx, run, 'canceled', how);
  });
}

/**
 * Lets a pending run start before all others, in place of the run that waits for confirmation. Throws `denied` if no
 * run is ahead of it, `transition` if the run ahead cannot be discarded.
 */
export function forceExecute(db: Database, keyring: Keyring, runId: string, by: Act): Promise<void> {
  return act(db, keyring, runId, by, async (tx, run) => {
    if (run.status !== 'pending') throw new Refusal('denied', 'the run is not pending');
    if (run.lockedById === null) throw new Refusal('denied', 'the workspace is not locked: nothing blocks this run');
    const blocking = run.lockedByType === 'runs' ? await lockRun(tx, keyring, run.lockedById) : undefined;
    if (!blocking || !discardableStatuses.includes(blocking.status)) {
      throw new Refusal('transition', 'transition not allowed: the run that locks the workspace cannot be discarded');
    }
    await tx.prisma.run.update({ where: { id: run.id }, data: { forced: true } });
    await recordEvent(tx, run.id, 'force-executed', { actor: by.actor });
    await audit(tx, by.actor, run, 'force-execute');
    await finish(tx, blocking, 'discarded', { actor: by.actor, reason: `${run.id} was force-executed` });
  });
}
