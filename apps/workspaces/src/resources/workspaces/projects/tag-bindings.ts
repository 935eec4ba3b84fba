import { invalid, type SentKind, type SentReference } from '@keystead/jsonapi';
import { Prisma } from '../../../generated/prisma/client';
import type { Database } from '../../../kernel/database/database';
import { newId } from '../../../kernel/database/ids';

const TEXT = /^[A-Za-z0-9_.=+\-@: ]*$/;
const KEY = /^[A-Za-z0-9_.=+\-@:](?:[A-Za-z0-9_.=+\-@: ]*[A-Za-z0-9_.=+\-@:])?$/;
const MOST = 10;
const LONGEST_KEY = 128;
const LONGEST_VALUE = 256;

/** Bindings, each a key and a value. */
export const sentBindings: SentKind = {
  type: 'tag-bindings',
  attributes: {
    key: { type: 'string', minLength: 1, maxLength: LONGEST_KEY, pattern: KEY.source },
    value: { type: 'string', maxLength: LONGEST_VALUE, pattern: TEXT.source, default: '' },
  },
};

/** A key and a value, and the project that it is inherited from. */
export interface Binding {
  readonly id: string;
  readonly key: string;
  readonly value: string;
  readonly createdAt: Date;
  readonly organizationId: string;
  readonly inheritedFrom: string | null;
}

/** The owner of bindings: a project, or a workspace in it if `workspaceId` is set. */
export interface Bound {
  readonly organizationId: string;
  readonly projectId: string;
  readonly workspaceId?: string;
}

/** Whether a string can be a key of bindings. It must not begin or end with blanks, because they are invisible. */
export function isBindingKey(key: string): boolean {
  return key.length <= LONGEST_KEY && KEY.test(key) && !/^hcp?:/.test(key);
}

/** The keys and values in a request; if a key is repeated, the last value is used. Throws `invalid`. */
function readBindings(sent: readonly SentReference[]): Map<string, string> {
  const read = new Map<string, string>();
  for (const { attributes } of sent) {
    const { key, value = '' } = (attributes ?? {}) as { key?: unknown; value?: unknown };
    if (typeof key !== 'string' || !isBindingKey(key)) throw invalid('tagBindings', 'have an invalid key');
    if (typeof value !== 'string' || value.length > LONGEST_VALUE || !TEXT.test(value)) {
      throw invalid('tagBindings', 'have an invalid value');
    }
    read.set(key, value);
  }
  return read;
}

/** SQL: whether the organization reserves the key and workspaces may not override their project's value. */
export const isFixedKey = (organizationId: Prisma.Sql, key: Prisma.Sql): Prisma.Sql => Prisma.sql`EXISTS (
  SELECT 1 FROM reserved_tag_key rk WHERE rk.organization_id = ${organizationId} AND rk.key = ${key} AND rk.disable_overrides)`;

async function refuseOverrides(db: Database, bound: Bound, keys: readonly string[]): Promise<void> {
  const organization = Prisma.sql`${bound.organizationId}`;
  const [fixed] = await db.prisma.$queryRaw<{ key: string }[]>`
    SELECT b.key FROM tag_binding b WHERE b.project_id = ${bound.projectId} AND b.key = ANY(${keys})
       AND ${isFixedKey(organization, Prisma.sql`b.key`)} ORDER BY b.key LIMIT 1`;
  if (fixed) throw invalid('tagBindings', `cannot override ${fixed.key}: the key is reserved, and the project sets it`);
}

/** A binding in an event. */
export const tagText = ({ key, value }: Pick<Binding, 'key' | 'value'>): string =>
  value === '' ? key : `${key}:${value}`;

/** The owner of bindings: a project, a workspace, or a module or provider of the registry. */
type BindingOwner =
  | { readonly projectId: string }
  | { readonly workspaceId: string }
  | { readonly moduleId: string }
  | { readonly providerId: string };

const columns = {
  projectId: 'project_id',
  workspaceId: 'workspace_id',
  moduleId: 'module_id',
  providerId: 'provider_id',
};

/**
 * Adds bindings to an owner, or changes the values of existing ones; with `replace`, all others are removed. Throws
 * `invalid`.
 */
export async function bindTagsTo(
  db: Database,
  owner: BindingOwner,
  sent: readonly SentReference[],
  how: 'add' | 'replace',
): Promise<void> {
  const read = readBindings(sent);
  const keys = [...read.keys()].sort();
  const [[name, id]] = Object.entries(owner) as [[keyof typeof columns, string]];
  if (how === 'replace') await db.prisma.tagBinding.deleteMany({ where: { ...owner, key: { notIn: keys } } });
  if (keys.length > 0) {
    const column = Prisma.raw(columns[name]);
    await db.prisma.$executeRaw`
      INSERT INTO tag_binding (id, ${column}, key, value)
      SELECT x.id, ${id}, x.key, x.value
        FROM unnest(${keys.map(() => newId('tb'))}::text[], ${keys}::text[], ${keys.map((key) => read.get(key)!)}::text[])
          AS x(id, key, value)
      ON CONFLICT (${column}, key) DO UPDATE SET value = EXCLUDED.value`;
  }
  if ((await db.prisma.tagBinding.count({ where: owner })) > MOST) {
    throw invalid('tagBindings', `has too many members (maximum is ${MOST})`);
  }
}

/**
 * Adds or replaces the bindings of a project, or of a workspace in it. A workspace must not override a reserved key of
 * its project.
 */
export async function bindTags(
  db: Database,
  bound: Bound,
  sent: readonly SentReference[],
  how: 'add' | 'replace' = 'add',
): Promise<void> {
  const { workspaceId, projectId } = bound;
  if (workspaceId === undefined) return bindTagsTo(db, { projectId }, sent, how);
  await refuseOverrides(db, bound, [...readBindings(sent).keys()]);
  await bindTagsTo(db, { workspaceId }, sent, how);
}

/** The bindings of an owner. */
export async function bindingsOf(db: Database, owner: BindingOwner, organizationId: string): Promise<Binding[]> {
  const rows = await db.prisma.tagBinding.findMany({
    where: owner,
    select: { id: true, key: true, value: true, createdAt: true },
    orderBy: { key: 'asc' },
  });
  return rows.map((row) => ({ ...row, organizationId, inheritedFrom: null }));
}

/** A project's own bindings. */
export const bindingsOfProject = (
  db: Database,
  { organizationId, id: projectId }: { id: string; organizationId: string },
): Promise<Binding[]> => bindingsOf(db, { projectId }, organizationId);
