import { createHash, randomInt, randomUUID } from 'node:crypto';
import { randomBase62 } from '@keystead/auth';
import { Refusal } from '@keystead/refusal';
import { Prisma } from '../../generated/prisma/client';
import { withoutOuterSlashes } from '../../sdk/path-text';
import type { Database } from '../storage/database';
import { lockRows } from '../storage/lock-rows';
import {
  type Barrier,
  type ChangeNotices,
  type Clock,
  type Committer,
  ROOT_NAMESPACE_ID,
  type Tx,
} from '../storage/types';
import { WholeTable } from '../storage/whole-table';

/** A part of the service with its own mounts, policies, identities and tokens. */
export interface Namespace {
  readonly uuid: string;
  /** Six characters; `root` for the root namespace. Tokens of a child end in it. */
  readonly id: string;
  /** `''` for root, otherwise with a trailing slash. */
  readonly path: string;
  readonly parentUuid: string | undefined;
  readonly customMetadata: Readonly<Record<string, string>>;
  /** Whether the namespace is being removed and refuses every request. */
  readonly tainted: boolean;
  readonly locked: boolean;
  /** The topmost locked namespace among this namespace and its ancestors. */
  readonly lockedBy: string | undefined;
}

/** The sealed part of a namespace. */
interface Stored {
  readonly customMetadata: Record<string, string>;
  /** Digest of the key that unlocks it. */
  readonly unlockDigest?: string;
}

/** Whether the transaction sees a namespace of this name directly below another. */
export async function hasChild(tx: Tx, parentId: string, name: string): Promise<boolean> {
  const parent = await tx.prisma.namespace.findUnique({ where: { id: parentId }, select: { path: true } });
  if (!parent) return false;
  return (await tx.prisma.namespace.count({ where: { path: `${parent.path}${name}/`, parentId } })) > 0;
}

const COLUMNS = {
  id: true,
  shortId: true,
  parentId: true,
  path: true,
  tainted: true,
  locked: true,
  sealed: true,
} as const;
type NamespaceRow = Pick<Prisma.NamespaceGetPayload<object>, keyof typeof COLUMNS>;

interface NamespacesDeps {
  readonly database: Database;
  readonly committer: Committer;
  readonly changes: ChangeNotices;
  readonly barrier: Barrier;
  readonly clock: Clock;
}

/** Throws `unavailable` in a locked namespace and below one. */
export function requireUnlocked(namespace: Pick<Namespace, 'lockedBy'> | undefined): void {
  if (namespace?.lockedBy === undefined) return;
  throw new Refusal(
    'unavailable',
    `API access to this namespace has been locked by an administrator - "${namespace.lockedBy}" must be unlocked to gain access.`,
  );
}

const reserved = new Set(['sys', 'root', 'audit', 'auth', 'cubbyhole', 'identity', 'api-lock']);

/** The tree of namespaces, and the namespace of a path. All of it is in memory. */
export class Namespaces {
  private byPath = new Map<string, Namespace>();
  private byUuid = new Map<string, Namespace>();
  private readonly table: WholeTable;

  constructor(private readonly parts: NamespacesDeps) {
    this.table = new WholeTable(parts.changes, 'namespace', () => this.read());
  }

  /** Reloads the tree if it may have changed. Call this once per request before `resolve`. */
  refresh(): Promise<void> | undefined {
    return this.table.refresh();
  }

  get root(): Namespace {
    return this.byPath.get('')!;
  }

  /** Forgets everything: the service is being sealed. */
  clear(): void {
    this.table.forget();
  }

  find(uuid: string): Namespace | undefined {
    return this.byUuid.get(uuid);
  }

  /** All namespaces below another, nearest first. */
  below(parent: Namespace): Namespace[] {
    return [...this.byPath.values()]
      .filter(({ path }) => path !== parent.path && path.startsWith(parent.path))
      .sort((a, b) => (a.path < b.path ? -1 : 1));
  }

  /** The namespace itself and its ancestors, up to root. */
  lineage(namespace: Namespace): Namespace[] {
    const line: Namespace[] = [];
    for (
      let at: Namespace | undefined = namespace;
      at;
      at = at.parentUuid ? this.byUuid.get(at.parentUuid) : undefined
    ) {
      line.push(at);
    }
    return line;
  }

  /** Whether a namespace is the same as another one or below it; false if one of them no longer exists. */
  within(outer: string, inner: string): boolean {
    if (outer === inner) return this.byUuid.has(outer);
    const above = this.byUuid.get(outer);
    return above !== undefined && (this.byUuid.get(inner)?.path.startsWith(above.path) ?? false);
  }

  /**
   * The namespace of a request, and the path inside it. The header names one; the path may go further down. Throws
   * `missing` if the header's namespace does not exist.
   */
  resolve(header: string, path: string): { namespace: Namespace; path: string } {
    if (header === '' && this.byPath.size === 1) return { namespace: this.root, path };
    const headerPath = normalise(header);
    let namespace = this.byPath.get(headerPath);
    if (!namespace || namespace.tainted) throw new Refusal('missing', 'namespace not found');
    let rest = path;
    for (;;) {
      const slash = rest.indexOf('/');
      if (slash < 0) break;
      const below = this.byPath.get(namespace.path + rest.slice(0, slash + 1));
      if (!below || below.tainted) break;
      namespace = below;
      rest = rest.slice(slash + 1);
    }
    return { namespace, path: rest };
  }

  /** The namespace at a path relative to another; undefined if it does not exist. */
  at(parent: Namespace, path: string): Namespace | undefined {
    return this.byPath.get(parent.path + normalise(path));
  }

  /**
   * Creates a namespace inside `parent`. `path` may have several segments; all except the last must exist. `furnish`
   * adds the initial content in the same transaction.
   */
  async create(
    parent: Namespace,
    path: string,
    customMetadata: Record<string, string>,
    furnish: (tx: Tx, uuid: string) => Promise<void>,
  ): Promise<Namespace> {
    const name = `${withoutOuterSlashes(path)}/`;
    const last = name.slice(0, -1).split('/').at(-1)!;
    checkName(last);
    const above = this.at(parent, name.slice(0, -last.length - 1)) ?? parent;
    const full = parent.path + name;
    if (`${above.path}${last}/` !== full) throw new Refusal('invalid', 'parent namespace does not exist');
    const { barrier, clock, committer } = this.parts;
    const created: Namespace = {
      uuid: randomUUID(),
      id: shortId(),
      path: full,
      parentUuid: above.uuid,
      customMetadata,
      tainted: false,
      locked: false,
      lockedBy: undefined,
    };
    const sealed = barrier.sealJson({ customMetadata }, cell(created.uuid));
    const there = await committer.inTurn(
      `namespace/${full}`,
      async (tx) => {
        const parents = await lockRows(tx, 'namespace', Prisma.sql`id = ${above.uuid}::uuid`, 'KEY SHARE');
        if (parents.length === 0) throw new Refusal('invalid', 'parent namespace does not exist');
        const row = await tx.prisma.namespace.findUnique({ where: { path: full }, select: COLUMNS });
        if (row) return this.opened(row);
        const { uuid: id, id: shortId, path } = created;
        const data = { id, shortId, parentId: above.uuid, path, createdAtMs: clock.now(), sealed };
        await tx.prisma.namespace.create({ data, select: { id: true } });
        await furnish(tx, created.uuid);
        return created;
      },
      [
        { topic: 'namespace', key: created.uuid },
        { topic: 'mount', key: '*' },
      ],
    );
    await this.table.reload();
    return there;
  }

  /** Changes the custom metadata, one change at a time; undefined if the namespace no longer exists. */
  async annotate(
    { uuid }: Namespace,
    change: (now: Readonly<Record<string, string>>) => Record<string, string>,
  ): Promise<Namespace | undefined> {
    const changed = await this.parts.committer.inTurn(
      `namespace/${uuid}`,
      async (tx) => {
        const row = await lock(tx, uuid);
        if (!row) return undefined;
        const now = this.opened(row);
        const customMetadata = change(now.customMetadata);
        const sealed = this.parts.barrier.sealJson({ ...this.storedOf(row), customMetadata }, cell(uuid));
        await tx.prisma.namespace.update({ where: { id: uuid }, data: { sealed }, select: { id: true } });
        return { ...now, customMetadata };
      },
      [{ topic: 'namespace', key: uuid }],
    );
    await this.table.reload();
    return changed;
  }

  /**
   * Locks a namespace and everything below it: no request there is answered until it is unlocked. Returns the unlock
   * key. Throws `invalid` if it or an ancestor is already locked.
   */
  async lock(namespace: Namespace): Promise<string> {
    const key = randomBase62(24);
    await this.relock(namespace, (now) => {
      const { lockedBy = now.locked ? now.path : undefined } = this.byUuid.get(now.uuid) ?? {};
      if (lockedBy === now.path) throw new Refusal('invalid', `cannot lock namespace "${now.path}": is already locked`);
      if (lockedBy !== undefined) {
        const text = `cannot lock namespace "${now.path}": ancestor namespace "${lockedBy}" is already locked`;
        throw new Refusal('invalid', text);
      }
      return digestOf(key);
    });
    return key;
  }

  /** Unlocks a namespace by its key, or without one. Throws `invalid` if it is not locked, or for a wrong key. */
  unlock(namespace: Namespace, key: string | undefined): Promise<void> {
    return this.relock(namespace, (now, { unlockDigest = '' }) => {
      if (!now.locked) throw new Refusal('invalid', `namespace "${now.path}" is not locked`);
      const { lockedBy } = this.byUuid.get(now.uuid) ?? {};
      if (lockedBy !== undefined && lockedBy !== now.path) {
        throw new Refusal('invalid', `cannot unlock "${now.path}" with namespace "${lockedBy}" being locked`);
      }
      if (key !== undefined && digestOf(key) !== unlockDigest) throw new Refusal('invalid', 'incorrect unlock key');
      return undefined;
    });
  }

  private async relock(
    { uuid }: Namespace,
    change: (now: Namespace, stored: Stored) => string | undefined,
  ): Promise<void> {
    await this.parts.committer.inTurn(
      `namespace/${uuid}`,
      async (tx) => {
        const row = await lock(tx, uuid);
        if (!row) throw new Refusal('invalid', 'requested namespace does not exist');
        const stored = this.storedOf(row);
        const unlockDigest = change(this.opened(row), stored);
        const sealed = this.parts.barrier.sealJson({ ...stored, unlockDigest }, cell(uuid));
        const data = { locked: unlockDigest !== undefined, sealed };
        await tx.prisma.namespace.update({ where: { id: uuid }, data, select: { id: true } });
      },
      [{ topic: 'namespace', key: uuid }],
    );
    await this.table.reload();
  }

  /** Makes the namespace refuse every request, so that its content can be removed. */
  taint(namespace: Namespace): Promise<void> {
    return this.change(namespace.uuid, (tx, where) =>
      tx.prisma.namespace.updateMany({ where, data: { tainted: true } }),
    );
  }

  /** Removes the row of an empty namespace. */
  remove(namespace: Namespace): Promise<void> {
    return this.change(namespace.uuid, (tx, where) => tx.prisma.namespace.deleteMany({ where }));
  }

  private async change(uuid: string, change: (tx: Tx, where: { id: string }) => Promise<unknown>): Promise<void> {
    await this.parts.committer.transaction((tx) => change(tx, { id: uuid }), [{ topic: 'namespace', key: uuid }]);
    await this.table.reload();
  }

  private opened(row: NamespaceRow): Namespace {
    const stored = this.storedOf(row);
    return {
      uuid: row.id,
      id: row.id === ROOT_NAMESPACE_ID ? 'root' : row.shortId,
      path: row.path,
      parentUuid: row.parentId ?? undefined,
      customMetadata: stored.customMetadata,
      tainted: row.tainted,
      locked: row.locked,
      lockedBy: undefined,
    };
  }

  private storedOf(row: NamespaceRow): Stored {
    if (!row.sealed) return { customMetadata: {} };
    return this.parts.barrier.openJson<Stored>(row.sealed, cell(row.id));
  }

  private async read(): Promise<void> {
    const rows = await this.parts.database.prisma.namespace.findMany({ select: COLUMNS });
    const byPath = new Map<string, Namespace>();
    const byUuid = new Map<string, Namespace>();
    const locked = rows.filter((row) => row.locked).map(({ path }) => path);
    for (const row of rows) {
      const lockedBy = locked.filter((path) => row.path.startsWith(path)).sort((a, b) => a.length - b.length)[0];
      const namespace = { ...this.opened(row), lockedBy };
      byPath.set(row.path, namespace);
      byUuid.set(row.id, namespace);
    }
    this.byPath = byPath;
    this.byUuid = byUuid;
  }
}

/** The stored digest of an unlock key. The key is as long as a token, so it cannot be guessed from its digest. */
const digestOf = (key: string): string => createHash('sha256').update(key).digest('base64url');

/** The current state of a namespace, locked for the rest of the transaction. */
async function lock(tx: Tx, id: string): Promise<NamespaceRow | null> {
  await lockRows(tx, 'namespace', Prisma.sql`id = ${id}::uuid`);
  return tx.prisma.namespace.findUnique({ where: { id }, select: COLUMNS });
}

const cell = (row: string) => ({ table: 'namespace', row, column: 'sealed' });

/** `root`, empty and missing mean the root namespace. All others have a trailing slash and no leading slash. */
function normalise(path: string): string {
  const unslashed = withoutOuterSlashes(path);
  return unslashed === '' || unslashed === 'root' ? '' : `${unslashed}/`;
}

function checkName(last: string): void {
  if (last === '') throw new Refusal('invalid', 'namespace path must not be empty');
  if (reserved.has(last)) {
    throw new Refusal('invalid', `"${last}/" is a reserved path and cannot be used as a namespace name`);
  }
  if (!/^[\w.~-]+$/.test(last) || last.length > 128) {
    throw new Refusal('invalid', `"${last}" is not a valid namespace name`);
  }
}

const letters = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';

function shortId(): string {
  return Array.from({ length: 6 }, () => letters[randomInt(letters.length)]).join('');
}
