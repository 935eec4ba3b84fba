import { Prisma } from '../../../../generated/prisma/client';
import type { Watched } from '../../../../kernel/endpoints/watches';
import { readRange } from '../jobs/logs';
import { type Run, readById, runOf } from '../run';
import type { PhaseStatus } from '../statuses';

/** The current state of the plan or the apply of a run. Sizes are bytes. */
export interface PhaseState {
  readonly id: string;
  readonly kind: 'plan' | 'apply';
  readonly status: string;
  readonly timestamps: Readonly<Record<string, string>>;
  readonly hasChanges: boolean | null;
  readonly additions: number | null;
  readonly changes: number | null;
  readonly destructions: number | null;
  readonly imports: number | null;
  readonly errorMessage: string | null;
  readonly logSize: number;
  /** When its results and log were hidden; undefined if they are not hidden. */
  readonly hiddenAt: Date | undefined;
  /** The addition since the previous read, for all watchers who have read up to there. */
  readonly news: { readonly start: number; readonly bytes: Buffer } | undefined;
}

/** A run with its phases. */
export interface RunState {
  readonly run: Run;
  readonly phases: readonly PhaseState[];
}

const endedPhases: ReadonlySet<string> = new Set<PhaseStatus>(['finished', 'errored', 'canceled']);

/** The largest addition that is read once for all watchers. Watchers that are further behind read separately. */
const largestNews = 64 * 1024;

/** Runs, read twice a second while they are watched. */
export const watchedRuns: Watched<RunState> = {
  name: 'runs',
  everyMs: 500,
  async read({ db, keyring }, ids, before) {
    const runs = await db.rows<Record<string, unknown>>({ ...readById, values: [ids] });
    const phases = await db.prisma.runPhase.findMany({ where: { runId: { in: [...ids] } }, orderBy: { kind: 'desc' } });
    // Hidden data leaves an empty log, so most phases need no look-up.
    const empty = phases.flatMap(({ id, logSize, status }) => (logSize === 0n && endedPhases.has(status) ? [id] : []));
    const hidden =
      empty.length === 0 ? [] : await db.prisma.hiddenPhaseData.findMany({ where: { phaseId: { in: empty } } });
    const hiddenAt = new Map(hidden.map(({ phaseId, deletedAt }) => [phaseId, deletedAt]));
    const states = await Promise.all(
      phases.map(async ({ runId: of, kind, logSize: size, timestamps, ...phase }) => {
        const [runId, logSize] = [of ?? '', Number(size)];
        const previousSize = before.get(runId)?.phases.find(({ id }) => id === phase.id)?.logSize;
        const isNews = previousSize !== undefined && logSize > previousSize && logSize - previousSize <= largestNews;
        const news = isNews
          ? { start: previousSize, bytes: await readRange(db, keyring, phase.id, { from: previousSize, to: logSize }) }
          : undefined;
        return { ...phase, runId, kind, logSize, hiddenAt: hiddenAt.get(phase.id), timestamps, news } as PhaseState & {
          runId: string;
        };
      }),
    );
    return new Map(
      runs.map((row) => {
        const run = runOf(keyring, row);
        return [run.id, { run, phases: states.filter(({ runId }) => runId === run.id) }];
      }),
    );
  },
};

/** The status of a plan or an apply, and the length of its log. */
export type LogHead = Pick<PhaseState, 'status' | 'logSize'>;

/** Logs, read ten times a second while a client waits for more. */
export const watchedLogs: Watched<LogHead> = {
  name: 'logs',
  everyMs: 100,
  async read({ db }, ids) {
    const rows = await db.prisma.runPhase.findMany({
      where: { id: { in: [...ids] } },
      select: { id: true, status: true, logSize: true },
    });
    return new Map(rows.map(({ id, status, logSize }) => [id, { status, logSize: Number(logSize) }]));
  },
};

/** An event of a run of an organization. */
export interface RunNews {
  readonly id: string;
  readonly organizationId: string;
  readonly runId: string;
  readonly action: string;
  readonly status: string;
  readonly workspaceId: string;
  readonly projectId: string;
  readonly createdAt: Date;
}

const columns = Prisma.sql`e.id, w.organization_id AS "organizationId", e.run_id AS "runId", e.action, r.status,
  w.id AS "workspaceId", w.project_id AS "projectId", e.created_at AS "createdAt"`;
const tables = Prisma.sql`run_event e JOIN run r ON r.id = e.run_id JOIN workspace w ON w.id = r.workspace_id`;

/**
 * Recent events of organizations, read every second while they are watched. Transactions may commit in a different
 * order than they start, within at most half a minute. So recent events are read again each time, and no event is
 * missed.
 */
export const watchedOrganizations: Watched<readonly RunNews[]> = {
  name: 'runs of organizations',
  everyMs: 1000,
  async read({ db }, ids) {
    const rows = await db.prisma.$queryRaw<RunNews[]>`
      SELECT ${columns} FROM ${tables}
       WHERE e.created_at > now() - interval '35 seconds' AND w.organization_id = ANY(${[...ids]}) ORDER BY e.number`;
    const found = new Map<string, RunNews[]>(ids.map((id) => [id, []]));
    for (const row of rows) found.get(row.organizationId)!.push(row);
    return found;
  },
};

/** The maximum number of missed events that are sent. Larger gaps are not filled. */
const mostMissed = 500;

/** The events since a given event; undefined if that event is unknown or too old, or if there are too many events. */
export async function missedSince(
  { db }: Parameters<typeof watchedOrganizations.read>[0],
  organizationId: string,
  eventId: string,
): Promise<readonly RunNews[] | undefined> {
  const rows = await db.prisma.$queryRaw<RunNews[]>`
    SELECT ${columns} FROM ${tables}
     WHERE w.organization_id = ${organizationId} AND e.created_at > now() - interval '1 hour'
       AND e.created_at >= (SELECT x.created_at - interval '35 seconds' FROM run_event x WHERE x.id = ${eventId})
     ORDER BY e.number LIMIT ${mostMissed + 1}`;
  return rows.length > mostMissed || !rows.some(({ id }) => id === eventId) ? undefined : rows;
}
