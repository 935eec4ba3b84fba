import { notFound, Refusal } from '@keystead/refusal';
import { type Actor, actorOf, recordChange, system } from '../../../../kernel/audit/audit';
import type { Database } from '../../../../kernel/database/database';
import { lockRow } from '../../../../kernel/database/lock-row';
import type { Call, Endpoint } from '../../../../kernel/endpoints/endpoint';
import { movePhase, stampNow } from '../transition';
import { changeOf } from './create';
import { findMany, type TestResults, type ToolRun } from './tool-run';

/** How long after a cancel a run of the tool can be force-canceled. */
const coolOffSeconds = 60;

/** Locks a run of the tool until the transaction ends, and reads it; undefined if it no longer exists. */
export async function lockToolRun(tx: Database, id: string): Promise<ToolRun | undefined> {
  await lockRow(tx, 'tool_run', id);
  return (await findMany(tx, [id]))[0];
}

/** Ends a run of the tool with its job, even if a worker has it. Call it with the lock. */
export async function endToolRun(
  tx: Database,
  run: ToolRun,
  as: 'finished' | 'errored' | 'canceled',
  more: { readonly actor?: Actor; readonly reason?: string | null; readonly results?: TestResults | null } = {},
): Promise<void> {
  const { actor = system, reason = null, results } = more;
  await tx.prisma.runJob.updateMany({ where: { phaseId: run.id }, data: { state: 'done' } });
  await movePhase(tx, run.id, as, { errorMessage: reason });
  const data = { finishedAt: new Date(), ...(results ? { results: { ...results } } : {}) };
  await tx.prisma.toolRun.update({ where: { id: run.id }, data });
  const after = { status: as, ...(reason === null ? {} : { reason }), ...(results ? { tests: results.status } : {}) };
  await recordChange(tx, actor, {
    ...changeOf(run, as === 'finished' ? 'finish' : as === 'errored' ? 'error' : 'cancel'),
    after,
  });
}

const notAllowed = ({ status }: ToolRun, verb: string) =>
  new Refusal('transition', `transition not allowed: a run that is ${status} cannot be ${verb}`);

const isOver = ({ finishedAt }: ToolRun): boolean => finishedAt !== null;

/**
 * Cancels a run of the tool. A waiting run ends immediately; otherwise the worker interrupts the tool. Repeating the
 * request has no effect.
 */
function cancel(db: Database, actor: Actor, id: string): Promise<void> {
  return db.transaction(async (tx) => {
    const run = await lockToolRun(tx, id);
    if (!run) throw notFound();
    if (isOver(run)) throw notAllowed(run, 'canceled');
    if (run.canceledAt !== null) return;
    await tx.prisma.toolRun.update({
      where: { id },
      data: { canceledAt: new Date(), canceledByType: actor.type, canceledById: actor.id },
    });
    const open = { phaseId: id, state: { in: ['claimed', 'started'] } };
    const cancelled = await tx.prisma.runJob.updateMany({ where: open, data: { cancel: 'cancel' } });
    if (cancelled.count === 0) return endToolRun(tx, run, 'canceled', { actor });
    await recordChange(tx, actor, changeOf(run, 'cancel-request'));
  });
}

/** Force-cancels a run of the tool that has not stopped for a while after it was canceled. */
function forceCancel(db: Database, actor: Actor, id: string): Promise<void> {
  return db.transaction(async (tx) => {
    const run = await lockToolRun(tx, id);
    if (!run) throw notFound();
    const [due] = await tx.prisma.$queryRaw<unknown[]>`
      SELECT 1 FROM tool_run WHERE id = ${id} AND canceled_at < now() - make_interval(secs => ${coolOffSeconds})`;
    if (isOver(run) || !due) throw notAllowed(run, 'canceled by force');
    await tx.prisma.runJob.updateMany({ where: { phaseId: id }, data: { cancel: 'force-cancel' } });
    await endToolRun(tx, run, 'canceled', {
      actor,
      reason: 'Force-canceled without waiting for running work',
    });
    await tx.prisma.$executeRaw`
      UPDATE run_phase SET timestamps = timestamps || jsonb_build_object('force-canceled-at', ${stampNow}) WHERE id = ${id}`;
  });
}

const ways = [
  ['cancel', cancel, (what: string) => `Cancel ${what}. Sending the request again has no effect.`],
  [
    'force-cancel',
    forceCancel,
    (what: string) => `Force-cancel ${what} that did not stop within a minute after the cancel.`,
  ],
] as const;

/** The declaration of an endpoint that stops runs of the tool, without its path and its rights. */
interface Stopping {
  readonly summary: string;
  readonly run: (call: Call<string, undefined, ToolRun>) => Promise<void>;
}

/** The endpoints that cancel runs of the tool, for example `tests`. `declare` adds the path. */
export const stopping = (
  what: string,
  declare: (verb: 'cancel' | 'force-cancel', options: Stopping) => Endpoint,
): Endpoint[] =>
  ways.map(([verb, does, summary]) =>
    declare(verb, {
      summary: summary(what),
      run: ({ db, target, ...call }) => does(db, actorOf(call), target.id),
    }),
  );
