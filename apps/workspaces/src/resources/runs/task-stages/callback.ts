import { equalSecrets } from '@keystead/auth';
import type { Keyring } from '@keystead/keyring';
import { Refusal } from '@keystead/refusal';
import { z } from 'zod';
import { Prisma } from '../../../generated/prisma/client';
import type { Database } from '../../../kernel/database/database';
import { settleStage } from '../runs/stages/settle';
import { toStatus } from '../runs/stages/stages';
import { lockRun } from '../runs/transition';
import type { TaskResult } from './task-stage';

/** A task that sends nothing for this long has failed. */
export const silence = Prisma.raw("interval '10 minutes'");

const link = z
  .string()
  .max(2048)
  .refine(
    (url) => url === '' || (URL.canParse(url) && /^https?:$/.test(new URL(url).protocol)),
    'must be an http or https address',
  );

/** The result of a task: a document with outcomes as complete resources in a relationship. */
export const Callback = z.object({
  data: z.object({
    type: z.literal('task-results'),
    attributes: z.object({
      status: z.enum(['running', 'passed', 'failed']),
      message: z.string().max(1000).nullish(),
      url: link.nullish(),
    }),
    relationships: z
      .object({
        outcomes: z.object({
          data: z
            .array(
              z.object({
                type: z.literal('task-result-outcomes'),
                attributes: z.object({
                  'outcome-id': z.string().max(255).nullish(),
                  description: z.string().max(1000).nullish(),
                  body: z.string().nullish(),
                  url: link.nullish(),
                  tags: z
                    .record(
                      z.string().max(255),
                      z.array(z.object({ label: z.string().max(255), level: z.string().max(20).optional() })).max(20),
                    )
                    .nullish(),
                }),
              }),
            )
            .max(100),
        }),
      })
      .nullish(),
  }),
});

/**
 * A token that proves that a request comes from the service that was asked for a result. It is bound to this result,
 * and so to the run and the stage of the result.
 */
export const tokenOf = (keyring: Keyring, id: string): string =>
  `${id}.${keyring.mac('task-result', id).toString('base64url')}`;

/** Throws `unauthenticated` for a request without the token of a result. */
export function requireToken(keyring: Keyring, { id }: TaskResult, authorization: string | string[] | undefined): void {
  const token = /^Bearer (.+)$/i.exec(String(authorization ?? ''))?.[1];
  if (token === undefined || !equalSecrets(token, tokenOf(keyring, id))) throw new Refusal('unauthenticated', '');
}

/**
 * Whether a task in its current form was asked for a result. A task that was deleted or has another URL may neither
 * read nor answer.
 */
export async function isAsked(db: Database, runTaskId: string, taskUrl: string): Promise<boolean> {
  const task = await db.prisma.runTask.findUnique({ where: { id: runTaskId }, select: { url: true } });
  return task?.url === taskUrl;
}

/** Like isAsked, but throws `transition` instead of returning false. */
export async function requireAsked(db: Database, { runTaskId, taskUrl }: TaskResult): Promise<void> {
  if (!(await isAsked(db, runTaskId, taskUrl)))
    throw new Refusal('transition', 'the task was deleted, or its address has changed');
}

const isOpen = ({ status }: { readonly status: string }): boolean => status === 'pending' || status === 'running';

/** Throws `transition` for a result that already has an outcome or was abandoned. */
export function requireOpen(result: { readonly status: string }): void {
  if (!isOpen(result)) throw new Refusal('transition', `the result is ${result.status} and can no longer be changed`);
}

/**
 * Stores a task's message about a result: that the task is running, or (only once) its outcome. Throws `transition` if
 * the result is final.
 */
export async function takeResult(
  db: Database,
  keyring: Keyring,
  result: TaskResult,
  { data: { attributes, relationships } }: z.infer<typeof Callback>,
): Promise<void> {
  const { id, runId, taskStageId } = result;
  const { status, message, url } = attributes;
  const outcomes = JSON.stringify(relationships?.outcomes.data.map((one) => one.attributes) ?? []);
  await db.transaction(async (tx) => {
    const run = await lockRun(tx, keyring, runId);
    await requireAsked(tx, result);
    const row = await tx.prisma.taskResult.findUnique({ where: { id }, select: { status: true, endsAt: true } });
    requireOpen(row?.endsAt ? row : { status: row?.status === 'pending' ? 'not begun' : (row?.status ?? 'gone') });
    const columns = Prisma.sql`sent_at = coalesce(sent_at, now()), message = coalesce(${message ?? null}, message), url = coalesce(${url ?? null}, url)`;
    if (status === 'running') {
      await tx.prisma.$executeRaw`
        UPDATE task_result SET ${columns}, ${toStatus('running')}, claim = claim + 1, next_at = LEAST(now() + ${silence}, ends_at)
         WHERE id = ${id}`;
      return;
    }
    await tx.prisma.$executeRaw`
      UPDATE task_result SET ${columns}, ${toStatus(status)}, claim = claim + 1, next_at = NULL, outcomes = ${outcomes}::jsonb
       WHERE id = ${id}`;
    await settleStage(tx, run, taskStageId);
  });
}
