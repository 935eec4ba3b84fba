import { invalid } from '@keystead/jsonapi';
import { Refusal } from '@keystead/refusal';
import { type Actor, auditRow } from '../../kernel/audit';
import type { Database } from '../../kernel/database';
import type { Batched } from '../../kernel/together';
import { requireWorkspace } from './find';
import { initialSettings, type Settings } from './settings';
import { readById, type Workspace, workspaceOf } from './workspace';

const settingKeys = Object.keys(initialSettings('', '', false)) as (keyof Settings)[];
const snake = (name: string): string => name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
const columnOf = new Map(settingKeys.map((key) => [key, snake(key)]));
const settingColumns = [...columnOf.values()];
const newColumns = ['id', 'organization_id', 'project_id', 'source', 'source_name', 'source_url', ...settingColumns];

const auditColumns = [
  'organization_id',
  'actor_type',
  'actor_id',
  'actor_name',
  'token_id',
  'request_id',
  'action',
  'target_type',
  'target_id',
  'target_name',
  'before',
  'after',
].join(', ');

const audited = (changed: string): string => `audited AS (
  INSERT INTO audit_event (${auditColumns})
  SELECT ${auditColumns} FROM jsonb_populate_recordset(NULL::audit_event, $2) a
   WHERE a.target_id IN (SELECT id FROM ${changed}))`;

// The rows, their audit events and (by trigger) the total are one statement: all of a batch or nothing.
const insertMany = {
  name: 'workspace_insert_many',
  text: `WITH added AS (
    INSERT INTO workspace (${newColumns.join(', ')})
    SELECT ${newColumns.join(', ')} FROM jsonb_populate_recordset(NULL::workspace, $1)
    ON CONFLICT (organization_id, name) DO NOTHING RETURNING id), ${audited('added')}
  SELECT id FROM added`,
};

const updateMany = {
  name: 'workspace_update_many',
  text: `WITH changed AS (
    UPDATE workspace w SET ${settingColumns.map((column) => `${column} = x.${column}`).join(', ')},
           updated_at = x.updated_at
      FROM jsonb_populate_recordset(NULL::workspace, $1) x
     WHERE w.id = x.id AND w.revision = x.revision RETURNING w.id, w.revision), ${audited('changed')}
  SELECT id, revision FROM changed`,
};

type Row = Record<string, unknown>;

const settingsRow = (settings: Settings): Row =>
  Object.fromEntries([...columnOf].map(([key, column]) => [column, settings[key]]));

const auditJson = (actor: Actor, change: Parameters<typeof auditRow>[1]): Row =>
  Object.fromEntries(Object.entries(auditRow(actor, change)).map(([key, value]) => [snake(key), value]));

/** A workspace about to be written, and who writes it. */
export interface NewRow {
  readonly actor: Actor;
  readonly id: string;
  readonly organizationId: string;
  readonly projectId: string;
  readonly source: string;
  readonly sourceName: string | null;
  readonly sourceUrl: string | null;
  readonly settings: Settings;
}

const creating: Batched<NewRow, Workspace, Database> = {
  name: 'workspace-create',
  async run(db, items) {
    const rows = items.map((item) => ({
      id: item.id,
      organization_id: item.organizationId,
      project_id: item.projectId,
      source: item.source,
      source_name: item.sourceName,
      source_url: item.sourceUrl,
      ...settingsRow(item.settings),
    }));
    const events = items.map(({ actor, id, organizationId, settings }) =>
      auditJson(actor, {
        organizationId,
        action: 'workspace.create',
        target: { type: 'workspaces', id, name: settings.name },
        after: { ...settings },
      }),
    );
    const added = await db.rows<{ id: string }>({
      ...insertMany,
      values: [JSON.stringify(rows), JSON.stringify(events)],
    });
    const ids = new Set(added.map(({ id }) => id));
    return Promise.all(
      items.map(({ id }) => (ids.has(id) ? requireWorkspace(db, id) : invalid('name', 'has already been taken'))),
    );
  },
};

/** Inserts a workspace together with others that come at the same moment. Throws `invalid` for a taken name. */
export function insertTogether(db: Database, row: NewRow): Promise<Workspace> {
  return db.together(creating, row);
}

/** A change of settings that needs nothing but the workspace as it is. */
export interface Edit {
  readonly id: string;
  readonly actor: Actor;
  readonly ifMatch: bigint | undefined;
  /** The settings after the change; throws refusals. */
  readonly apply: (current: Workspace) => Settings;
}

/** The workspace was changed by somebody else in between: the edit has to be made again. */
class Overtaken extends Error {}

/** The settings of a workspace, apart from all else it has. */
export function settingsOf(workspace: Workspace): Settings {
  return Object.fromEntries(settingKeys.map((key) => [key, workspace[key]])) as unknown as Settings;
}

interface Edited {
  readonly before: Workspace;
  readonly after: Settings;
  readonly events: Row[];
}

/** Applies an edit on top of those before it in the batch; a refused one changes nothing. */
function applyEdit(edit: Edit, so: Edited): Edited | Error {
  const current = { ...so.before, ...so.after };
  const isFirst = so.events.length === 0;
  if (edit.ifMatch !== undefined && (!isFirst || so.before.revision !== edit.ifMatch)) {
    return new Refusal('precondition', 'the resource has changed since it was read');
  }
  try {
    const after = edit.apply(current);
    const before = settingsOf(current);
    if (JSON.stringify(before) === JSON.stringify(after)) {
      return so;
    }
    const event = auditJson(edit.actor, {
      organizationId: current.organizationId,
      action: 'workspace.update',
      target: { type: 'workspaces', id: current.id, name: after.name },
      before: { ...before },
      after: { ...after },
    });
    return { before: so.before, after, events: [...so.events, event] };
  } catch (error) {
    if (error instanceof Refusal) {
      return error;
    }
    throw error;
  }
}

const editing: Batched<Edit, Workspace, Database> = {
  name: 'workspace-update',
  async run(db, edits) {
    const ids = [...new Set(edits.map(({ id }) => id))];
    const found = await db.rows<Row & { key: string }>({ ...readById, values: [ids] });
    const so = new Map<string, Edited>();
    for (const row of found) {
      const before = workspaceOf(row);
      so.set(before.id, { before, after: settingsOf(before), events: [] });
    }
    const refused = edits.map((edit) => {
      const current = so.get(edit.id);
      const next = current === undefined ? new Refusal('missing', '') : applyEdit(edit, current);
      if (next instanceof Error) {
        return next;
      }
      so.set(edit.id, next);
      return undefined;
    });
    const changed = [...so.values()].filter(({ events }) => events.length > 0);
    const updatedAt = new Date();
    const rows = changed.map(({ before, after }) => ({
      id: before.id,
      revision: String(before.revision),
      updated_at: updatedAt,
      ...settingsRow(after),
    }));
    const events = changed.flatMap((one) => one.events);
    const written =
      rows.length === 0
        ? []
        : await db.rows<{ id: string; revision: string }>({
            ...updateMany,
            values: [JSON.stringify(rows), JSON.stringify(events)],
          });
    const revisions = new Map(written.map(({ id, revision }) => [id, BigInt(revision)]));
    return edits.map(({ id }, index) => {
      const refusal = refused[index];
      if (refusal !== undefined) {
        return refusal;
      }
      const { before, after, events: made } = so.get(id)!;
      if (made.length === 0) {
        return before;
      }
      const revision = revisions.get(id);
      return revision === undefined ? new Overtaken() : { ...before, ...after, revision, updatedAt };
    });
  },
};

const ATTEMPTS = 10;

/**
 * Makes an edit together with others that come at the same moment, each on top of the one before. Made again when
 * somebody else was faster. Throws what the edit refuses, `missing`, and `precondition`.
 */
export async function editTogether(db: Database, edit: Edit): Promise<Workspace> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await db.together(editing, edit);
    } catch (error) {
      if (!(error instanceof Overtaken) || attempt === ATTEMPTS) {
        throw error;
      }
    }
  }
}
