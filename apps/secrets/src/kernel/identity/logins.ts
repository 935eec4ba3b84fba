import type { Tx } from '../storage/types';
import { checkName, isTaken } from './checks';
import { type Entities, entityNotice } from './entities';
import { type AliasMount, type EntityAliases, equalMetadata } from './entity-aliases';
import { type GroupMoves, LoginReads } from './login-reads';
import { aliasNameHash } from './rows';
import { GROUP_MOVES, JOIN_GROUPS, LEAVE_GROUPS } from './statements';
import type { EntityAlias, IdentityNeeds, Metadata } from './types';

/** The identity that an auth method has verified. */
export interface LoginIdentity {
  readonly namespaceId: string;
  readonly mount: AliasMount;
  readonly aliasName: string;
  readonly metadata: Metadata;
  /** Names of the groups that the auth method found; absent if it has no groups. */
  readonly groupAliases?: readonly string[];
}

/** Entities of logins: found by alias, created at the first login, moved between external groups at each login. */
export class Logins {
  private readonly reads: LoginReads;

  constructor(
    private readonly needs: IdentityNeeds,
    private readonly entities: Entities,
    private readonly aliases: EntityAliases,
  ) {
    this.reads = new LoginReads(needs);
  }

  /** The alias of a login, which names the entity. Everything is written before it returns. */
  async aliasOf(login: LoginIdentity): Promise<{ readonly id: string; readonly entityId: string }> {
    const { mount, aliasName, groupAliases } = login;
    const existing = await this.reads.read({ mountId: mount.uuid, aliasName, groupNames: groupAliases });
    const alias = existing?.alias ?? (await this.create(login));
    await this.refresh(alias, login);
    if (existing) await this.moveGroups(alias.entityId, existing);
    else if (groupAliases) await this.joinGroups(alias.entityId, mount.uuid, groupAliases);
    return alias;
  }

  /**
   * Updates the external groups of an entity when a token of its login is renewed. It uses the names that the auth
   * method returns now, or those of the last login with any token. If the login's alias no longer exists, for example
   * after a merge, the groups do not change. Tokens of earlier versions do not record their alias.
   */
  async rejoin(
    entityId: string,
    login: { readonly entityId: string; readonly aliasId?: string; readonly mountId: string },
    names?: readonly string[],
  ): Promise<void> {
    const { mountId } = login;
    const alias = await this.aliases.findOfEntity(entityId, mountId);
    const isOfLogin = login.aliasId
      ? alias?.id === login.aliasId
      : login.entityId === entityId || alias?.mergedFromIds.includes(login.entityId);
    if (!isOfLogin) return;
    // The current names also apply to all other tokens of the same login.
    if (alias && names) await this.refresh(alias, { ...alias, groupAliases: names });
    const groupNames = names ?? alias?.groupNames;
    if (groupNames) await this.joinGroups(entityId, mountId, groupNames);
  }

  /** The entity that belongs to an alias name; undefined before the first login with this name. */
  async findEntity(mountId: string, aliasName: string): Promise<string | undefined> {
    return (await this.aliases.findByName(mountId, aliasName))?.entityId;
  }

  /**
   * Makes an entity a member of exactly the external groups of a mount whose alias has one of the names. Called at
   * login and renewal.
   */
  async joinGroups(entityId: string, mountId: string, names: readonly string[]): Promise<void> {
    const hashes = names.map((name) => aliasNameHash(this.needs.barrier, 'group', mountId, name));
    const { rows } = await this.needs.database.query<{ group_id: string; wanted: boolean }>(GROUP_MOVES, [
      mountId,
      hashes,
      entityId,
    ]);
    await this.moveGroups(entityId, {
      join: rows.filter(({ wanted }) => wanted).map((row) => row.group_id),
      leave: rows.filter(({ wanted }) => !wanted).map((row) => row.group_id),
    });
  }

  private async moveGroups(entityId: string, { join, leave }: GroupMoves): Promise<void> {
    if (join.length === 0 && leave.length === 0) return;
    await this.needs.committer.transaction(
      async (tx) => {
        await tx.query(LEAVE_GROUPS, [entityId, leave]);
        await tx.query(JOIN_GROUPS, [entityId, join]);
      },
      [entityNotice(entityId)],
    );
  }

  /** Removes every entity and group alias of a mount, with the memberships that came through it. */
  async forgetMount(mountId: string): Promise<void> {
    await this.needs.committer.transaction(
      async (tx) => {
        const groups = await tx.prisma.groupAlias.findMany({ where: { mountId }, select: { groupId: true } });
        await tx.prisma.groupAlias.deleteMany({ where: { mountId } });
        const groupId = { in: groups.map((row) => row.groupId) };
        await tx.prisma.groupMember.deleteMany({ where: { groupId, entityId: { not: null } } });
        await tx.prisma.entityAlias.deleteMany({ where: { mountId } });
      },
      [
        { topic: 'group', key: '*' },
        { topic: 'entity', key: '*' },
      ],
    );
  }

  private async create(login: LoginIdentity): Promise<EntityAlias> {
    const { namespaceId, mount, aliasName, metadata } = login;
    checkName('alias', aliasName);
    const run = async (tx: Tx) => {
      // Two first logins happened at the same time, and the other login created the entity.
      const newAlias = await this.aliases.findByName(mount.uuid, aliasName, tx.prisma);
      if (newAlias) return newAlias;
      const entity = await this.entities.insert(tx, namespaceId, {});
      return this.aliases.insert(tx, {
        namespaceId,
        entityId: entity.id,
        mountId: mount.uuid,
        mountAccessor: mount.accessor,
        name: aliasName,
        metadata,
        customMetadata: null,
        groupNames: nonEmpty(login.groupAliases),
        local: mount.local,
        mergedFromIds: [],
      });
    };
    const inTurn = () => {
      const turn = this.aliases.turnOf({ mountId: mount.uuid, name: aliasName });
      return this.needs.committer.inTurn(turn, run, ({ entityId }) => [entityNotice(entityId)]);
    };
    try {
      return await inTurn();
    } catch (error) {
      // Another alias got this name in the meantime.
      if (!isTaken(error)) throw error;
      return inTurn();
    }
  }

  private async refresh(
    before: EntityAlias,
    {
      namespaceId,
      metadata,
      groupAliases,
    }: Pick<LoginIdentity, 'namespaceId' | 'groupAliases'> & {
      metadata: Metadata | null;
    },
  ): Promise<void> {
    // A method without groups never stored group names. An empty list is stored only to replace another list.
    const groupNames = nonEmpty(groupAliases);
    if (equalMetadata(before.metadata, metadata) && equalNames(before.groupNames, groupNames)) return;
    await this.needs.committer.transaction(
      async (tx) => {
        // Read again under a lock, because the alias may just have been moved to another entity or removed.
        const alias = await this.aliases.lockById(tx, namespaceId, before.id);
        if (alias)
          await this.aliases.save(tx, { ...alias, metadata, groupNames: groupNames ?? (alias.groupNames && []) });
        return alias?.entityId;
      },
      (entityId) => (entityId === undefined ? [] : [entityNotice(entityId)]),
    );
  }
}

const nonEmpty = (names: readonly string[] | undefined) => (names && names.length > 0 ? names : undefined);

function equalNames(one: readonly string[] = [], other: readonly string[] = []): boolean {
  return one.length === other.length && one.every((name, at) => other[at] === name);
}
