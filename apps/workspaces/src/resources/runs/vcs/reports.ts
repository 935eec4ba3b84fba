import { createHash } from 'node:crypto';
import { Prisma } from '../../../generated/prisma/client';
import type { Database } from '../../../kernel/database/database';
import { Claims, inSeconds, type Taken } from '../../connections/git-hosts/claims';
import { pauseSeconds } from '../../connections/git-hosts/pause';
import { Turns } from '../../connections/git-hosts/turns';
import { reachRepository, type VcsDeps } from '../../connections/repositories/repository';
import { cellText } from './comment-text';
import { commitStatusOf, contextOf, type Progress, type Standing, together, workspacePage } from './commit-status';

interface ReportRow extends Progress {
  readonly id: string;
  readonly repositoryId: string;
  readonly number: number | null;
  readonly sha: string;
  readonly statusSent: string | null;
  readonly attempts: number;
  readonly runId: string | null;
  readonly workspace: string;
  readonly organization: string;
  readonly organizationId: string;
  /** Whether the organization reports a single status for all its workspaces. */
  readonly isAggregated: boolean;
}

/** The outcome of policies on the plan of a run in row `r`. */
const policiesOf = `
(SELECT json_build_object('judged', count(*), 'against', count(*) FILTER (WHERE j->>'status' <> 'passed'))
   FROM task_stage s JOIN policy_evaluation e ON e.task_stage_id = s.id
   JOIN policy_set_outcome u ON u.policy_evaluation_id = e.id CROSS JOIN jsonb_array_elements(u.outcomes) j
  WHERE s.run_id = r.id HAVING count(*) > 0)`;

const select = `
SELECT i.id, i.repository_id AS "repositoryId", i.pull_request_number AS number, i.commit_sha AS sha,
       i.status_sent AS "statusSent", i.status_attempts AS attempts, i.status_at AS "statusAt",
       c.status AS "configurationStatus", c.error_message AS "configurationError", c.auto_queue_runs AS "autoQueueRuns",
       r.id AS "runId", r.status AS "runStatus", r.status_reason AS "statusReason", p.has_changes AS "hasChanges",
       p.additions, p.changes, p.destructions, ${policiesOf} AS policies, w.name AS workspace, o.name AS organization,
       o.id AS "organizationId", o.aggregated_commit_status_enabled AS "isAggregated"
  FROM ingress_attributes i
  JOIN configuration_version c ON c.id = i.configuration_version_id
  JOIN workspace w ON w.id = c.workspace_id
  JOIN organization o ON o.id = w.organization_id AND o.removed_at IS NULL
  LEFT JOIN LATERAL (SELECT * FROM run x WHERE x.configuration_version_id = c.id AND NOT x.is_assessment ORDER BY x.number DESC LIMIT 1) r ON true
  LEFT JOIN run_phase p ON p.run_id = r.id AND p.kind = 'plan'`;

/** The stored text of a report: the status that was sent, and the run that it is about. */
const textOf = ({ runId }: ReportRow, { state, description }: Standing): string =>
  `${state === 'pending' ? 'open' : 'done'} ${runId ?? ''} ${state} ${description}`;

const linkOf = ({ publicUrl }: VcsDeps, row: ReportRow): string =>
  row.runId === null
    ? workspacePage(publicUrl, row)
    : `${publicUrl}/app/${row.organization}/${row.workspace}/runs/${row.runId}`;

/** Stored for a report that the host never accepted. */
const givenUp = 'given up';

/**
 * SQL: whether nothing is left to report unless another run of the commit starts, because the last status was sent or
 * abandoned, or there will be no status.
 */
const isOver = `(c.created_at <= now() - interval '30 days' OR i.repository_id IS NULL OR i.status_sent IS NOT DISTINCT FROM '${givenUp}'
   OR coalesce(i.status_sent LIKE 'done %', false)
      AND (c.status = 'errored' OR r.finished_at IS NOT NULL AND i.status_sent LIKE 'done ' || r.id || ' %')
   OR c.status = 'uploaded' AND r.id IS NULL AND NOT c.auto_queue_runs)`;

/**
 * Closes finished commits, so that they are not checked again. A run that starts in the meantime changes the time and
 * thereby keeps its commit open.
 */
const closeThoseThatAreOver = `
UPDATE ingress_attributes o SET status_open = false
  FROM (${select} WHERE i.status_open AND ${isOver} LIMIT 1000) t WHERE o.id = t.id AND o.status_at = t."statusAt"`;

/**
 * Reports the status of commits to hosts. The last sent status is compared with the current one, so that nothing is
 * lost if a process dies, and a host that was down gets only the newest status. Safe to call concurrently.
 */
export async function reportStatuses(deps: VcsDeps, turns = new Turns()): Promise<void> {
  const { db } = deps;
  await db.prisma.$executeRawUnsafe(closeThoseThatAreOver);
  const rows = await db.prisma.$queryRawUnsafe<ReportRow[]>(
    `${select} WHERE i.status_open AND i.status_at <= now()::timestamptz(3) AND NOT ${isOver} AND NOT o.id = ANY($1)
        AND (c.auto_queue_runs OR r.id IS NOT NULL OR c.status = 'errored')
      ORDER BY i.status_at LIMIT 100`,
    turns.busy,
  );
  const keys = new Set<string>();
  const take = async (busy: string[]) => {
    const row = rows.find((one) => !keys.has(keyOf(one)) && !busy.includes(one.organizationId));
    if (row) keys.add(keyOf(row));
    return row ? [{ row, organization_id: row.organizationId }] : [];
  };
  await turns.each(rows.length, take, async ({ row }) => tell(deps, row.isAggregated ? await besides(db, row) : [row]));
}

/** The key of a row. Rows with the same key are reported together. */
const keyOf = ({ isAggregated, repositoryId, sha, organizationId, id }: ReportRow): string =>
  isAggregated ? `${repositoryId} ${sha} ${organizationId}` : id;

/** The newest configuration for a commit, for each workspace of the organization. */
const besides = (db: Database, { repositoryId, sha, organizationId }: ReportRow): Promise<ReportRow[]> =>
  db.prisma.$queryRawUnsafe<ReportRow[]>(
    `SELECT DISTINCT ON (t.workspace) t.* FROM (${select}
       WHERE i.repository_id = $1 AND i.commit_sha = $2 AND o.id = $3) t
       JOIN ingress_attributes j ON j.id = t.id JOIN configuration_version d ON d.id = j.configuration_version_id
      ORDER BY t.workspace, d.created_at DESC, t.id`,
    repositoryId,
    sha,
    organizationId,
  );

/** Reports one status for a commit in some workspaces to a host. */
async function tell(deps: VcsDeps, rows: readonly ReportRow[]): Promise<void> {
  const { db } = deps;
  const reportable = rows.flatMap((row) => {
    const commitStatus = commitStatusOf(row);
    return commitStatus ? [{ row, ...commitStatus, workspace: row.workspace, hasChanges: row.hasChanges }] : [];
  });
  // The node that claims the first row reports all rows. Rows whose report was abandoned are ignored.
  const leaders = reportable.map(({ row }) => row).filter(({ statusSent }) => statusSent !== givenUp);
  const [leader] = leaders.sort((a, b) => (a.id < b.id ? -1 : 1));
  if (!leader) return;
  const commitStatus = together(reportable);
  const sent = reportable.map(({ row }) => ({
    id: row.id,
    text: textOf(row, commitStatus),
    number: row.number,
    was: row.statusSent,
  }));
  if (sent.every(({ text, was }) => text === was)) {
    // These commits are checked again after all others.
    await db.prisma.$executeRaw`
      UPDATE ingress_attributes SET status_at = now() WHERE id = ANY(${sent.map(({ id }) => id)}) AND status_at <= now()::timestamptz(3)`;
    return;
  }
  const claim = await take(db, leader);
  if (claim === undefined) return;
  const order = ['failure', 'error', 'pending', 'success'];
  const [shown] = reportable.sort((a, b) => order.indexOf(a.state) - order.indexOf(b.state));
  await report(deps, { ...leader, claim }, { ...commitStatus, url: linkOf(deps, shown!.row) }, sent);
}

const lease = "interval '1 minute'";
const statusClaims = new Claims({
  table: 'ingress_attributes',
  keys: ['id'],
  due: 'status_at',
  claim: 'status_claim',
  lease,
});

/** Claims a report, so that only one of several nodes sends it. */
async function take(db: Database, { id, statusSent }: ReportRow): Promise<number | undefined> {
  const [claimedRow] = await db.prisma.$queryRaw<{ claim: number }[]>`
    UPDATE ingress_attributes t SET status_attempts = t.status_attempts + 1, ${statusClaims.taking}
     WHERE t.id = ${id} AND t.status_at <= now()::timestamptz(3) AND t.status_sent IS NOT DISTINCT FROM ${statusSent}
    RETURNING ${statusClaims.claimed}`;
  return claimedRow?.claim;
}

const mostAttempts = 20;

async function report(
  deps: VcsDeps,
  leader: ReportRow & { readonly claim: number },
  commitStatus: Standing & { readonly url: string },
  sent: readonly { readonly id: string; readonly text: string; readonly number: number | null }[],
): Promise<void> {
  const { db } = deps;
  try {
    const repository = await db.prisma.vcsRepository.findUnique({ where: { id: leader.repositoryId } });
    const reached = repository && (await reachRepository(deps, repository));
    const numbers = new Set(sent.flatMap(({ number }) => number ?? []));
    if (reached) {
      const status = { ...commitStatus, context: contextOf(leader), number: [...numbers][0] };
      await reached.host.setStatus(reached.api, reached.row.identifier, leader.sha, status);
    }
    // The reported status is stored even if another node has claimed the report since. It will be compared with the
    // current status next time.
    await db.prisma.$executeRaw`
      UPDATE ingress_attributes i SET status_sent = t.text, status_attempts = 0,
             status_at = CASE WHEN i.id = ${leader.id} AND i.status_claim <> ${leader.claim} THEN i.status_at ELSE now() END
        FROM unnest(${sent.map(({ id }) => id)}::text[], ${sent.map(({ text }) => text)}::text[]) AS t (id, text)
       WHERE i.id = t.id`;
    for (const number of numbers) await wantComment(db, leader.repositoryId, number);
  } catch {
    const sentStatus = leader.attempts + 1 >= mostAttempts ? givenUp : leader.statusSent;
    await statusClaims.end(
      db,
      leader,
      inSeconds(pauseSeconds(leader.attempts)),
      Prisma.sql`status_sent = ${sentStatus}`,
    );
  }
}

async function wantComment(db: Database, repositoryId: string, number: number): Promise<void> {
  await db.prisma.$executeRaw`
    INSERT INTO vcs_comment (repository_id, number) VALUES (${repositoryId}, ${number})
    ON CONFLICT (repository_id, number) DO UPDATE SET next_at = least(vcs_comment.next_at, now())`;
}

const icons = { pending: '⏳', success: '✅', failure: '❌', error: '⚠️' } as const;

/** The marker in our comment on a pull request. Others cannot write it in advance, because it contains a keyed hash. */
const markOf = ({ keyring }: VcsDeps, { repository_id: id, number }: CommentDue): string =>
  `keystead ${keyring.mac('vcs-comment', `${id}\n${number}`).toString('hex').slice(0, 24)}`;
interface CommentFacts {
  readonly repository_id: string;
  readonly number: number;
  readonly comment_id: string | null;
  readonly digest: string | null;
}
type CommentDue = Taken<'repository_id' | 'number', CommentFacts>;

const commentClaims = new Claims({
  table: 'vcs_comment',
  keys: ['repository_id', 'number'],
  lease,
  owner: 'vcs_repository y ON y.id = x.repository_id',
});
/** A time far in the future, which stays until a new status changes it. */
const whenTold = Prisma.sql`timestamptz '9999-01-01T00:00:00Z'`;

/** Maintains one comment on each pull request, with the newest plan of every affected workspace. */
export function writeComments(deps: VcsDeps, turns = new Turns()): Promise<void> {
  const { db } = deps;
  const facts = Prisma.sql`x.comment_id, x.digest`;
  return turns.each(
    20,
    (busy) => commentClaims.take<CommentFacts>(db, busy, facts),
    (due) => comment(deps, due),
  );
}

async function comment(deps: VcsDeps, due: CommentDue): Promise<void> {
  const { db } = deps;
  const rows = await db.prisma.$queryRawUnsafe<ReportRow[]>(
    `SELECT DISTINCT ON (t.organization, t.workspace) t.* FROM (${select}
       WHERE i.repository_id = $1 AND i.pull_request_number = $2) t
       JOIN ingress_attributes j ON j.id = t.id JOIN configuration_version d ON d.id = j.configuration_version_id
      ORDER BY t.organization, t.workspace, d.created_at DESC, t.id`,
    due.repository_id,
    due.number,
  );
  const mark = markOf(deps, due);
  const text = [`<!-- ${mark} -->`, ...commentOf(deps, rows)].join('\n');
  const digest = createHash('sha256').update(text).digest('hex');
  try {
    const repository = await db.prisma.vcsRepository.findUnique({ where: { id: due.repository_id } });
    const reached = repository && (await reachRepository(deps, repository));
    if (!reached || rows.length === 0 || digest === due.digest) {
      await commentClaims.end(db, due, whenTold, Prisma.sql`attempts = 0`);
      return;
    }
    const { host, api, row } = reached;
    // An earlier node may have died after the host created the comment and before this was recorded.
    const isRecorded = due.comment_id !== null || due.attempts <= 1;
    const existing = isRecorded ? due.comment_id : await host.findComment(api, row.identifier, due.number, mark);
    const commentId = await host.writeComment(api, row.identifier, due.number, text, existing ?? null);
    const written = Prisma.sql`comment_id = ${commentId}, digest = ${digest}`;
    await commentClaims.end(db, due, whenTold, Prisma.sql`attempts = 0, ${written}`);
  } catch {
    const pause = due.attempts >= mostAttempts ? 86_400 : pauseSeconds(due.attempts);
    await commentClaims.end(db, due, inSeconds(pause));
  }
}

function commentOf(deps: VcsDeps, rows: readonly ReportRow[]): string[] {
  const lines = rows.flatMap((row) => {
    const commitStatus = commitStatusOf(row);
    if (!commitStatus) return [];
    const name = `${cellText(row.organization)}/${cellText(row.workspace)}`;
    const { state, description } = commitStatus;
    return `| ${icons[state]} | ${name} | [${cellText(description)}](${linkOf(deps, row)}) | ${row.sha.slice(0, 10)} |`;
  });
  return ['| | Workspace | Plan | Commit |', '|---|---|---|---|', ...lines];
}
