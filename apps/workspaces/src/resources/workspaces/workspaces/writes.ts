import { invalid } from '@keystead/jsonapi';
import { type Actor, auditColumns, auditJson } from '../../../kernel/audit/audit';
import { writeAllWithin } from '../../../kernel/database/batched-writes';
import type { Batched, Database, Decision } from '../../../kernel/database/database';
import { changedSinceRead, lockRow } from '../../../kernel/database/lock-row';
import { type WorkspaceSettings, workspaceAttributes } from './attributes';
import { lastSeen, rememberWorkspace, type WorkspaceStamp, workspaceAt } from './stamp';
import { fromWorkspaces, requireWorkspace, selectNewWorkspaces, type Workspace, workspaceOf } from './workspace';

const { initial, stored } = workspaceAttributes;
const settingKeys = Object.keys(initial) as (keyof WorkspaceSettings)[];
const snake = (name: string): string => name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
// The pairs are stored in a list, because iterating over a map creates a pair for each of its keys.
const columnOf = settingKeys.map((key) => [key, snake(key)] as const);
const settingColumns = columnOf.map(([, column]) => column);
const changedByEdits = [...settingColumns, 'project_id'];
const newColumns = ['id', 'organization_id', 'project_id', 'source', 'source_name', 'source_url', ...settingColumns];

const audited = (changed: string): string => `audited AS (
  INSERT INTO audit_event (${auditColumns})
  SELECT ${auditColumns} FROM jsonb_populate_recordset(NULL::audit_event, $2) a
   WHERE a.target_id IN (SELECT id FROM ${changed}))`;

// The rows, their audit events and (through a trigger) the total are written in one statement, so that a batch is
// written completely or not at all.
const insertMany = {
  name: 'workspace_insert_many',
  text: `WITH added AS (
    INSERT INTO workspace (${newColumns.join(', ')})
    SELECT ${newColumns.join(', ')} FROM jsonb_populate_recordset(jsonb_populate_record(NULL::workspace, $3), $1)
    ON CONFLICT (organization_id, name) DO NOTHING RETURNING *), ${audited('added')}
  ${selectNewWorkspaces} ${fromWorkspaces('added')}`,
};

const updateMany = {
  name: 'workspace_update_many',
  text: `WITH changed AS (
    UPDATE workspace w SET (${changedByEdits.join(', ')}, updated_at) =
           (SELECT ${changedByEdits.map((column) => `n.${column}`).join(', ')}, x.updated_at
              FROM jsonb_populate_record(w, x.changes) n)
      FROM jsonb_to_recordset($1) AS x(id text, revision bigint, updated_at timestamptz, changes jsonb)
     WHERE w.id = ANY($3) AND w.id = x.id AND w.revision = x.revision
    RETURNING w.id, w.revision, w.auto_destroy_due_at), ${audited('changed')}
  SELECT id, revision, auto_destroy_due_at FROM changed`,
};

type ColumnValues = Record<string, unknown>;

/** Whether a setting differs. Dates and lists are compared by their content. */
function differs(key: keyof WorkspaceSettings, one: WorkspaceSettings, other: WorkspaceSettings): boolean {
  return one[key] !== other[key] && JSON.stringify(one[key]) !== JSON.stringify(other[key]);
}

function changedColumns(before: WorkspaceSettings, after: WorkspaceSettings): ColumnValues {
  const row: ColumnValues = {};
  for (const [key, column] of columnOf) {
    if (differs(key, before, after)) row[column] = after[key];
  }
  return row;
}

// Rows to insert contain only their differences from this row.
const initialRow = JSON.stringify(Object.fromEntries(columnOf.map(([key, column]) => [column, initial[key]])));

/** A workspace that is about to be written, and the caller who writes it. */
export interface NewRow {
  readonly actor: Actor;
  readonly id: string;
  readonly organizationId: string;
  readonly projectId: string;
  readonly source: string;
  readonly sourceName: string | null;
  readonly sourceUrl: string | null;
  readonly settings: WorkspaceSettings;
}

/** Inserts workspaces. Throws `invalid` for a taken name. */
export const creating: Batched<NewRow, Workspace> = {
  ...insertMany,
  batch(items) {
    const rows = items.map((item) => ({
      id: item.id,
      organization_id: item.organizationId,
      project_id: item.projectId,
      source: item.source,
      source_name: item.sourceName,
      source_url: item.sourceUrl,
      ...changedColumns(initial, item.settings),
    }));
    const events = items.map(({ actor, id, organizationId, settings }) =>
      auditJson(actor, {
        organizationId,
        action: 'workspace.create',
        target: { type: 'workspaces', id, name: settings.name },
        after: settings as unknown as Record<string, unknown>,
      }),
    );
    return {
      values: [JSON.stringify(rows), JSON.stringify(events), initialRow],
      settle(found) {
        const added = new Map(found.map((row) => [row.id, row]));
        return items.map(({ id }) => {
          const row = added.get(id);
          return row === undefined ? invalid('name', 'has already been taken') : workspaceOf(row);
        });
      },
    };
  },
};

/** A change of a workspace's settings. */
export interface Edit {
  readonly actor: Actor;
  readonly ifMatch: bigint | undefined;
  /** The settings after the change; throws refusals. */
  readonly apply: (current: Workspace, before: WorkspaceSettings) => WorkspaceSettings;
  /** The project to which the workspace moves; if omitted, it does not move. */
  readonly projectId?: string;
}

/** An edit, and the workspace that it is based on. */
export interface Proposed extends Edit {
  readonly db: Database;
  readonly current: Workspace;
}

/** Another request has changed the workspace in the meantime, so the edit must be repeated. */
class Overtaken extends Error {}

function isSame(one: WorkspaceSettings, other: WorkspaceSettings): boolean {
  return !settingKeys.some((key) => differs(key, one, other));
}

/** The workspace with these settings. */
function settled(workspace: Workspace, settings: WorkspaceSettings): Workspace {
  return Object.assign({ ...workspace }, settings);
}

interface Edited {
  readonly before: Workspace;
  readonly after: WorkspaceSettings;
  readonly projectId: string;
  readonly events: ColumnValues[];
}

/** Applies an edit after the earlier edits in the batch. An edit that fails changes nothing. */
function applyEdit(edit: Edit, latest: Edited): Edited | Error {
  const isFirst = latest.events.length === 0;
  const current = isFirst ? latest.before : settled(latest.before, latest.after);
  if (edit.ifMatch !== undefined && (!isFirst || latest.before.revision !== edit.ifMatch)) {
    return changedSinceRead();
  }
  try {
    const before = latest.after;
    const after = edit.apply(current, before);
    const projectId = edit.projectId ?? latest.projectId;
    const moves = projectId !== latest.projectId;
    if (isSame(before, after) && !moves) return latest;
    const event = auditJson(edit.actor, {
      organizationId: current.organizationId,
      action: 'workspace.update',
      target: { type: 'workspaces', id: current.id, name: after.name },
      before: moves ? { ...before, projectId: latest.projectId } : (before as unknown as ColumnValues),
      after: moves ? { ...after, projectId } : (after as unknown as ColumnValues),
    });
    return { before: latest.before, after, projectId, events: [...latest.events, event] };
  } catch (error) {
    // Also for a fault, because other edits of the batch must not fail with it.
    return error as Error;
  }
}

/**
 * The newest version of each workspace on this node, including the results of the previous batch. Revision numbers do
 * not show which came first.
 */
function newest(edits: readonly Proposed[]): Map<string, Edited> {
  const latest = new Map<string, Edited>();
  for (const { db, current } of edits) {
    const cached = lastSeen(db, current.id);
    const surroundingsHold =
      cached?.organizationRevision === current.organizationRevision &&
      cached.projectRevision === current.projectRevision;
    const before = surroundingsHold ? cached : current;
    latest.set(current.id, { before, after: stored(before), projectId: before.projectId, events: [] });
  }
  return latest;
}

/** The columns that the database itself sets when a row is written. */
function databaseColumns(row: ColumnValues): Pick<Workspace, 'revision' | 'autoDestroyDueAt'> {
  const dueAt = row.auto_destroy_due_at as Date | string | null;
  return { revision: BigInt(row.revision as string), autoDestroyDueAt: dueAt === null ? null : new Date(dueAt) };
}

function valuesOf(changed: readonly Edited[], updatedAt: Date): unknown[] {
  const rows = changed.map(({ before, after, projectId }) => ({
    id: before.id,
    revision: String(before.revision),
    updated_at: updatedAt,
    changes: {
      ...changedColumns(before, after),
      ...(projectId === before.projectId ? {} : { project_id: projectId }),
    },
  }));
  const events = changed.flatMap((one) => one.events);
  return [JSON.stringify(rows), JSON.stringify(events), changed.map(({ before }) => before.id)];
}

/** Writes edits of workspaces, each on top of the previous one. */
export const editing: Batched<Proposed, Workspace> = {
  ...updateMany,
  about: ({ current }) => current.id,
  batch(edits) {
    const latest = newest(edits);
    const refused = edits.map((edit) => {
      const next = applyEdit(edit, latest.get(edit.current.id)!);
      if (next instanceof Error) return next;
      latest.set(edit.current.id, next);
      return undefined;
    });
    const updatedAt = new Date();
    const changed = [...latest.values()].filter(({ events }) => events.length > 0);
    return {
      values: changed.length === 0 ? undefined : valuesOf(changed, updatedAt),
      settle(written) {
        const rows = new Map(written.map((row) => [row.id as string, row]));
        return edits.map(({ db, current: { id } }, index) => {
          const { before, after, projectId, events } = latest.get(id)!;
          const row = rows.get(id);
          if (events.length > 0 && row === undefined) return new Overtaken();
          const edited =
            row === undefined
              ? before
              : Object.assign(settled(before, after), databaseColumns(row), { projectId, updatedAt });
          // The next batch starts from the results of this one.
          if (projectId === before.projectId) rememberWorkspace(db, edited);
          return refused[index] ?? edited;
        });
      },
    };
  },
};

const editingUnderLock: Decision<Edit, Workspace> = {
  name: 'workspace_edit',
  hold: (tx, id) => lockRow(tx, 'workspace', id),
  async decide(tx, id, edits) {
    const current = await requireWorkspace(tx, id);
    return writeAllWithin(
      tx.prisma,
      editing,
      edits.map((edit) => ({ ...edit, db: tx, current })),
    );
  },
};

/**
 * Makes an edit. Simultaneous edits are made one after the other, in the same batch. Edits that conflict with another
 * write are repeated under the lock of the workspace. Throws the refusals of the edit, `missing`, and `precondition`.
 */
export async function writeEdit(db: Database, stamp: WorkspaceStamp, edit: Edit): Promise<Workspace> {
  const { id } = stamp;
  if (!db.decisions.isContested(id)) {
    const current = await workspaceAt(db, stamp);
    try {
      return await db.write(editing, { ...edit, db, current });
    } catch (error) {
      if (!(error instanceof Overtaken)) throw error;
      db.decisions.lost(id);
    }
  }
  const edited = await db.decisions.decide(editingUnderLock, id, edit);
  rememberWorkspace(db, edited);
  return edited;
}
