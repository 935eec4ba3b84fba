import { randomBytes, randomUUID } from 'node:crypto';
import { Refusal } from '@keystead/refusal';
import type { Backend } from '../../sdk/backend';
import type { MountView } from '../../sdk/call';
import { hasChild } from '../namespaces/namespaces';
import type { Database } from '../storage/database';
import type { Barrier, ChangeNotices, Clock, Committer, Notice, Tx, WriteSet } from '../storage/types';
import { WholeTable } from '../storage/whole-table';
import { add, mountEntriesNotice } from '../storage/write-set';
import { type LiveMount, type Mount, type MountConfig, type MountKind, type Resolved, Router } from './mount';
import { deleteMount, findInTheWay, insertMount, lockMount, readMounts, updateMount } from './mount-rows';
import { PathTree } from './path-tree';

/** Finds the backend of a type, which may depend on the mount's options (kv: version). */
export interface Catalog {
  find(type: string, kind: MountKind, options: Readonly<Record<string, string>> | null): Backend | undefined;
}

/** The default and maximum lifetimes, unless the mount or the role sets others. */
export interface SystemTtls {
  readonly defaultLeaseTtlSeconds: number;
  readonly maxLeaseTtlSeconds: number;
}

interface MountsDeps {
  readonly database: Database;
  readonly committer: Committer;
  readonly changes: ChangeNotices;
  readonly barrier: Barrier;
  readonly clock: Clock;
  readonly catalog: Catalog;
  readonly ttls: SystemTtls;
}

/** The properties of a new mount. */
export interface NewMount {
  readonly kind: MountKind;
  /** With `auth/` for auth methods and a trailing slash. */
  readonly path: string;
  readonly type: string;
  readonly description?: string;
  readonly config?: Partial<MountConfig>;
  readonly options?: Readonly<Record<string, string>> | null;
  readonly local?: boolean;
  readonly sealWrap?: boolean;
}

const defaultConfig: MountConfig = { defaultLeaseTtlSeconds: 0, maxLeaseTtlSeconds: 0, forceNoCache: false };

/** The mount table: persistent, fully in memory, read again when another node has changed it. */
export class Mounts {
  private router = new Router();
  private byUuid = new Map<string, LiveMount>();
  /** Increases each time the table is read and has changed. */
  version = 0;
  private state = '';
  private readonly table: WholeTable;
  /** Compiled paths, one tree per backend. */
  private readonly trees = new WeakMap<Backend, PathTree>();

  constructor(private readonly parts: MountsDeps) {
    this.table = new WholeTable(parts.changes, 'mount', () => this.read());
  }

  /** Reloads the mount table if it may have changed. Call this once per request before `resolve`. */
  refresh(): Promise<void> | undefined {
    return this.table.refresh();
  }

  /** Forgets everything: the service is being sealed. */
  clear(): void {
    this.table.forget();
    this.router = new Router();
    this.byUuid = new Map();
    this.state = '';
    this.version += 1;
  }

  /** The mount with the longest path that a path inside a namespace begins with, and the rest below it. */
  resolve(namespaceId: string, path: string): Resolved | undefined {
    return this.router.resolve(namespaceId, path);
  }

  find(uuid: string): LiveMount | undefined {
    return this.byUuid.get(uuid);
  }

  findByAccessor(accessor: string): LiveMount | undefined {
    for (const mount of this.byUuid.values()) if (mount.accessor === accessor) return mount;
    return undefined;
  }

  /** The mount at exactly this path. */
  at(namespaceId: string, path: string): LiveMount | undefined {
    const found = this.router.resolve(namespaceId, path)?.mount;
    return found?.path === path ? found : undefined;
  }

  /** Like `at`, but also finds a mount that another node has only just created. */
  async seek(namespaceId: string, path: string): Promise<LiveMount | undefined> {
    const mounted = this.at(namespaceId, path);
    if (mounted || !this.parts.changes.mustTell) return mounted;
    await this.parts.changes.catchUp();
    await this.refresh();
    return this.at(namespaceId, path);
  }

  /** Mounts of a namespace by path. System mounts are treated as secret engines, as clients expect. */
  list(namespaceId: string, kind?: 'secret' | 'auth'): LiveMount[] {
    return [...this.byUuid.values()]
      .filter((mount) => mount.namespaceId === namespaceId)
      .filter((mount) => kind === undefined || mount.path.startsWith('auth/') === (kind === 'auth'))
      .sort((a, b) => (a.path < b.path ? -1 : 1));
  }

  /** A mount above, at or below a path. */
  conflict(namespaceId: string, path: string): LiveMount | undefined {
    return this.router.conflict(namespaceId, path);
  }

  /** Every mount of every namespace. */
  all(): Iterable<LiveMount> {
    return this.byUuid.values();
  }

  /** Adds a mount. Throws `invalid` for an unknown type, or a path inside, around or at another mount. */
  async create(namespaceId: string, spec: NewMount): Promise<Mount> {
    const mount = this.prepare(namespaceId, spec);
    await this.change(pathsOf(namespaceId), mount.uuid, async (tx) => {
      await requireFree(tx, mount);
      if (!(await insertMount(tx, this.parts.barrier, mount))) throw inUse(mount.path);
    });
    return mount;
  }

  /**
   * Checks that a path is free for a namespace, inside the transaction that creates it; another transaction that adds a
   * mount there waits for this one. Throws `invalid` if a mount is in the way.
   */
  async requireFreeForNamespace(tx: Tx, parentId: string, path: string): Promise<void> {
    await this.parts.committer.takeTurn(tx, pathsOf(parentId));
    const obstacle = await findInTheWay(tx, parentId, path);
    if (obstacle) throw new Refusal('invalid', `new namespace conflicts with existing mount: ${obstacle.path}`);
  }

  /** Adds several mounts with a write set. A table that was read before the commit is discarded. */
  addAll(set: WriteSet, namespaceId: string, specs: readonly NewMount[]): void {
    add(set, 'run', (tx) => this.createAll(tx, namespaceId, specs));
    add(set, 'notices', { topic: 'mount', key: '*' });
  }

  /** Adds several mounts inside the caller's transaction. The caller must notify the other nodes. */
  async createAll(tx: Tx, namespaceId: string, specs: readonly NewMount[]): Promise<void> {
    for (const spec of specs) await insertMount(tx, this.parts.barrier, this.prepare(namespaceId, spec));
  }

  /**
   * Changes the tunable settings, based on their current values, one change at a time. Returns false if the mount no
   * longer exists.
   */
  tune(
    { uuid }: LiveMount,
    change: (now: Mount) => Partial<Pick<Mount, 'description' | 'config' | 'options'>>,
  ): Promise<boolean> {
    return this.update(`mount/${uuid}`, uuid, change);
  }

  /**
   * Changes a mount and its stored entries in one commit. If `change` returns undefined for the current state of the
   * mount, does nothing and returns false.
   */
  async tuneWith(
    { uuid }: LiveMount,
    set: WriteSet,
    change: (now: Mount) => Partial<Pick<Mount, 'options'>> | undefined,
  ): Promise<boolean> {
    const { barrier, committer } = this.parts;
    add(set, 'notices', { topic: 'mount', key: uuid });
    add(set, 'run', async (tx) => {
      const now = await lockMount(tx, barrier, uuid);
      const changed = now && change(now);
      if (!changed) throw new Otherwise();
      await updateMount(tx, barrier, { ...now, ...changed });
    });
    try {
      await committer.commit(set);
    } catch (error) {
      if (error instanceof Otherwise) return false;
      throw error;
    } finally {
      await this.table.reload();
    }
    return true;
  }

  /** Marks a mount so that it no longer answers. Its path stays reserved. */
  taint({ uuid }: LiveMount): Promise<boolean> {
    return this.update(`mount/${uuid}`, uuid, () => ({ tainted: true }));
  }

  /** Removes a taint. */
  clean({ uuid }: LiveMount): Promise<boolean> {
    return this.update(`mount/${uuid}`, uuid, () => ({ tainted: false }));
  }

  /** Moves the mount to another path. Its entries stay where they are, under its uuid. */
  move({ uuid, namespaceId }: LiveMount, path: string): Promise<boolean> {
    return this.update(pathsOf(namespaceId), uuid, async (now, tx) => {
      await requireFree(tx, { ...now, path });
      return { path, tainted: false };
    });
  }

  /** Removes the mount and every entry below it. Its leases must have ended. */
  remove(mount: LiveMount): Promise<void> {
    const forget = mountEntriesNotice(mount.uuid);
    const run = async (tx: Tx) => {
      await tx.prisma.entry.deleteMany({ where: { mountId: mount.uuid } });
      await tx.prisma.entryWitness.deleteMany({ where: { mountId: mount.uuid } });
      await deleteMount(tx, mount.uuid);
    };
    return this.change(`mount/${mount.uuid}`, mount.uuid, run, [forget]);
  }

  private prepare(namespaceId: string, spec: NewMount): Mount {
    const options = spec.options ?? null;
    if (!this.parts.catalog.find(spec.type, spec.kind, options)) {
      throw new Refusal('invalid', `plugin not found in the catalog: ${spec.type}`);
    }
    return {
      uuid: randomUUID(),
      accessor: `${spec.path.startsWith('auth/') ? 'auth_' : ''}${spec.type}_${randomBytes(4).toString('hex')}`,
      namespaceId,
      kind: spec.kind,
      path: spec.path,
      type: spec.type,
      local: spec.local ?? false,
      sealWrap: spec.sealWrap ?? false,
      description: spec.description ?? '',
      config: { ...defaultConfig, ...spec.config },
      options,
      createdAtMs: this.parts.clock.now(),
      tainted: false,
    };
  }

  /** Changes the current row, which may be newer than the state in memory. */
  private update(
    turn: string,
    uuid: string,
    change: (now: Mount, tx: Tx) => Partial<Mount> | Promise<Partial<Mount>>,
  ): Promise<boolean> {
    const { barrier } = this.parts;
    return this.change(turn, uuid, async (tx) => {
      const now = await lockMount(tx, barrier, uuid);
      if (now) await updateMount(tx, barrier, { ...now, ...(await change(now, tx)) });
      return now !== undefined;
    });
  }

  private async change<T>(
    turn: string,
    uuid: string,
    run: (tx: Tx) => Promise<T>,
    more: readonly Notice[] = [],
  ): Promise<T> {
    const result = await this.parts.committer.inTurn(turn, run, [{ topic: 'mount', key: uuid }, ...more]);
    await this.table.reload();
    return result;
  }

  private async read(): Promise<void> {
    const router = new Router();
    const byUuid = new Map<string, LiveMount>();
    const stored = await readMounts(this.parts.database, this.parts.barrier);
    const state = JSON.stringify(stored);
    if (state === this.state) return;
    for (const mount of stored) {
      const live = this.activate(mount);
      if (!live) continue;
      byUuid.set(mount.uuid, live);
      router.add(live);
    }
    this.byUuid = byUuid;
    this.router = router;
    this.state = state;
    this.version += 1;
  }

  /** A mount whose type is unknown to this release remains stored, but does not answer. */
  private activate(mount: Mount): LiveMount | undefined {
    const before = this.byUuid.get(mount.uuid);
    const backend = this.parts.catalog.find(mount.type, mount.kind, mount.options);
    if (!backend) return undefined;
    let tree = this.trees.get(backend);
    if (!tree) {
      tree = new PathTree(backend.paths);
      this.trees.set(backend, tree);
    }
    const view = this.viewOf(mount);
    return { ...mount, backend, tree, view: before && sameView(before.view, view) ? before.view : view };
  }

  private viewOf(mount: Mount): MountView {
    const { ttls } = this.parts;
    return {
      uuid: mount.uuid,
      accessor: mount.accessor,
      path: mount.path,
      type: mount.type,
      kind: mount.kind,
      options: mount.options,
      defaultLeaseTtlSeconds: mount.config.defaultLeaseTtlSeconds || ttls.defaultLeaseTtlSeconds,
      maxLeaseTtlSeconds: mount.config.maxLeaseTtlSeconds || ttls.maxLeaseTtlSeconds,
      local: mount.local,
    };
  }
}

/** Thrown when the mount has changed in the meantime. */
class Otherwise extends Error {}

/**
 * The lock key for changes of the paths of mounts and namespaces. In a namespace, these changes run one after the
 * other, so that each sees the results of the earlier ones.
 */
const pathsOf = (namespaceId: string): string => `mount-paths/${namespaceId}`;

async function requireFree(tx: Tx, { uuid, namespaceId, path }: Mount): Promise<void> {
  const obstacle = await findInTheWay(tx, namespaceId, path);
  if (obstacle && obstacle.uuid !== uuid) throw inUse(obstacle.path);
  const first = path.split('/')[0]!;
  if (await hasChild(tx, namespaceId, first)) throw inUseByNamespace(first);
}

const inUse = (path: string): Refusal => new Refusal('invalid', `path is already in use at ${path}`);

/**
 * The refusal of a mount path that is also the path of a namespace. The paths of the mount would be read as paths
 * inside the namespace.
 */
export const inUseByNamespace = (name: string): Refusal =>
  new Refusal('invalid', `path is already in use by the namespace ${name}/`);

function sameView(a: MountView, b: MountView): boolean {
  return JSON.stringify(a) === JSON.stringify(b);
}
